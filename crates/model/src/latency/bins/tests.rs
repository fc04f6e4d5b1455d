use super::*;
use proptest::prelude::*;

const LAYOUTS: [Bins; 7] = [
    Bins::HighDynamicRange { octave_bits: 7 },
    Bins::HighDynamicRange { octave_bits: 1 },
    Bins::HighDynamicRange { octave_bits: 14 },
    Bins::FixedWidth { width_ps: 1, count: 300 },
    Bins::FixedWidth { width_ps: 100_000, count: 1000 },
    Bins::Logarithmic { size_ps: 50_000, count: 1000 },
    Bins::Logarithmic { size_ps: 1, count: 2000 },
];

/// The definition: the last bin that begins at or before the time, unless the time is beyond all bins.
fn by_definition(finder: &Finder, count: usize, ps: u64) -> Option<usize> {
    let after = (0..count).collect::<Vec<_>>().partition_point(|&bin| finder.low(bin).ps() <= ps);
    // The last picosecond belongs to the last bin that holds any time.
    let beyond = finder.low(count).ps() <= ps && finder.low(count) != Time::NEVER;
    (after > 0 && !beyond).then(|| after - 1)
}

#[test]
fn equation_1_is_the_longest_time_over_the_number_of_bins() {
    let bins = Bins::fixed_width(Time::from_ns(50_000), 1000).unwrap();
    assert_eq!(bins, Bins::FixedWidth { width_ps: 50_000, count: 1000 });
    assert_eq!(Bins::fixed_width(Time(10), 3).unwrap(), Bins::FixedWidth { width_ps: 4, count: 3 });
}

/// Widths by hand: 0.05, e^0.05 - 1 = 0.051271 and e^5 - 1 = 147.41 microseconds; figure 1 has a straight line on
/// a logarithmic axis up to bin 999.
#[test]
fn equation_2_has_the_widths_of_figure_1() {
    let finder = Finder::new(Bins::logarithmic(Time::from_ns(50), Bins::FIGURE_1).unwrap());
    let width = |bin: usize| finder.low(bin + 1).ps() - finder.low(bin).ps();
    assert_eq!([width(0), width(1), width(100)], [50_000, 51_271, 147_413_159]);
    let ratio = |i| Bins::logarithmic_width_us(0.05, i + 1) / Bins::logarithmic_width_us(0.05, i);
    assert!((ratio(998) - 0.05f64.exp()).abs() < 1e-12 && (ratio(200) - 0.05f64.exp()).abs() < 1e-5);
    assert!((Bins::logarithmic_width_us(0.05, 999).ln() - 49.95).abs() < 1e-12);
}

#[test]
fn high_dynamic_range_is_exact_to_one_in_128() {
    let bins = Bins::default();
    let finder = Finder::new(bins);
    assert_eq!(bins.count(), 58 * 128);
    for bin in 0..bins.count() {
        let (low, high) = (finder.low(bin).ps(), finder.low(bin + 1).ps());
        assert!(high - low <= (low / 128).max(1), "{bin}: {low} {high}");
    }
    assert_eq!(finder.position(u64::MAX), Some(bins.count() - 1));
}

#[test]
fn edges_lie_in_the_bin_they_begin() {
    for bins in LAYOUTS {
        let finder = Finder::new(bins);
        let edges = (0..bins.count()).map(|bin| (bin, finder.low(bin).ps()));
        for (bin, low) in edges.filter(|(_, low)| *low < u64::MAX) {
            assert_eq!(finder.position(low), Some(bin), "{bins} {bin}");
            if bin > 0 {
                assert_eq!(finder.position(low - 1), Some(bin - 1), "{bins} {bin}");
            }
        }
    }
}

proptest! {
    #[test]
    fn the_fast_way_is_the_definition(layout in 0..LAYOUTS.len(), ps: u64, bits in 0u32..64) {
        let (finder, ps) = (Finder::new(LAYOUTS[layout]), ps >> bits);
        if ps < u64::MAX {
            prop_assert_eq!(finder.position(ps), by_definition(&finder, LAYOUTS[layout].count(), ps));
        }
    }

    #[test]
    fn any_width_divides_right(width_ps in 1u64.., bits in 0u32..64, ps: u64) {
        let width_ps = (width_ps >> bits).max(1);
        let finder = Finder::new(Bins::FixedWidth { width_ps, count: 1 << 20 });
        let expected = Some((ps / width_ps) as usize).filter(|&bin| bin < 1 << 20);
        prop_assert_eq!(finder.position(ps), expected);
    }
}

#[test]
fn layouts_are_typed() {
    let bins = |text: &str| text.parse::<Bins>().unwrap();
    assert_eq!(bins("hdr"), Bins::default());
    assert_eq!(bins("hdr:9"), Bins::HighDynamicRange { octave_bits: 9 });
    assert_eq!(bins("log"), Bins::Logarithmic { size_ps: 50_000, count: 1000 });
    assert_eq!(bins("log:10ns/70"), Bins::Logarithmic { size_ps: 10_000, count: 70 });
    assert_eq!(bins("fixed:1ms/2000"), Bins::FixedWidth { width_ps: 500_000, count: 2000 });
    for (wrong, why) in [
        ("hd", "did you mean `hdr`"),
        ("fixed", "fixed:LONGEST/BINS"),
        ("log:0.05", "has no unit"),
        ("log:0ns", "at least 1 ps"),
        ("fixed:1ms/0", "1 to 1048576 bins"),
        ("fixed:1ms/x", "`x` is not a whole number"),
        ("hdr:15", "2^1 to 2^14"),
    ] {
        let text = wrong.parse::<Bins>().unwrap_err().to_string();
        assert!(text.contains(why), "{text}");
    }
}

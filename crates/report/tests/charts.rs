//! Charts as files: well formed whatever the data, the right size, not blank.

use proptest::prelude::*;
use resvg::tiny_skia::Pixmap;
use resvg::usvg::{Options, Tree};
use straggler_report::charts::*;

fn heading() -> Heading {
    let title = "Noise of <node & co>".into();
    let footer = "straggler plot noise \"x\"".into();
    Heading { title, subtitle: "10 s".into(), footer, synthetic: true }
}

fn scatter() -> String {
    let points = (1..500).map(|index| (f64::from(index) / 50.0, 1e-6 * f64::from(index))).collect();
    let series = vec![PointSeries { name: "kworker <0:1> & \u{7}".into(), points }];
    Scatter { series, length: 10.0 }.draw(&heading()).svg
}

/// Reads it as any program that shows SVG would.
fn tree(svg: &str) -> Tree {
    Tree::from_str(svg, &Options::default()).unwrap()
}

#[test]
fn names_are_escaped_and_everything_said_is_there() {
    let svg = scatter();
    tree(&svg);
    for text in [
        "Noise of &lt;node &amp; co&gt;",
        "kworker &lt;0:1&gt; &amp; \u{fffd}",
        "SYNTHETIC DATA",
        ">10 s<",
        ">499 detours<",
        "time since the start",
        "duration of the detour",
        ">10 µs<",
        ">1 µs<",
        ">10 s<",
        "straggler plot noise &quot;x&quot;",
    ] {
        assert!(svg.contains(text), "{text}\n{svg}");
    }
    assert!(!svg.contains("kworker <"));
}

/// A sentence about a real node, and a program whose name is a long path.
#[test]
fn headings_are_never_cut() {
    let subtitle = "This node loses 6.2 % of its time to noise (4.1 % to other jobs, 2.1 % to the system): 173,893 detours on \
                    2 cores in 10 s, the longest 24.1 ms.";
    let path = "/scratch/project/".repeat(12);
    let title =
        format!("What this noise costs the traced program {path} on the network fitted from the trace");
    let head = Heading { title, subtitle: subtitle.into(), footer: String::new(), synthetic: true };
    let points = (1..40_000).map(|index| (f64::from(index % 200) / 20.0, 1e-6 * f64::from(index))).collect();
    let scatter = Scatter { series: vec![PointSeries { name: "tick".into(), points }], length: 10.0 };
    let picture = scatter.draw(&head);
    assert!(!picture.svg.contains('…'), "{}", picture.svg);
    assert!(picture.svg.contains("24.1 ms.<"), "{}", picture.svg);
    assert!(picture.svg.contains("drawn once<"), "{}", picture.svg);
    tree(&picture.svg);
}

#[test]
fn a_png_is_twice_as_large_and_shows_dots_and_letters() {
    let png = to_png(&scatter()).unwrap();
    let pixels = Pixmap::decode_png(&png).unwrap();
    assert_eq!((pixels.width(), pixels.height()), (1800, 1080));
    let of = |red, green, blue| {
        let is_like = |pixel: &&resvg::tiny_skia::PremultipliedColorU8| {
            (pixel.red(), pixel.green(), pixel.blue()) == (red, green, blue)
        };
        pixels.pixels().iter().filter(is_like).count()
    };
    let all = pixels.pixels().len();
    assert!(of(255, 255, 255) > all / 2);
    // Dots of the first colour, and text: the fonts are there even if the machine has none.
    assert!(of(0x00, 0x72, 0xb2) > 499);
    assert!(of(0x1f, 0x29, 0x33) > 2_000, "{}", of(0x1f, 0x29, 0x33));
}

#[test]
fn the_name_decides_the_format() {
    let folder = tempfile::tempdir().unwrap();
    let svg = scatter();
    save(&folder.path().join("a.svg"), &svg).unwrap();
    save(&folder.path().join("a.PNG"), &svg).unwrap();
    assert_eq!(std::fs::read_to_string(folder.path().join("a.svg")).unwrap(), svg);
    assert!(std::fs::read(folder.path().join("a.PNG")).unwrap().starts_with(b"\x89PNG"));
    save(&folder.path().join("a.pdf"), &svg).unwrap();
    assert!(std::fs::read(folder.path().join("a.pdf")).unwrap().starts_with(b"%PDF-"));
    for name in ["a.eps", "a", ".svg"] {
        let error = save(&folder.path().join(name), &svg).unwrap_err().to_string();
        assert!(error.contains("end the name with .svg"), "{error}");
    }
    let missing = save(&folder.path().join("no/a.svg"), &svg).unwrap_err().to_string();
    assert!(missing.contains("cannot be written"), "{missing}");
    assert!(matches!(save(&folder.path().join("b.png"), "<svg"), Err(SaveError::Png { .. })));
}

#[test]
fn the_same_data_give_the_same_bytes() {
    assert_eq!(scatter(), scatter());
    assert_eq!(to_png(&scatter()).unwrap(), to_png(&scatter()).unwrap());
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => 1e-9..1e3f64,
        2 => prop::num::f64::ANY,
        1 => prop::sample::select(vec![0.0, -0.0, 1.0, 1e-300, 1e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]),
    ]
}

fn pairs() -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec((number(), number()), 0..20)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// No data and no names make a chart fail or its SVG unreadable.
    #[test]
    fn any_data_can_be_drawn(lists in prop::collection::vec((".{0,40}", pairs()), 0..12), length in number()) {
        let head = Heading { title: lists.iter().map(|list| list.0.as_str()).collect(), ..heading() };
        let named = lists.iter().cloned();
        let series = named.clone().map(|(name, points)| PointSeries { name, points }).collect();
        let picture = Scatter { series, length }.draw(&head);
        prop_assert!(picture.drawn + picture.left_out <= picture.points);
        tree(&picture.svg);
        let durations = |points: Vec<(f64, f64)>| points.into_iter().map(|point| point.1).collect();
        let series = named.clone().map(|(name, points)| LengthSeries { name, durations: durations(points) });
        tree(&Histogram { series: series.collect() }.draw(&head));
        let peak = |(name, points): (String, Vec<(f64, f64)>)| {
            let (frequency, amplitude) = *points.first()?;
            Some(Peak { frequency, amplitude, name })
        };
        let points: Vec<_> = named.clone().flat_map(|list| list.1).collect();
        let floor = points.clone();
        let peaks = named.clone().filter_map(peak).collect();
        tree(&Spectrum { points, floor, peaks, ..Spectrum::default() }.draw(&head));
        let point = |(processes, median): (f64, f64)| CurvePoint { processes, median, low: length, high: processes };
        let curve = |(name, points): (String, Vec<(f64, f64)>)| Curve {
            name,
            inflection: points.last().map(|point| point.0),
            points: points.into_iter().map(point).collect(),
        };
        for scale in [ValueScale::Fitting, ValueScale::Linear, ValueScale::Log] {
            let curves = named.clone().map(curve).collect();
            tree(&SlowdownCurves { curves, scale }.draw(&head));
        }
        let bar = |(name, points): (String, Vec<(f64, f64)>)| {
            let (low, high) = points.first().copied().unwrap_or_default();
            Bar { name, value: points.last().map_or(length, |point| point.1), low, high }
        };
        for unit in [Unit::Share, Unit::Seconds, Unit::Times, Unit::Count, Unit::Hertz, Unit::Processes] {
            tree(&Ranking { bars: named.clone().map(bar).collect(), what: String::new(), unit }.draw(&head));
        }
    }
}

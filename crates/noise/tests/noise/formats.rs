//! Noise files: golden samples of every format, round trips, and files that are damaged.

use proptest::prelude::*;
use straggler_model::Time;
use straggler_model::provenance::{Machine, Origin, Timer};
use straggler_noise::format::{self, Format, FormatOptions, Repairs, straggler};
use straggler_noise::recording::{
    Attribution, AttributionMethod, Core, Detour, Evidence, Lost, Method, NoiseRecording, Phase, Quantum,
    SourceName,
};

fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/../../fixtures/noise/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|fault| panic!("{path}: {fault}"))
}

fn read(bytes: &[u8]) -> (NoiseRecording, Repairs) {
    format::read(bytes, None, &FormatOptions::default()).unwrap()
}

/// Starts and durations of the only core, in ps.
fn detours(recording: &NoiseRecording) -> Vec<(u64, u64)> {
    recording.cores[0].detours.iter().map(|detour| (detour.start.ps(), detour.duration.ps())).collect()
}

const GOLDEN: [(&str, Format); 7] = [
    ("selfish.0", Format::Selfish),
    ("columns.txt", Format::Columns),
    ("netgauge-fwq.txt", Format::NetgaugeFwq),
    ("netgauge-ftq.txt", Format::NetgaugeFtq),
    ("llnl-fwq.dat", Format::LlnlFwq),
    ("ftq_2.dat", Format::Ftq),
    ("sysjitter.0", Format::Sysjitter),
];

#[test]
fn golden_files_come_back_byte_for_byte() {
    for (name, format) in GOLDEN {
        let bytes = fixture(name);
        assert_eq!(format::detect(&bytes), Some(format), "{name}");
        let (recording, repairs) = read(&bytes);
        assert_eq!(repairs, Repairs::default(), "{name}");
        let written = format::write(&recording, format).unwrap();
        assert_eq!(
            String::from_utf8_lossy(&written.files[0].bytes),
            String::from_utf8_lossy(&bytes),
            "{name}"
        );
        // Core numbers stated in a file are kept, and so is the number of an only core.
        assert_eq!(written.files[0].core, Some(recording.cores[0].core));
    }
}

#[test]
fn golden_files_survive_the_own_format() {
    let others = ["selfish-as-printed.0", "sysjitter-sorted.0"];
    for name in GOLDEN.map(|(name, _)| name).into_iter().chain(others) {
        let (recording, _) = read(&fixture(name));
        let bytes = straggler::write(&recording).unwrap();
        assert_eq!(format::detect(&bytes), Some(Format::Straggler));
        assert_eq!(read(&bytes), (recording, Repairs::default()), "{name}");
    }
}

#[test]
fn netgauge_tells_how_it_measured() {
    let (recording, _) = read(&fixture("selfish-as-printed.0"));
    let core = &recording.cores[0];
    // 15.236965 ns, and 900 % of it, to the picosecond.
    assert_eq!((core.t_min, core.threshold), (Time(15_237), Time(137_133)));
    assert_eq!((core.iterations, core.length), (26_314_557, Time(2_440_000_000_000)));
    assert_eq!(recording.machine.host.as_deref(), Some("node17"));
    assert_eq!(recording.machine.kernel.as_deref(), Some("6.1.0-18-amd64"));
    let expected =
        [(0, 171_420), (312_750, 150_090), (4_000_125_370, 2_210_850), (2_435_000_000_000, 1_984_210)];
    assert_eq!(detours(&recording), expected);
}

#[test]
fn samples_of_fixed_work_lose_what_is_above_the_shortest() {
    let (recording, _) = read(&fixture("netgauge-fwq.txt"));
    let core = &recording.cores[0];
    // 101 us undisturbed; 102 us is within rounding. Quantum 3 starts after 101 + 101 + 102 us.
    let us = 1_000_000;
    let expected = [(304 * us, 46 * us), (552 * us, 2200 * us), (2853 * us, 2 * us)];
    assert_eq!(detours(&recording), expected);
    assert_eq!((core.t_min, core.threshold), (Time(101 * us), Time(102 * us)));
    assert_eq!((core.length, core.quanta.len()), (Time(3057 * us), 8));
    assert_eq!(recording.method, Method::FixedWork);

    let (recording, _) = read(&fixture("llnl-fwq.dat"));
    // 2,099,970 cycles are 1 ms; 2,141,955 are 2 % more, 6,299,910 three times that. The threshold is 1 us.
    let durations: Vec<u64> = detours(&recording).iter().map(|detour| detour.1).collect();
    // (2,141,955 - 2,099,970) / 2.09997 = 19,993.1
    assert_eq!(durations, [19_993_143, 2_000_000_000]);
    assert_eq!((recording.cores[0].core, recording.cores[0].t_min), (3, Time(1_000_000_000)));
    assert_eq!(recording.timer.ticks_per_second, 2.09997e9);
}

#[test]
fn the_serial_program_needs_the_rate() {
    let bytes = fixture("llnl-fwq-serial.dat");
    let fault = format::read(&bytes, None, &FormatOptions::default()).unwrap_err().to_string();
    assert!(fault.contains("give --ghz"), "{fault}");
    let options = FormatOptions { ghz: Some(2.09997), core: 3, ..FormatOptions::default() };
    let (serial, _) = format::read(&bytes, None, &options).unwrap();
    assert_eq!(serial, read(&fixture("llnl-fwq.dat")).0);
    let zero = FormatOptions { ghz: Some(0.0), ..FormatOptions::default() };
    assert!(format::read(&bytes, None, &zero).unwrap_err().to_string().contains("is not a valid clock rate"));
}

#[test]
fn samples_of_fixed_time_lose_the_share_that_was_not_done() {
    let (recording, _) = read(&fixture("netgauge-ftq.txt"));
    // At best 1000 units in 1 ms: 986 units lose 14 us. All but the best quantum are above the threshold of 1
    // us.
    assert_eq!(recording.cores[0].detours.len(), 7);
    assert_eq!(detours(&recording)[3], (3_000_000_000, 260_000_000));
    assert_eq!(detours(&recording)[6], (7_000_000_000, 1_000_000_000));
    assert_eq!(recording.cores[0].length, Time(8_000_000_000));

    let (recording, _) = read(&fixture("ftq_2.dat"));
    assert_eq!(recording.method, Method::FixedTime { quantum_ps: 100_000_000 });
    // 836 of 2086 units in 100 us: 40.0767 us; the quantum with no work lost everything.
    assert_eq!(detours(&recording), [(300_040_000, 40_076_701), (700_002_000, 100_000_000)]);
    assert_eq!(recording.cores[0].core, 2);
    // Without its header the format must be given; the median gap replaces the interval.
    let text = String::from_utf8(fixture("ftq_2.dat")).unwrap();
    let bare: String =
        text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    assert_eq!(format::detect(bare.as_bytes()), Some(Format::Columns));
    let (bare, _) = format::read(bare.as_bytes(), Some(Format::Ftq), &FormatOptions::default()).unwrap();
    assert_eq!(bare.method, Method::FixedTime { quantum_ps: 100_021_000 });
}

#[test]
fn sysjitter_stamps_the_end() {
    let (recording, _) = read(&fixture("sysjitter.0"));
    // 4,410 cycles at 2,100 MHz are 2.1 us, found at 5,003.120 us.
    assert_eq!(detours(&recording)[0], (5_003_120_000 - 2_100_000, 2_100_000));
    assert_eq!(detours(&recording)[2], (49_067_530_000 - 38_768_742_857, 38_768_742_857));
    assert_eq!(
        (recording.cores[0].length, recording.cores[0].threshold),
        (Time(60_000_000_000), Time(200_000))
    );
    let (sorted, repairs) = read(&fixture("sysjitter-sorted.0"));
    assert_eq!(sorted, recording);
    assert_eq!(repairs.sorted, 2);
}

#[test]
fn bad_rows_are_mended_and_counted() {
    let (recording, repairs) = read(&fixture("bad.txt"));
    assert_eq!(detours(&recording), [(1_000_000, 10_000), (5_000_000, 150_000), (9_000_000, 1_000)]);
    let expected = Repairs { sorted: 1, overlaps_merged: 1, negative_dropped: 2, ..Repairs::default() };
    assert_eq!(repairs, expected);
    assert_eq!(repairs.warnings().len(), 3);
    let text = b"2444000000 10\n# Measurement period: 2.44 s";
    let (recording, repairs) = read(text);
    assert_eq!(recording.cores[0].length, Time(2_444_000_010_000));
    assert!(repairs.length_extended);
    let options = FormatOptions { length: Some(Time(3_000_000_000_000)), ..FormatOptions::default() };
    assert_eq!(format::read(text, None, &options).unwrap().0.cores[0].length, Time(3_000_000_000_000));
}

#[test]
fn a_quiet_core_is_no_empty_trace() {
    let (recording, _) = read(b"# Measurement period: 1 s\n");
    assert_eq!((recording.cores[0].detours.len(), recording.cores[0].length.ps()), (0, 1_000_000_000_000));
    for format in [Format::Selfish, Format::Columns, Format::Sysjitter, Format::Straggler] {
        let written = format::write(&recording, format).unwrap();
        let back = format::read(&written.files[0].bytes, Some(format), &FormatOptions::default()).unwrap().0;
        assert_eq!(back.cores[0].length, recording.cores[0].length, "{format}");
    }
}

#[test]
fn what_a_format_cannot_hold_is_said() {
    let (mut recording, _) = read(&fixture("netgauge-fwq.txt"));
    let id = recording.source_id("timer tick", Evidence::Traced);
    recording.cores[0].detours[0].source = id;
    recording.cores[0].phases.push(Phase { start: Time(1), duration: Time(2), slowdown: 3.0 });
    let dropped = format::write(&recording, Format::Columns).unwrap().dropped;
    let expected = [
        "the names of sources (1)",
        "the speed profile (slow phases: 1)",
        "8 samples of fixed work or time; their detours are kept",
        "t_min and threshold",
    ];
    assert_eq!(dropped, expected);
    assert!(format::write(&recording, Format::Straggler).unwrap().dropped.is_empty());
    let fault = format::write(&recording, Format::Ftq).unwrap_err().to_string();
    assert_eq!(
        fault,
        "ftq holds work done in fixed time, but the recording has times of fixed work: write it as straggler, \
         selfish, columns or sysjitter"
    );
    recording.cores[0].quanta[2].start = Time(300_000_000);
    let dropped = format::write(&recording, Format::NetgaugeFwq).unwrap().dropped;
    assert_eq!(dropped[2], "2 pauses between samples");
    let (ftq, _) = read(&fixture("ftq_2.dat"));
    let dropped = format::write(&ftq, Format::NetgaugeFtq).unwrap().dropped;
    assert_eq!(dropped, ["fractions of quanta, in 7 rows"]);
    let (list, _) = read(&fixture("columns.txt"));
    for format in [Format::NetgaugeFwq, Format::NetgaugeFtq, Format::LlnlFwq, Format::Ftq] {
        let fault = format::write(&list, format).unwrap_err().to_string();
        assert!(fault.contains("the recording has detours only"), "{fault}");
    }
    let dropped = format::write(&list, Format::Sysjitter).unwrap().dropped;
    assert_eq!(dropped, ["fractions of nanoseconds, in 4 rows"]);
}

#[test]
fn several_cores_become_several_files_and_back() {
    let one = |name, core| {
        format::read(&fixture(name), None, &FormatOptions { core, ..FormatOptions::default() }).unwrap().0
    };
    let joined = format::join(vec![one("selfish.0", 4), one("columns.txt", 9)]).unwrap();
    assert_eq!(joined.cores.iter().map(|core| core.core).collect::<Vec<_>>(), [4, 9]);
    let written = format::write(&joined, Format::Selfish).unwrap();
    assert_eq!(written.files.iter().map(|file| file.core).collect::<Vec<_>>(), [Some(4), Some(9)]);
    assert_eq!(written.files[0].bytes, fixture("selfish.0"));
    assert_eq!(read(&straggler::write(&joined).unwrap()).0, joined);
    let same = format::join(vec![one("selfish.0", 4), one("columns.txt", 4)]).unwrap();
    assert_eq!(same.cores.iter().map(|core| core.core).collect::<Vec<_>>(), [0, 1]);
    let mixed = format::join(vec![one("selfish.0", 0), one("netgauge-fwq.txt", 1)]);
    assert_eq!(mixed, Err(format::JoinError::Methods));
    assert_eq!(format::join(Vec::new()), Err(format::JoinError::Nothing));
}

/// A trace as a quiet machine gives it: a tick every 4 ms on a clock of 2 GHz, 2 us each, give or take.
fn typical() -> NoiseRecording {
    let mut core = Core { length: Time(1_000_000_000_000_000), ..Core::default() };
    let mut state = 1u64;
    for tick in 0..100_000u64 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let jitter = state >> 51;
        let start = Time((tick * 8_000_000 + jitter) * 500);
        let duration = Time((4_000 + (jitter & 2047)) * 500);
        core.detours.push(Detour { start, duration, source: (tick % 3) as u16 });
    }
    let mut sources = NoiseRecording::unnamed();
    sources.extend(["a", "b"].map(|name| SourceName { name: name.into(), evidence: Evidence::Traced }));
    NoiseRecording { sources, cores: vec![core], ..NoiseRecording::default() }
}

#[test]
fn a_typical_detour_takes_seven_bytes() {
    let recording = typical();
    let bytes = straggler::write(&recording).unwrap();
    // Gaps of 8,000,000 ticks take 4 bytes, durations of some 5,000 take 2, sources 1.
    assert_eq!((bytes.len() / 100_000, read(&bytes).0 == recording), (7, true));
    let text = format::write(&recording, Format::Columns).unwrap().files[0].bytes.len();
    assert!(text > 2 * bytes.len(), "{text} against {}", bytes.len());
}

#[test]
fn damaged_files_say_what_and_where() {
    let bytes = straggler::write(&read(&fixture("columns.txt")).0).unwrap();
    let said = |bytes: &[u8]| straggler::read(bytes).unwrap_err().to_string();
    let short = &bytes[..bytes.len() - 9];
    let expected = format!("the file has {} of {} bytes: copy it again", short.len(), bytes.len());
    assert_eq!(said(short), expected);
    assert!(said(&bytes[..18]).starts_with("the file has 18 of"));
    assert!(said(&[&bytes[..], b"x"].concat()).starts_with("1 bytes follow the end"));
    let mut newer = bytes.clone();
    newer[16] = 2;
    assert_eq!(
        said(&newer),
        "the file has version 2, but this straggler reads up to 1: use a newer straggler"
    );
    let mut flipped = bytes.clone();
    flipped[60] ^= 4;
    assert!(said(&flipped).starts_with("the checksum is"), "{}", said(&flipped));
    let mut absurd = bytes.clone();
    absurd[28..36].fill(0xff);
    assert!(said(&absurd).contains("bytes: copy it again"));
    assert_eq!(said(b"GOAL"), "this is not a noise file of straggler");
}

/// Replaces the columns of a valid file and corrects the checksum.
fn with_columns(recording: &NoiseRecording, columns: &[u8]) -> Vec<u8> {
    let bytes = straggler::write(recording).unwrap();
    let header = u64::from_le_bytes(bytes[20..28].try_into().unwrap()) as usize;
    let mut forged = bytes[..36 + header].to_vec();
    forged[28..36].copy_from_slice(&(columns.len() as u64).to_le_bytes());
    forged.extend(columns);
    forged.extend(crc32fast::hash(&forged).to_le_bytes());
    forged
}

#[test]
fn absurd_counts_allocate_nothing() {
    let (recording, _) = read(&fixture("columns.txt"));
    let said = |columns: &[u8]| straggler::read(&with_columns(&recording, columns)).unwrap_err().to_string();
    let count = said(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 1]);
    assert!(count.ends_with("the number of detours is larger than the file"), "{count}");
    assert!(said(&[]).ends_with("the number of detours is missing: the columns end here"));
    assert!(said(&[0, 0, 0]).ends_with("the last column does not end here"));
    // One detour with source 1, but only source 0 is named.
    assert!(said(&[1, 1, 0, 1, 5, 1, 1, 0]).contains("has source 1, but only 1 are named"));
}

prop_compose! {
    fn some_detours(sources: u16)(
        rows in prop::collection::vec((0u64..1 << 40, 0u64..1 << 34, 0..sources), 0..40)
    ) -> Vec<Detour> {
        let mut at = Time::ZERO;
        rows.into_iter().map(|(gap, duration, source)| {
            let detour = Detour { start: at + Time(gap), duration: Time(duration), source };
            at = detour.end();
            detour
        }).collect()
    }
}

prop_compose! {
    fn some_core()(
        core in any::<u32>(),
        detours in some_detours(3),
        times in any::<[u64; 4]>(),
        phases in prop::collection::vec((any::<[u64; 2]>(), 1.0f64..1e6), 0..3),
        quanta in prop::collection::vec(any::<(u64, u64)>(), 0..20),
    ) -> Core {
        let phases = phases.into_iter()
            .map(|([start, duration], slowdown)| Phase { start: Time(start), duration: Time(duration), slowdown });
        Core {
            core,
            length: Time(1 << 60),
            t_min: Time(times[0]),
            threshold: Time(times[1]),
            iterations: times[2],
            detours,
            phases: phases.collect(),
            lost: Lost { detours: times[3], time: Time(times[0] ^ times[3]) },
            quanta: quanta.into_iter().map(|(start, value)| Quantum { start: Time(start), value }).collect(),
        }
    }
}

fn some_method() -> impl Strategy<Value = Method> {
    prop_oneof![
        Just(Method::Detour),
        Just(Method::FixedWork),
        any::<u64>().prop_map(|quantum_ps| Method::FixedTime { quantum_ps }),
    ]
}

prop_compose! {
    fn some_recording()(
        mut cores in prop::collection::vec(some_core(), 0..4),
        method in some_method(),
        texts in prop::collection::vec("\\PC{0,20}", 6),
        numbers in any::<[f64; 4]>().prop_filter("JSON knows finite numbers only", |all| all.iter().all(|x| x.is_finite())),
        counts in any::<[u64; 4]>(),
    ) -> NoiseRecording {
        cores.sort_by_key(|core| core.core);
        cores.dedup_by_key(|core| core.core);
        let named = |name: &String| SourceName { name: name.clone(), evidence: Evidence::Remainder };
        NoiseRecording {
            origin: Origin::Measured { version: texts[0].clone(), command: texts[1].clone(), started: counts[0] },
            machine: Machine {
                host: Some(texts[2].clone()),
                load: Some(numbers[0]),
                cgroup_quota_cores: Some(numbers[1]),
                steal_ps: Some(counts[1]),
                smt_active: Some(counts[1] % 2 == 0),
                ..Machine::default()
            },
            timer: Timer { name: texts[3].clone(), ticks_per_second: numbers[2], rate_error_ppm: numbers[3], ..Timer::default() },
            method,
            sources: texts[3..].iter().map(named).collect(),
            attribution: Attribution {
                method: AttributionMethod::Counters,
                hindrance: Some(texts[5].clone()),
                lost_events: counts[2],
                covered_ps: counts[3],
            },
            cores,
        }
    }
}

proptest! {
    #[test]
    fn any_recording_comes_back(recording in some_recording()) {
        let bytes = straggler::write(&recording).unwrap();
        prop_assert_eq!(straggler::read(&bytes).unwrap(), recording);
    }

    #[test]
    fn detours_survive_texts(recording in some_recording()) {
        for format in [Format::Selfish, Format::Columns] {
            let written = if recording.cores.is_empty() { continue } else { format::write(&recording, format).unwrap() };
            for (core, file) in recording.cores.iter().zip(&written.files) {
                let (back, repairs) = format::read(&file.bytes, Some(format), &FormatOptions::default()).unwrap();
                prop_assert_eq!(repairs, Repairs::default());
                prop_assert_eq!(back.cores[0].length, core.length);
                let times = |core: &Core| core.detours.iter().map(|d| (d.start, d.duration)).collect::<Vec<_>>();
                prop_assert_eq!(times(&back.cores[0]), times(core));
            }
        }
    }

    #[test]
    fn damage_is_found(recording in some_recording(), at in any::<prop::sample::Index>(), bit in 0..8u8, cut in any::<prop::sample::Index>()) {
        let bytes = straggler::write(&recording).unwrap();
        let mut flipped = bytes.clone();
        flipped[at.index(bytes.len())] ^= 1 << bit;
        prop_assert!(straggler::read(&flipped).is_err());
        prop_assert!(straggler::read(&bytes[..cut.index(bytes.len())]).is_err());
    }

    #[test]
    fn forged_columns_never_panic(recording in some_recording(), columns in prop::collection::vec(prop_oneof![0..4u8, any::<u8>()], 0..60)) {
        if let Ok(read) = straggler::read(&with_columns(&recording, &columns)) {
            prop_assert_eq!(straggler::read(&straggler::write(&read).unwrap()).unwrap(), read);
        }
    }

    #[test]
    fn mutated_texts_never_panic(which in 0..GOLDEN.len(), edits in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![Just(b'\n'), Just(b'-'), Just(b' '), b'0'..=b'9', any::<u8>()]), 1..8)) {
        let mut bytes = fixture(GOLDEN[which].0);
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        for format in Format::ALL.map(Some).into_iter().chain([None]) {
            let options = FormatOptions { ghz: Some(2.0), ..FormatOptions::default() };
            if let Ok((recording, _)) = format::read(&bytes, format, &options) {
                for format in Format::ALL {
                    let _ = format::write(&recording, format);
                }
                prop_assert_eq!(straggler::read(&straggler::write(&recording).unwrap()).unwrap(), recording);
            }
        }
    }

    #[test]
    fn nothing_panics(text in "\\PC{0,24}") {
        let _ = text.parse::<straggler_noise::NoiseSpec>();
        for format in Format::ALL.map(Some).into_iter().chain([None]) {
            let _ = format::read(text.as_bytes(), format, &Default::default());
        }
        let _ = straggler_noise::offsets::parse(text.as_bytes());
    }
}

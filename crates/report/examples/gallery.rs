//! Draws every kind of chart with ordinary and with awkward data, to be looked at:
//! `cargo run -p straggler-report --example gallery -- FOLDER`.

use std::path::Path;
use straggler_report::charts::*;

/// Numbers from 0 to 1 that look random and are always the same.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn heading(title: &str) -> Heading {
    Heading {
        title: title.into(),
        subtitle: "node017 · AMD EPYC 9654 · 96 cores · 10 s long".into(),
        footer: "noise.straggler · straggler 0.1.0 · straggler measure noise --time 10s".into(),
        synthetic: true,
    }
}

/// Ticks at 250 Hz, bursts of network interrupts, and a few long visits of daemons.
fn node(detours: usize) -> Vec<PointSeries> {
    let mut draws = Draws(7);
    let mut series = |name: &str, share: f64, shortest: f64, decades: f64| {
        let count = (detours as f64 * share).ceil() as usize;
        let mut point =
            |_| (10.0 * draws.next(), shortest * 10f64.powf(decades * draws.next() * draws.next()));
        PointSeries { name: name.into(), points: (0..count).map(&mut point).collect() }
    };
    vec![
        series("timer tick", 0.6, 1.2e-6, 0.5),
        series("softirq NET_RX", 0.3, 3e-6, 1.5),
        series("kworker/0:1", 0.08, 8e-6, 1.8),
        series("hypervisor or firmware", 0.02, 5e-5, 2.4),
    ]
}

fn strange() -> Vec<PointSeries> {
    let names = ["<script>&\"", "Grüße aus Żółw", "γλώσσα", "ядро/0:1", "核心 名前", "a\u{202e}b\tc"];
    let mut series = node(4000);
    for (index, name) in (0..8).map(|index| (index, names[index % names.len()])) {
        let name = format!("{name} {}", "kworker/u256:3-events_unbound ".repeat(index % 3));
        let points = (0..40 + index).map(|p| (p as f64 / 5.0, 1e-6 * (index + 1) as f64)).collect();
        series.push(PointSeries { name, points });
    }
    series
}

fn scatters() -> Vec<(&'static str, String)> {
    let draw = |title: &str, series, length| Scatter { series, length }.draw(&heading(title)).svg;
    let one = |points| vec![PointSeries { name: "timer tick".into(), points }];
    let long = "A title that goes on and on about what was measured, where, when, by whom, with which options, \
                and what the weather was like, so that it needs more than the two lines there are for it here";
    let plain = Heading { title: "No heading but this".into(), ..Heading::default() };
    vec![
        ("scatter-0", draw("No detours", Vec::new(), 10.0)),
        ("scatter-1", draw("One detour", one(vec![(3.0, 5e-6)]), 10.0)),
        ("scatter-2000", draw("Detours of node017", node(2000), 10.0)),
        ("scatter-100k", draw("Detours of node017", node(100_000), 10.0)),
        ("scatter-1M", draw("Detours of node017", node(1_000_000), 10.0)),
        ("scatter-strange", draw(long, strange(), 10.0)),
        ("scatter-tiny", draw("Tiny", one(vec![(1e-12, 1e-12), (3e-12, 1.1e-12)]), 0.0)),
        ("scatter-huge", draw("Huge", one(vec![(0.0, 1e-20), (1e9, 1e20), (1e10, f64::NAN)]), 0.0)),
        ("scatter-far", draw("Far", one(vec![(1e6, 1e-6), (1e6 + 1.5, 1e-6)]), 0.0)),
        ("scatter-plain", Scatter { series: node(500), length: 10.0 }.draw(&plain).svg),
    ]
}

fn histograms() -> Vec<(&'static str, String)> {
    let lengths = |series: Vec<PointSeries>| {
        let lengths = |series: PointSeries| LengthSeries {
            name: series.name,
            durations: series.points.into_iter().map(|point| point.1).collect(),
        };
        Histogram { series: series.into_iter().map(lengths).collect() }
    };
    let one = |durations| Histogram { series: vec![LengthSeries { name: "x".into(), durations }] };
    vec![
        ("histogram-0", one(Vec::new()).draw(&heading("No detours"))),
        ("histogram-1", one(vec![5e-6]).draw(&heading("One detour"))),
        ("histogram-node", lengths(node(100_000)).draw(&heading("Lengths of detours"))),
        ("histogram-strange", lengths(strange()).draw(&heading("Lengths of detours"))),
        ("histogram-tick", lengths(node(100_000)[..1].to_vec()).draw(&heading("Lengths of ticks"))),
        ("histogram-huge", one(vec![1e-20, 1e20]).draw(&heading("Huge"))),
    ]
}

fn spectra() -> Vec<(&'static str, String)> {
    let mut draws = Draws(3);
    let bell = |frequency: f64, at: f64| 1.0 / (1.0 + (40.0 * (frequency / at - 1.0)).powi(2));
    let mut height = |f: f64| {
        let tick = (1..=8).map(|n| bell(f, 250.0 * f64::from(n)) / f64::from(n)).sum::<f64>();
        2e-7 * (0.2 + draws.next()) / (1.0 + f / 50.0) + 1e-5 * tick + 4e-6 * bell(f, 10.0)
    };
    let points: Vec<(f64, f64)> =
        (1..200_000).map(|i| (f64::from(i) * 0.1, height(f64::from(i) * 0.1))).collect();
    let peak = |frequency, amplitude, name: &str| Peak { frequency, amplitude, name: name.into() };
    let mut peaks = vec![peak(10.0, 4e-6, "dispatcher"), peak(250.0, 1e-5, "timer tick")];
    peaks.extend((2..=8).map(|n| peak(250.0 * f64::from(n), 1e-5 / f64::from(n), "")));
    let chart = |points: Vec<(f64, f64)>, peaks| {
        let floor = points.iter().map(|&(f, _)| (f, 1e-7 / (1.0 + f / 50.0))).collect();
        Spectrum { points, floor, peaks, amplitude: "amplitude, time lost".into(), unit: Unit::Seconds }
    };
    let near = points.iter().copied().filter(|(f, _)| (100.0..1000.0).contains(f)).collect();
    vec![
        ("spectrum-0", chart(Vec::new(), Vec::new()).draw(&heading("Nothing"))),
        ("spectrum-1", chart(vec![(10.0, 1e-6)], Vec::new()).draw(&heading("One frequency"))),
        ("spectrum-node", chart(points, peaks.clone()).draw(&heading("Frequencies in the noise of node017"))),
        ("spectrum-near", chart(near, peaks[1..4].to_vec()).draw(&heading("Frequencies near the tick"))),
    ]
}

fn curves() -> Vec<(&'static str, String)> {
    let curve = |name: &str, strength: f64, inflection: Option<f64>| {
        let point = |power: i32| {
            let processes = f64::from(power).exp2();
            let median = 1.0 + strength * (processes / 3e4).powf(0.6) / (1.0 + (processes / 3e5).powf(0.4));
            CurvePoint { processes, median, low: 0.93 * median, high: 1.1 * median }
        };
        Curve { name: name.into(), points: (1..=20).map(point).collect(), inflection }
    };
    let strong = vec![
        curve("allreduce", 9.0, Some(4096.0)),
        curve("barrier", 14.0, Some(3000.0)),
        curve("broadcast", 0.6, None),
    ];
    let weak =
        vec![curve("allreduce 8 B, recursive doubling", 0.03, Some(262144.0)), curve("barrier", 0.02, None)];
    let one = CurvePoint { processes: 64.0, median: 1.3, low: 1.2, high: 1.4 };
    let single = Curve { name: "barrier".into(), points: vec![one], inflection: Some(64.0) };
    let draw = |curves, title: &str| SlowdownCurves { curves, ..Default::default() }.draw(&heading(title));
    vec![
        ("slowdown-0", draw(Vec::new(), "Nothing")),
        ("slowdown-1", draw(vec![single], "One size")),
        ("slowdown-strong", draw(strong, "What the noise of node017 costs")),
        ("slowdown-weak", draw(weak, "What the noise of node017 costs")),
    ]
}

fn rankings() -> Vec<(&'static str, String)> {
    let bar = |name: &str, value: f64, half: f64| Bar {
        name: name.into(),
        value,
        low: value - half,
        high: value + half,
    };
    let usual = vec![
        bar("timer tick", 0.41, 0.02),
        bar("softirq NET_RX", 0.22, 0.03),
        bar("kworker/u256:3-events_unbound kworker/u256:3-events_unbound", 0.08, 0.05),
        bar("hypervisor or firmware", 0.01, 0.02),
    ];
    let many = (0..25).map(|n| bar(&format!("source {n} <&> ядро"), 3.0 / f64::from(n + 1), 0.1)).collect();
    let draw = |bars, unit| {
        let what = "part of the slowdown at 1M processes that goes with the source".into();
        Ranking { bars, what, unit }.draw(&heading("What to remove first"))
    };
    vec![
        ("ranking-0", draw(Vec::new(), Unit::Share)),
        ("ranking-1", draw(vec![bar("timer tick", 0.0, 0.0)], Unit::Share)),
        ("ranking-usual", draw(usual, Unit::Share)),
        ("ranking-many", draw(many, Unit::Times)),
        ("ranking-times", draw(vec![bar("a", 3e-4, 1e-5), bar("b", -1e-5, 2e-5)], Unit::Seconds)),
    ]
}

fn main() -> Result<(), SaveError> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    for (name, svg) in [scatters(), histograms(), spectra(), curves(), rankings()].into_iter().flatten() {
        for end in ["svg", "png"] {
            save(&Path::new(&folder).join(format!("{name}.{end}")), &svg)?;
        }
    }
    Ok(())
}

//! Draws every kind of chart with ordinary and with awkward data, for visual inspection, and a page of the
//! same charts: `cargo run -p straggler-report --example gallery -- FOLDER`.

use std::path::Path;
use straggler_report::charts::save;
use straggler_report::numbers::slowdown;
use straggler_report::page::*;

/// Pseudo-random numbers from 0 to 1, the same in every run.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

type Named = (&'static str, Plot);

fn points(name: &str, pairs: impl IntoIterator<Item = (f64, f64)>) -> PointSeries {
    let (x, y) = pairs.into_iter().unzip();
    PointSeries { name: name.into(), x, y }
}

/// Ticks at 250 Hz, bursts of network interrupts, and a few long visits of daemons.
fn node(detours: usize) -> Vec<PointSeries> {
    let mut draws = Draws(7);
    let mut series = |name: &str, share: f64, shortest: f64, decades: f64| {
        let count = (detours as f64 * share).ceil() as usize;
        let mut point =
            |_| (10.0 * draws.next(), shortest * 10f64.powf(decades * draws.next() * draws.next()));
        points(name, (0..count).map(&mut point))
    };
    vec![
        series("timer tick", 0.6, 1.2e-6, 0.5),
        series("softirq NET_RX", 0.3, 3e-6, 1.5),
        series("kworker/0:1", 0.08, 8e-6, 1.8),
        series("hypervisor or firmware", 0.02, 5e-5, 2.4),
    ]
}

/// Thirty-one sources with names of all kinds.
fn strange() -> Vec<PointSeries> {
    let names = ["<script>&\"", "Grüße aus Żółw", "γλώσσα", "ядро/0:1", "核心 名前", "a\u{202e}b\tc"];
    let mut series = node(4000);
    for index in 0..27 {
        let name = format!("{} {}", names[index % names.len()], "kworker/u256:3-events ".repeat(index % 3));
        let at = |place: usize| (place as f64 / 5.0, 1e-6 * (index + 1) as f64);
        series.push(points(&name, (0..40 + index).map(at)));
    }
    series
}

fn durations() -> Axis {
    Axis::new("duration of the detour", Unit::Seconds, Scale::Log10)
}

fn scatters() -> Vec<Named> {
    let detours = |series: Vec<PointSeries>, length: f64| -> Plot {
        let x = Axis::linear("time since the start", Unit::Seconds).covering(0.0, length);
        Scatter { x, y: durations(), series }.into()
    };
    let one = |pairs: Vec<(f64, f64)>| vec![points("timer tick", pairs)];
    vec![
        ("scatter-none", detours(Vec::new(), 10.0)),
        ("scatter-one", detours(one(vec![(3.0, 5e-6)]), 10.0)),
        ("scatter-node", detours(node(2000), 10.0)),
        ("scatter-million", detours(node(1_000_000), 10.0)),
        ("scatter-31-sources", detours(strange(), 10.0)),
        ("scatter-tiny", detours(one(vec![(1e-12, 1e-12), (3e-12, 1.1e-12)]), 0.0)),
        ("scatter-huge", detours(one(vec![(0.0, 1e-20), (1e9, 1e20), (1e10, f64::NAN)]), 0.0)),
    ]
}

fn distributions() -> Vec<Named> {
    let sample = |series: PointSeries| {
        let mut values = series.y;
        values.sort_by(f64::total_cmp);
        Sample { name: series.name, values, sum: false }
    };
    let edges: Vec<f64> = (0..=20).map(|step| 10f64.powf(-6.0 + f64::from(step) / 5.0)).collect();
    let bins = |series: &PointSeries| HistogramSeries {
        name: series.name.clone(),
        counts: edges
            .windows(2)
            .map(|bin| series.y.iter().filter(|value| (bin[0]..bin[1]).contains(value)).count() as f64)
            .collect(),
        edges: edges.clone(),
        sum: false,
    };
    let histogram = |series: Vec<HistogramSeries>| -> Plot {
        Histogram { x: durations(), y: Axis::new("detours", Unit::Count, Scale::Log10), series }.into()
    };
    let node = node(100_000);
    vec![
        ("histogram-none", histogram(Vec::new())),
        ("histogram-tick", histogram(node[..1].iter().map(bins).collect())),
        ("histogram-node", histogram(node.iter().map(bins).collect())),
        (
            "distribution",
            Distribution {
                x: durations(),
                series: node.into_iter().map(sample).collect(),
                marks: Vec::new(),
            }
            .into(),
        ),
    ]
}

fn line(name: &str, role: Role, pairs: impl IntoIterator<Item = (f64, f64)>) -> Line {
    let (x, y): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    let interval = |factor: f64| y.iter().map(|value| factor * value).collect();
    let (low, high) = (interval(0.93), interval(1.1));
    let has_interval = role == Role::Simulated;
    Line {
        name: name.into(),
        role,
        low: has_interval.then_some(low),
        high: has_interval.then_some(high),
        x,
        y,
    }
}

fn spectra() -> Vec<Named> {
    let mut draws = Draws(3);
    let bell = |frequency: f64, at: f64| 1.0 / (1.0 + (40.0 * (frequency / at - 1.0)).powi(2));
    let mut height = |f: f64| {
        let tick = (1..=8).map(|n| bell(f, 250.0 * f64::from(n)) / f64::from(n)).sum::<f64>();
        2e-5 * (0.2 + draws.next()) / (1.0 + f / 50.0) + 1e-3 * tick + 4e-4 * bell(f, 10.0)
    };
    let curve: Vec<(f64, f64)> =
        (1..200_000).map(|i| (f64::from(i) * 0.1, height(f64::from(i) * 0.1))).collect();
    let floor: Vec<(f64, f64)> = curve.iter().map(|&(f, _)| (f, 1e-5 / (1.0 + f / 50.0))).collect();
    let peak = |f: f64, y: f64| Mark { x: Some(f), y: Some(y), name: Unit::Hertz.brief(f) };
    let mut marks = vec![peak(10.0, 4e-4)];
    marks.extend((1..=8).map(|n| peak(250.0 * f64::from(n), 1e-3 / f64::from(n))));
    let x = Axis::new("frequency", Unit::Hertz, Scale::Log10);
    let y = Axis::new("share of time lost in step with a frequency", Unit::Share, Scale::Log10);
    let series = vec![line("noise", Role::Measured, curve), line("background", Role::Reference, floor)];
    vec![("spectrum", Lines { x, y, series, marks }.into())]
}

fn slowdowns() -> Vec<Named> {
    let curve = |name: &str, strength: f64| {
        let at = |power: i32| {
            let processes = f64::from(power).exp2();
            (processes, strength * (processes / 3e4).powf(0.6) / (1.0 + (processes / 3e5).powf(0.4)))
        };
        line(name, Role::Simulated, (1..=20).map(at))
    };
    let chart = |scale, series: Vec<Line>, from: &[f64]| -> Plot {
        let inflection = |(line, &x): (&Line, &f64)| Mark {
            x: Some(x),
            y: None,
            name: format!("{}: noise dominates from {} processes", line.name, Unit::Count.brief(x)),
        };
        let mut marks: Vec<Mark> = series.iter().zip(from).map(inflection).collect();
        marks.push(Mark { x: None, y: Some(0.1), name: "10 % slower".into() });
        Lines { x: Axis::processes(), y: Axis::slowdown(scale), series, marks }.into()
    };
    let strong = vec![curve("allreduce", 9.0), curve("barrier", 14.0), curve("broadcast", 0.6)];
    let weak = vec![curve("allreduce 8 B, recursive doubling", 0.03), curve("barrier", 0.02)];
    let many = (0..12).map(|n| curve(&format!("series {n}"), 2000.0 * f64::from(n + 1))).collect();
    vec![
        ("slowdown-none", chart(Scale::Linear, Vec::new(), &[])),
        ("slowdown-strong", chart(Scale::Linear, strong, &[4096.0, 3000.0, 4200.0])),
        ("slowdown-weak", chart(Scale::Linear, weak, &[262144.0])),
        ("slowdown-huge", chart(Scale::Log10, many, &[4.0, 4.0, 4.0, 4.0])),
    ]
}

fn boxes() -> Vec<Named> {
    let series = |name: &str, x: Vec<f64>, strength: f64| {
        let of = |factor: f64| -> Vec<f64> {
            x.iter().map(|at| 5e-6 * at.log2() * (1.0 + strength * factor * at.sqrt() / 100.0)).collect()
        };
        BoxSeries {
            name: name.into(),
            low: of(0.7),
            q1: of(0.9),
            median: of(1.0),
            q3: of(1.3),
            high: of(1.9),
            count: vec![1000.0; x.len()],
            median_low: of(0.97),
            median_high: of(1.04),
            outlier_x: x.clone(),
            outlier_y: of(3.0),
            reference: Some(of(0.0)),
            x,
        }
    };
    let chart = |series: Vec<BoxSeries>| -> Plot {
        let y = Axis::new("time", Unit::Seconds, Scale::Log10);
        Boxes { x: Axis::processes(), y, series }.into()
    };
    let sizes = |powers: &[i32]| powers.iter().map(|&power| f64::from(power).exp2()).collect::<Vec<_>>();
    let all: Vec<i32> = (1..=20).collect();
    let several = |powers: &[i32], count: usize| {
        (0..count).map(|n| series(&format!("machine {n}"), sizes(powers), 1.0 + n as f64)).collect()
    };
    let mixed =
        vec![series("powers of 4", sizes(&[2, 4, 6, 8]), 1.0), series("of 8", sizes(&[3, 6, 9]), 2.0)];
    vec![
        ("boxes-one", chart(several(&all, 1))),
        ("boxes-three", chart(several(&all, 3))),
        ("boxes-few-sizes", chart(several(&[10, 16, 20], 3))),
        ("boxes-twelve", chart(several(&[4, 8, 12, 16, 20], 12))),
        ("boxes-mixed", chart(mixed)),
    ]
}

fn bars() -> Vec<Named> {
    let bar = |name: &str, value: f64, half: f64| Bar {
        name: name.into(),
        value,
        low: Some(value - half),
        high: Some(value + half),
        note: format!("leaves {}", slowdown(0.5 - value)),
        ..Bar::default()
    };
    let usual = vec![
        bar("timer tick", 0.41, 0.02),
        bar("softirq NET_RX", 0.22, 0.03),
        bar("kworker/u256:3-events_unbound kworker/u256:3-events_unbound", 0.08, 0.05),
        bar("hypervisor or firmware", -0.01, 0.02),
    ];
    let many =
        (0..25).map(|n| bar(&format!("source {n} <&> ядро"), 4931.0 / f64::from(n + 1), 9.0)).collect();
    let chart = |bars| -> Plot { Bars { x: Axis::linear("time saved", Unit::Seconds), bars }.into() };
    vec![("bars-none", chart(Vec::new())), ("bars-usual", chart(usual)), ("bars-many", chart(many))]
}

fn heat() -> Vec<Named> {
    let ranks: Vec<f64> = (0..24).map(f64::from).collect();
    let mut draws = Draws(5);
    let mut pair = |from: usize, to: usize| match from == to {
        true => f64::NAN,
        false => 1e-6 * (if from / 8 == to / 8 { 0.6 } else { 1.8 }) * (1.0 + 0.1 * draws.next()),
    };
    let values = (0..24 * 24).map(|place| pair(place / 24, place % 24)).collect();
    let axis = || Axis::linear("process", Unit::Count);
    let value = Axis::linear("median", Unit::Seconds);
    let pairs = Heat { x: axis(), y: axis(), value, xs: ranks.clone(), ys: ranks, values };
    let (xs, ys) = (vec![1.6e-5, 5e-5, 1e-4, 2e-4], vec![10.0, 100.0, 1000.0]);
    let detours = Heat {
        x: Axis::new("detour", Unit::Seconds, Scale::Log10),
        y: Axis::new("frequency", Unit::Hertz, Scale::Log10),
        value: Axis::linear("largest slowdown", Unit::Slowdown),
        values: (0..12).map(|place| 0.2 * f64::from(place) * f64::from(place)).collect(),
        xs,
        ys,
    };
    vec![("heat-pairs", pairs.into()), ("heat-detours", detours.into())]
}

/// Rounds of computation and messages to the next process, with noise on one.
fn timelines() -> Vec<Named> {
    let kind = |name: &str, role| Kind { name: name.into(), role };
    let mut timeline = Timeline {
        rows: (0..6).map(|rank| format!("rank {rank}")).collect(),
        kinds: vec![
            kind("computation", ActivityRole::Computation),
            kind("noise", ActivityRole::Noise),
            kind("wait", ActivityRole::Wait),
        ],
        ..Timeline::default()
    };
    for row in 0..6u32 {
        for round in 0..4u32 {
            let start = 1e7 * f64::from(round);
            let mut push = |kind, from: f64, to: f64| {
                let (start_ps, end_ps) = (start + from, start + to);
                timeline.push(Activity { row, start_ps, end_ps, kind, peer: NOBODY, bytes: -1.0, tag: 0 });
            };
            push(0, 0.0, 6e6);
            push(if row == 2 { 1 } else { 2 }, 6e6, 8e6);
            let (from, to) = (row, (row + 1) % 6);
            let (sent_ps, received_ps) = (start + 6e6, start + 9e6);
            timeline.push_arrow(Arrow { from, to, sent_ps, received_ps, bytes: 8.0 });
        }
    }
    vec![("timeline", timeline.into())]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    let plots = [scatters(), distributions(), spectra(), slowdowns(), boxes(), bars(), heat(), timelines()];
    let mut section = Section::new("Every kind of chart");
    for (name, plot) in plots.into_iter().flatten() {
        let chart = Chart::new(name, "cargo run --example gallery", plot)
            .with_note("node017 · AMD EPYC 9654 · 96 cores · 10 s long")
            .synthetic(true);
        for end in ["svg", "png", "pdf"] {
            save(&Path::new(&folder).join(format!("{name}.{end}")), &chart.draw(&chart.heading()))?;
        }
        section.add(chart);
    }
    let page = Page { title: "Gallery".into(), sections: vec![section], ..Page::default() };
    std::fs::write(Path::new(&folder).join("gallery.html"), page.to_html())?;
    Ok(())
}

//! The page and the pictures are two programs that draw the same description. Their axis ranges, tick
//! positions and labels must be the same: this test compares the pictures with `web/report/tests/agreement`,
//! and `web/report/tests/agreement.unit.ts` compares the page with the same files.
//! `STRAGGLER_WRITE_AGREEMENT=1 cargo test -p straggler-report agreement` regenerates them.

use super::{bars, boxes, distribution, heat, histogram, lines, scatter};
use crate::charts::axis::Axis as DrawnAxis;
use crate::page::*;
use serde_json::{Value, json};
use std::path::PathBuf;

/// The number of labels that fit on every axis.
const ROOM: f64 = 7.0;

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../web/report/tests/agreement").join(name)
}

fn processes(powers: std::ops::RangeInclusive<i32>) -> Vec<f64> {
    powers.map(|power| f64::from(power).exp2()).collect()
}

fn box_series(name: &str, x: Vec<f64>, least: f64) -> BoxSeries {
    let of = |factor: f64| x.iter().map(|at| least * factor * (1.0 + at.log2())).collect::<Vec<_>>();
    BoxSeries {
        name: name.into(),
        low: of(1.1),
        q1: of(1.3),
        median: of(1.5),
        q3: of(1.9),
        high: of(2.5),
        count: vec![1000.0; x.len()],
        median_low: of(1.45),
        median_high: of(1.55),
        outlier_x: vec![x[0]],
        outlier_y: vec![least * 9.0],
        reference: Some(of(1.0)),
        x,
    }
}

fn line(x: Vec<f64>, y: Vec<f64>, interval: Option<f64>) -> Line {
    let scaled = |factor: f64| y.iter().map(|value| value * factor).collect::<Vec<_>>();
    let low = interval.map(|share| scaled(1.0 - share));
    let high = interval.map(|share| scaled(1.0 + share));
    Line { name: "line".into(), role: Role::Simulated, x, y, low, high }
}

fn slowdowns(y: Axis, values: &[f64], marks: Vec<Mark>) -> Lines {
    let x = processes(1..=values.len() as i32);
    Lines { x: Axis::processes(), y, series: vec![line(x, values.to_vec(), Some(0.1))], marks }
}

fn scattered(x: Axis, y: Axis, points: &[(f64, f64)]) -> Scatter {
    let (x_values, y_values) = points.iter().copied().unzip();
    Scatter { x, y, series: vec![PointSeries { name: "points".into(), x: x_values, y: y_values }] }
}

/// Every kind of plot but timelines, with every unit and scale.
fn plots() -> Vec<(&'static str, Plot)> {
    let log = |label: &str, unit| Axis::new(label, unit, Scale::Log10);
    let seconds = |label: &str| Axis::linear(label, Unit::Seconds);
    let upright = Mark { x: Some(4096.0), y: None, name: "from 4,096".into() };
    let level = Mark { x: None, y: Some(0.1), name: "10 % slower".into() };
    let both = Mark { x: Some(250.0), y: Some(0.02), name: "250 Hz".into() };
    let two = vec![box_series("one", processes(1..=20), 1e-5), box_series("two", processes(1..=20), 3e-5)];
    let few = vec![box_series("one", vec![16.0, 64.0], 1e-3), box_series("two", vec![32.0, 64.0], 2e-3)];
    let huge: Vec<f64> = (1..=20).map(|power| 0.0012 * f64::from(power).exp2().powf(1.26)).collect();
    let spectrum = Lines {
        x: log("frequency", Unit::Hertz),
        y: log("share of time", Unit::Share),
        series: vec![line(vec![1.0, 250.0, 20_000.0], vec![1e-4, 0.02, 3e-6], None)],
        marks: vec![both],
    };
    let bins = |edges: Vec<f64>, counts: Vec<f64>| {
        vec![HistogramSeries { name: "detours".into(), edges, counts, sum: false }]
    };
    let bar = |value, low, high| Bar { name: "tick".into(), value, low, high, ..Bar::default() };
    let ranks: Vec<f64> = (0..20).map(f64::from).collect();
    let heat = |x: Axis, y: Axis, value: Axis, xs: Vec<f64>, ys: Vec<f64>| {
        let values = (0..xs.len() * ys.len()).map(|place| 0.5 + place as f64).collect();
        Heat { x, y, value, xs, ys, values }
    };
    let named = Axis::named("worker", vec!["16".into(), String::new(), "21".into()]);
    vec![
        (
            "boxes of two series",
            Boxes { x: Axis::processes(), y: log("time", Unit::Seconds), series: two }.into(),
        ),
        (
            "boxes at few places",
            Boxes { x: Axis::processes(), y: seconds("time"), series: few.clone() }.into(),
        ),
        (
            "boxes on a line",
            Boxes { x: Axis::linear("nodes", Unit::Count), y: seconds("time"), series: few }.into(),
        ),
        (
            "small slowdowns",
            slowdowns(
                Axis::slowdown(Scale::Linear),
                &[0.01, 0.02, 0.08, 0.15],
                vec![upright.clone(), level.clone()],
            )
            .into(),
        ),
        (
            "large slowdowns",
            slowdowns(Axis::slowdown(Scale::Linear), &[0.5, 4.0, 31.0], vec![level.clone()]).into(),
        ),
        ("huge slowdowns", slowdowns(Axis::slowdown(Scale::Log10), &huge, vec![upright, level]).into()),
        ("factors", slowdowns(Axis::linear("T / T0", Unit::Factor), &[1.0, 1.1, 2.4], Vec::new()).into()),
        ("spectrum", spectrum.into()),
        ("constant", slowdowns(seconds("time"), &[3e-3, 3e-3], Vec::new()).into()),
        (
            "bandwidth",
            Lines {
                x: Axis::new("size", Unit::Bytes, Scale::Log2),
                y: Axis::linear("rate", Unit::BytesPerSecond),
                series: vec![line(processes(0..=22), (0..=22).map(|at| 4e8 * f64::from(at)).collect(), None)],
                marks: Vec::new(),
            }
            .into(),
        ),
        (
            "distribution",
            Distribution {
                x: log("duration", Unit::Seconds),
                series: vec![Sample { name: "a".into(), values: vec![1.3e-6, 2e-6, 5e-5, 1e-3], sum: false }],
                marks: vec![Mark { x: Some(4e-7), y: None, name: "without noise".into() }],
            }
            .into(),
        ),
        (
            "histogram",
            Histogram {
                x: log("duration", Unit::Seconds),
                y: log("detours", Unit::Count),
                series: bins(vec![1e-6, 1e-5, 1e-4], vec![120_000.0, 3.0]),
            }
            .into(),
        ),
        (
            "even histogram",
            Histogram {
                x: seconds("idle"),
                y: Axis::linear("exchanges", Unit::Count),
                series: bins(vec![0.0, 0.002, 0.004], vec![12.0, 3.0]),
            }
            .into(),
        ),
        (
            "scatter",
            scattered(
                seconds("time").covering(0.0, 10.0),
                log("duration", Unit::Seconds),
                &[(1.0, 2e-6), (7.5, 3e-4)],
            )
            .into(),
        ),
        (
            "a whole",
            scattered(
                Axis::whole("time of the run"),
                Axis::linear("bytes", Unit::Bytes),
                &[(0.2, 100.0), (0.7, 5e6)],
            )
            .into(),
        ),
        (
            "plain numbers",
            scattered(
                Axis::linear("x", Unit::None),
                Axis::linear("y", Unit::None),
                &[(-3.0, -2e-7), (12.0, 9e-7)],
            )
            .into(),
        ),
        (
            "gains",
            Bars {
                x: Axis::linear("falls by", Unit::Share),
                bars: vec![bar(0.41, Some(0.39), Some(0.44)), bar(-0.03, None, None)],
            }
            .into(),
        ),
        (
            "large gains",
            Bars {
                x: Axis::linear("falls by", Unit::Share),
                bars: vec![bar(4931.0, Some(4000.0), Some(5120.0))],
            }
            .into(),
        ),
        (
            "times of bars",
            Bars { x: log("time", Unit::Seconds), bars: vec![bar(3e-4, None, None), bar(2e-6, None, None)] }
                .into(),
        ),
        (
            "heat of ranks",
            heat(
                Axis::linear("process", Unit::Count),
                Axis::linear("process", Unit::Count),
                seconds("median"),
                ranks.clone(),
                ranks,
            )
            .into(),
        ),
        (
            "heat of detours",
            heat(
                log("detour", Unit::Seconds),
                log("frequency", Unit::Hertz),
                Axis::slowdown(Scale::Linear),
                vec![1.6e-5, 5e-5, 2e-4],
                vec![10.0, 100.0, 1000.0],
            )
            .into(),
        ),
        (
            "heat with names",
            heat(
                named,
                Axis::linear("stage", Unit::Count),
                Axis::linear("times", Unit::Factor),
                vec![0.0, 1.0, 2.0],
                vec![0.0],
            )
            .into(),
        ),
    ]
}

/// The range of an axis, and its ticks: pairs of value and label, which is empty for fine ticks.
fn described(axis: &DrawnAxis) -> Value {
    let ticks = axis.ticks(ROOM).into_iter().map(|tick| json!([tick.value, tick.label.unwrap_or_default()]));
    json!({ "low": axis.low(), "high": axis.high(), "ticks": ticks.collect::<Vec<_>>() })
}

fn axes(plot: &Plot) -> Vec<DrawnAxis> {
    let (x, y) = match plot {
        Plot::Boxes(plot) => boxes::axes(plot),
        Plot::Lines(plot) => lines::axes(plot),
        Plot::Distribution(plot) => distribution::axes(plot),
        Plot::Histogram(plot) => histogram::axes(plot),
        Plot::Scatter(plot) => scatter::axes(plot),
        Plot::Bars(plot) => return vec![bars::axis(plot)],
        Plot::Heat(plot) => heat::axes(plot),
        Plot::Timeline(_) => return Vec::new(),
    };
    vec![x, y]
}

#[test]
fn pictures_agree_with_the_page() {
    let mut section = Section::new("agreement");
    let mut expected = serde_json::Map::new();
    for (title, plot) in plots() {
        expected.insert(title.into(), axes(&plot).iter().map(described).collect());
        section.add(Chart::new(title, "", plot));
    }
    let page = Page { title: "agreement".into(), sections: vec![section], ..Page::default() };
    let expected = json!({ "room": ROOM, "axes": expected });
    if std::env::var_os("STRAGGLER_WRITE_AGREEMENT").is_some() {
        let text = serde_json::to_string_pretty(&expected).unwrap();
        std::fs::write(file("axes.json"), text + "\n").unwrap();
        std::fs::write(file("plots.page"), page.to_container()).unwrap();
    }
    let read = std::fs::read(file("plots.page")).unwrap();
    assert_eq!(Page::from_container(&read).unwrap(), page, "plots.page is of other plots: write it anew");
    let read: Value = serde_json::from_slice(&std::fs::read(file("axes.json")).unwrap()).unwrap();
    for (title, axes) in expected["axes"].as_object().unwrap() {
        assert_eq!(&read["axes"][title], axes, "{title}");
    }
    assert_eq!(read["axes"].as_object().unwrap().len(), plots().len());
}

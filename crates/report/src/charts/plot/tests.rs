use super::super::{Heading, palette, to_pdf, to_png};
use crate::page::tests::plot;
use crate::page::*;
use proptest::prelude::*;

fn svg(plot: impl Into<Plot>) -> String {
    let chart = Chart::new("A title", "straggler x", plot);
    chart.draw(&chart.heading())
}

fn boxes() -> Boxes {
    let x: Vec<f64> = (1..=20).map(|power| f64::from(power).exp2()).collect();
    let of = |factor: f64| x.iter().map(|x| factor * x.log2() * 1e-5).collect::<Vec<_>>();
    let series = BoxSeries {
        name: "allreduce".into(),
        low: of(1.1),
        q1: of(1.3),
        median: of(1.5),
        q3: of(1.9),
        high: of(2.5),
        count: vec![1000.0; 20],
        median_low: of(1.45),
        median_high: of(1.55),
        outlier_x: vec![1024.0, 1024.0],
        outlier_y: vec![4e-4, 5e-4],
        reference: Some(of(1.0)),
        x,
    };
    let y = Axis::linear("run time", Unit::Seconds);
    Boxes { x: Axis::processes(), y, series: vec![series] }
}

#[test]
fn every_box_has_its_parts() {
    let svg = svg(boxes());
    // A white ground and a tint a box; thick lines are medians.
    assert_eq!(svg.matches("fill-opacity=\"0.25\"").count(), 20);
    assert_eq!(svg.matches("stroke-width=\"2.6\"").count(), 20);
    assert_eq!(svg.matches("h0").count(), 2);
    assert_eq!(svg.matches("stroke-dasharray").count(), 1);
    for text in [">1M<", ">without noise<", ">allreduce<", ">run time<"] {
        assert!(svg.contains(text), "{text}");
    }
}

#[test]
fn published_numbers_are_dots_and_intervals_are_bands() {
    let line = |name: &str, role, low: Option<Vec<f64>>| Line {
        name: name.into(),
        role,
        x: vec![2.0, 4.0, 8.0],
        y: vec![1.0, 2.0, 3.0],
        high: low.as_ref().map(|low| low.iter().map(|low| low + 1.0).collect()),
        low,
    };
    let series = vec![
        line("ours", Role::Simulated, Some(vec![0.5, 1.5, 2.5])),
        line("paper", Role::Published, None),
        line("bound", Role::Reference, None),
    ];
    let marks = vec![
        Mark { x: Some(4.0), y: None, name: "from 4".into() },
        Mark { x: None, y: Some(0.1), name: "10 %".into() },
    ];
    let y = Axis::linear("slowdown", Unit::Factor);
    let svg = svg(Lines { x: Axis::processes(), y, series, marks });
    assert_eq!(svg.matches("fill-opacity=\"0.18\"").count(), 1);
    // Two marks and the reference.
    assert_eq!(svg.matches("stroke-dasharray").count(), 3);
    assert!(svg.contains(">from 4<") && svg.contains(">10 %<") && svg.contains(">paper<"));
}

#[test]
fn a_distribution_rises_from_nothing_to_all() {
    let series = vec![Sample { name: "a".into(), values: vec![1e-6, 2e-6, f64::NAN, 4e-6] }];
    let svg = svg(Distribution { x: Axis::new("time", Unit::Seconds, Scale::Log10), series });
    assert!(
        svg.contains(">100 %<") && svg.contains("1 value cannot be drawn") && svg.contains("3 values"),
        "{svg}"
    );
}

#[test]
fn heat_has_a_cell_a_value_and_a_scale() {
    let values = vec![1.0, 2.0, 3.0, 4.0, f64::NAN, 6.0];
    let x = Axis::new("rate", Unit::Hertz, Scale::Log10);
    let y = Axis::new("detour", Unit::Seconds, Scale::Log10);
    let value = Axis::linear("slowdown", Unit::Factor);
    let (xs, ys) = (vec![10.0, 100.0, 1000.0], vec![1.6e-5, 2e-4]);
    let svg = svg(Heat { x, y, value, xs, ys, values });
    assert!(svg.contains("#440154") && svg.contains("#fde725"), "both ends of the scale");
    assert!(svg.contains("1 value cannot be drawn"));
    assert_eq!(svg.matches("<rect ").count(), 1 + 5 + 64);
}

/// Pairs of three processes: nobody has a time with itself, and one pair was not measured.
#[test]
fn an_empty_diagonal_is_nothing_missing() {
    let map = |between: f64| {
        let none = f64::NAN;
        let axis = |name: &str| Axis::linear(name, Unit::Count);
        let values = vec![none, 1.0, 2.0, 1.0, none, between, 2.0, 3.0, none];
        let ranks = vec![0.0, 1.0, 2.0];
        let value = Axis::linear("median", Unit::Seconds);
        svg(Heat { x: axis("process"), y: axis("process"), value, xs: ranks.clone(), ys: ranks, values })
    };
    assert!(!map(3.0).contains("cannot be drawn"));
    assert!(map(f64::NAN).contains("1 value cannot be drawn"));
}

#[test]
fn no_line_crosses_a_gap() {
    let curve = |y: Vec<f64>| {
        let x = (1..=y.len()).map(|at| at as f64).collect();
        let line = Line { name: "a".into(), role: Role::Measured, x, y, low: None, high: None };
        let axis = |name: &str| Axis::linear(name, Unit::Count);
        svg(Lines { x: axis("x"), y: axis("y"), series: vec![line], marks: Vec::new() })
    };
    let whole = curve(vec![1.0, 2.0, 3.0, 2.0, 1.0]);
    let apart = curve(vec![1.0, 2.0, f64::NAN, 2.0, 1.0]);
    let paths = |svg: &str| svg.matches("stroke-linejoin").count();
    assert_eq!((paths(&whole), paths(&apart)), (1, 2), "{apart}");
    assert!(!apart.contains("cannot be drawn"), "{apart}");
}

#[test]
fn long_timelines_are_cut_and_say_so() {
    let mut timeline = Timeline {
        rows: (0..100).map(|rank| format!("rank {rank}")).collect(),
        kinds: vec![Kind { name: "noise".into(), role: ActivityRole::Noise }],
        ..Timeline::default()
    };
    for row in 0..100u32 {
        for step in 0..1000 {
            let (start_ps, end_ps) = (f64::from(step) * 1e6, f64::from(step) * 1e6 + 5e5);
            timeline.push(Activity { row, start_ps, end_ps, kind: 0, peer: NOBODY, bytes: -1.0, tag: 0 });
        }
    }
    timeline.push_arrow(Arrow { from: 0, to: 1, sent_ps: 0.0, received_ps: 2e6, bytes: 8.0 });
    timeline.push_arrow(Arrow { from: 0, to: 1, sent_ps: 0.0, received_ps: 9e8, bytes: 8.0 });
    let svg = svg(timeline);
    assert!(svg.contains("64 of 100 rows, 6,000 of 100,000 activities"), "{}", &svg[..900]);
    // The mark in the legend, and six thousand activities.
    assert_eq!(svg.matches(palette::COLOURS[1]).count(), 6001);
    assert_eq!(svg.matches(&format!("fill=\"{}\" fill-opacity=\"1\"", palette::FAINT)).count(), 1);
}

#[test]
fn a_whole_is_shown_from_0_to_100_percent() {
    let scatter = |x| {
        let series = PointSeries { name: "s".into(), x: vec![0.3, 0.4], y: vec![1.0, 2.0] };
        svg(Scatter { x, y: Axis::linear("y", Unit::Count), series: vec![series] })
    };
    let (whole, fitted) = (scatter(Axis::whole("x")), scatter(Axis::linear("x", Unit::Share)));
    for text in [">0 %<", ">100 %<"] {
        assert!(whole.contains(text) && !fitted.contains(text), "{text}\n{whole}");
    }
}

#[test]
fn pictures_become_pdf() {
    let pdf = to_pdf(&svg(boxes())).unwrap();
    assert!(pdf.starts_with(b"%PDF-") && pdf.windows(5).any(|five| five == b"%%EOF"));
    assert!(pdf.windows(8).any(|eight| eight == b"NotoSans"), "texts stay texts");
    assert!(to_pdf("<x").is_err());
}

proptest! {
    /// Whatever was read from a file can be drawn.
    #[test]
    fn anything_can_be_drawn(plot in plot(), synthetic: bool) {
        let heading = Heading { title: "t".into(), synthetic, ..Heading::default() };
        let svg = Chart::new("t", "c", plot).draw(&heading);
        prop_assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn what_is_drawn_is_an_svg(plot in plot()) {
        let svg = Chart::new("t", "c", plot).draw(&Heading::default());
        prop_assert!(to_png(&svg).is_ok());
    }
}

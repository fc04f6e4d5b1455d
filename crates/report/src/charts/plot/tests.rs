use super::super::tests::well_formed;
use super::super::{Heading, palette};
use crate::page::tests::plot;
use crate::page::*;
use proptest::prelude::*;

fn svg(plot: impl Into<Plot>) -> String {
    let chart = Chart::new("A title", "straggler x", plot);
    chart.draw(&chart.heading()).svg()
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
    // Each box has a white background and a tint; thick lines are medians.
    assert_eq!(svg.matches("fill-opacity=\"0.25\"").count(), 20);
    assert_eq!(svg.matches("stroke-width=\"2.6\"").count(), 20);
    // Two outliers, and for each box a dot on the line without noise.
    assert_eq!(svg.matches("h0").count(), 22);
    assert_eq!(svg.matches(&palette::REFERENCE.to_string()).count(), 3);
    for text in [">65,536<", ">without noise<", ">allreduce<", ">run time<"] {
        assert!(svg.contains(text), "{text}");
    }
}

/// The positions of all thick lines, which are medians.
fn medians(svg: &str) -> Vec<(f64, f64)> {
    let number = |text: &str| text.parse::<f64>().unwrap();
    let ends = |line: &str| {
        let path = line.split("d=\"M").nth(1)?.split('"').next()?;
        let (from, to) = path.split_once('L')?;
        Some((number(from.split(' ').next()?), number(to.split(' ').next()?)))
    };
    svg.lines().filter(|line| line.contains("stroke-width=\"2.6\"")).filter_map(ends).collect()
}

/// Three series at three places: all boxes lie within the axes and meet no neighbour.
#[test]
fn boxes_of_several_series_stand_side_by_side() {
    let mut plot = boxes();
    let one = plot.series.remove(0);
    for name in ["a", "b", "c"] {
        let mut few = BoxSeries { name: name.into(), outlier_x: vec![], outlier_y: vec![], ..one.clone() };
        few.x = vec![2.0, 1024.0, 1048576.0];
        plot.series.push(few);
    }
    let chart = svg(plot.clone());
    let mut spans = medians(&chart);
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert_eq!(spans.len(), 9);
    assert!(spans.windows(2).all(|pair| pair[0].1 < pair[1].0), "{spans:?}");
    let (x, y) = super::boxes::axes(&plot);
    let frame = super::Frame::with_axes(&Heading::default(), &[], &x, &y);
    assert!(spans[0].0 > frame.left && spans[8].1 < frame.right, "{spans:?} {} {}", frame.left, frame.right);
}

/// A box that is alone at its position is centred on it.
#[test]
fn a_box_alone_is_not_shifted() {
    let mut plot = boxes();
    let one = plot.series.remove(0);
    for (name, x) in [("a", [16.0, 256.0]), ("b", [64.0, 256.0])] {
        let (outlier_x, outlier_y) = (vec![], vec![]);
        plot.series.push(BoxSeries { name: name.into(), x: x.into(), outlier_x, outlier_y, ..one.clone() });
    }
    let spans = medians(&svg(plot.clone()));
    let middles: Vec<f64> = spans.iter().map(|(from, to)| (from + to) / 2.0).collect();
    // Equal distances on the axis: 16, 64, 256, where the two boxes lie symmetrically around their position.
    let [first, shared, second, other] = middles[..] else { panic!("{middles:?}") };
    assert!((2.0 * second - first - (shared + other) / 2.0).abs() < 0.1, "{middles:?}");
}

#[test]
fn names_of_marks_do_not_meet() {
    let upright = |x| Mark { x: Some(x), y: None, name: format!("noise dominates from {x} processes") };
    let dot = |x, y| Mark { x: Some(x), y: Some(y), name: format!("peak at {x}") };
    let mut marks: Vec<Mark> = (0..6).map(|n| upright(1000.0 + f64::from(n))).collect();
    marks.extend((0..4).map(|n| dot(30.0 + f64::from(n), 2.0)));
    marks.push(Mark { x: None, y: Some(2.9), name: "a level".into() });
    let line = Line { name: "a".into(), x: vec![1.0, 4000.0], y: vec![1.0, 3.0], ..Line::default() };
    let axis = |name: &str| Axis::linear(name, Unit::Count);
    let svg = svg(Lines { x: axis("x"), y: axis("y"), series: vec![line], marks });
    let place = |line: &str, name: &str| -> Option<f64> {
        line.split(&format!(" {name}=\"")).nth(1)?.split('"').next()?.parse().ok()
    };
    let texts = svg.lines().filter(|line| line.contains("paint-order"));
    let rooms: Vec<(f64, f64, f64)> = texts
        .map(|line| {
            let text = line.split('>').nth(1).unwrap().split('<').next().unwrap();
            (place(line, "x").unwrap(), place(line, "y").unwrap(), crate::charts::text::width(text, 12.0))
        })
        .collect();
    assert!(rooms.len() >= 9, "{rooms:?}");
    for (index, (x, y, width)) in rooms.iter().enumerate() {
        for (other_x, other_y, other) in &rooms[..index] {
            let apart = x + width <= *other_x || other_x + other <= *x || (y - other_y).abs() >= 12.0;
            assert!(apart, "{rooms:?}");
        }
    }
}

fn sources(count: usize, points: usize) -> Scatter {
    let series = (0..count).map(|source| PointSeries {
        name: format!("source {source}"),
        x: (0..points).map(|index| index as f64 / points as f64).collect(),
        y: vec![1e-6 * (1 + source) as f64; points],
    });
    let y = Axis::new("duration", Unit::Seconds, Scale::Log10);
    Scatter { x: Axis::linear("time", Unit::Seconds), y, series: series.collect() }
}

#[test]
fn series_beyond_the_colours_share_one() {
    let chart = svg(sources(31, 3));
    assert!(chart.contains(">24 others<") && chart.contains(&palette::OTHERS.to_string()), "{chart}");
    assert!(chart.contains(">source 6<") && !chart.contains(">source 7<"));
    let chart = svg(sources(8, 3));
    assert!(chart.contains(">source 7<") && !chart.contains("others"));
}

#[test]
fn every_point_with_a_place_of_its_own_is_drawn() {
    let chart = Chart::new("t", "c", sources(2, 100));
    let picture = chart.draw(&chart.heading());
    assert_eq!(picture.dots, Some(200));
    // One move a dot, and one for the mark of each series in the legend.
    assert_eq!(picture.svg().matches("h0").count(), 202);
    let mut few = sources(1, 2);
    few.series[0].x = vec![0.1, f64::NAN, 0.2, 0.3];
    few.series[0].y = vec![1e-6, 1e-6, 0.0, -1.0];
    assert!(svg(few).contains("1 point; 3 more omitted"));
}

/// Both lie on one pixel: the rare series is visible.
#[test]
fn the_rarest_series_lies_on_top() {
    let mut plot = sources(2, 9);
    for (series, count) in plot.series.iter_mut().zip([1, 9]) {
        (series.x, series.y) = (vec![0.5; count], vec![1e-6; count]);
    }
    let chart = Chart::new("t", "c", plot);
    let picture = chart.draw(&chart.heading());
    assert_eq!(picture.dots, Some(1));
    assert!(
        picture.svg().rfind(&palette::SERIES[0].to_string()).unwrap() > picture.svg().rfind("h0").unwrap()
    );
}

#[test]
fn a_million_points_stay_small_and_are_counted() {
    let mut state = 1u64;
    let mut draw = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut plot = sources(1, 0);
    for _ in 0..1_000_000 {
        plot.series[0].x.push(10.0 * draw());
        plot.series[0].y.push(1e-7 * 10f64.powf(5.0 * draw()));
    }
    let chart = Chart::new("t", "c", plot);
    let picture = chart.draw(&chart.heading());
    let drawn = picture.dots.unwrap();
    assert!(drawn > 50_000 && drawn <= crate::charts::thinning::MOST_DOTS, "{drawn}");
    assert!(picture.svg().len() < 1_200_000, "{}", picture.svg().len());
    let said = format!("1,000,000 points in {} dots", crate::numbers::grouped(drawn as u64));
    assert!(picture.svg().contains(&said), "{said}");
}

#[test]
fn bars_have_whiskers_numbers_and_notes() {
    let bar = |name: &str, value: f64, note: &str| Bar {
        name: name.into(),
        value,
        low: Some(value - 0.02),
        high: Some(value + 0.02),
        note: note.into(),
        ..Bar::default()
    };
    let bars = vec![
        bar("timer tick", 0.41, "leaves 173×"),
        bar("kworker & co", 0.1, "leaves 2 %"),
        bar("harm", -0.03, ""),
    ];
    let x = Axis::linear("time saved", Unit::Share);
    let chart = svg(Bars { x: x.clone(), bars });
    assert_eq!(chart.matches(&palette::SERIES[0].to_string()).count(), 3);
    assert_eq!(chart.matches("stroke-width=\"1.4\"").count(), 9);
    for text in [">41 %<", ">–3 %<", "kworker &amp; co", ">time saved<", ">0 %<", ">leaves 2 %<"] {
        assert!(chart.contains(text), "{text}: {chart}");
    }
    // The longest bar leaves no room after its number.
    let inside = chart.lines().find(|line| line.contains(">leaves 173×<")).unwrap();
    assert!(inside.contains(&palette::PAPER.to_string()), "{inside}");
    let roles = [ActivityRole::Noise, ActivityRole::Wait].map(Some);
    let bars = roles.map(|role| Bar { role, ..bar("part", 0.2, "") }).to_vec();
    let chart = svg(Bars { x: x.clone(), bars });
    assert!(
        [palette::NOISE, palette::WAIT].iter().all(|colour| chart.contains(&colour.to_string())),
        "{chart}"
    );
    let bars = (0..30).map(|index| bar(&format!("s{index}"), 1.0, "")).collect();
    let chart = svg(Bars { x, bars });
    assert!(chart.contains("10 bars not shown") && !chart.contains(">s20<"));
}

#[test]
fn a_histogram_has_steps_for_every_series() {
    let series = |name: &str, counts: Vec<f64>| HistogramSeries {
        name: name.into(),
        edges: vec![1e-6, 1e-5, 1e-4, 1e-3],
        counts,
        sum: name == "all",
    };
    let (x, y) = (Axis::new("time", Unit::Seconds, Scale::Log10), Axis::new("n", Unit::Count, Scale::Log10));
    let series = vec![series("all", vec![5.0, 0.0, 1.0]), series("tick", vec![5.0, 0.0, 0.0])];
    let chart = svg(Histogram { x, y, series });
    assert_eq!(chart.matches("fill-opacity=\"0.22\"").count(), 2);
    assert!(chart.contains(">tick<") && chart.contains(">100 µs<"), "{chart}");
    let [first, second] = [0, 1].map(|index| palette::SERIES[index].to_string());
    // The sum is grey, and the first source has the first colour, as in a scatter of the sources.
    assert!(chart.contains(&palette::OTHERS.to_string()) && chart.contains(&first), "{chart}");
    assert!(!chart.contains(&second), "{chart}");
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
    let series = vec![Sample { name: "a".into(), values: vec![1e-6, 2e-6, f64::NAN, 4e-6], sum: false }];
    let marks = vec![Mark { x: Some(2e-7), y: None, name: "without noise".into() }];
    let svg = svg(Distribution { x: Axis::new("time", Unit::Seconds, Scale::Log10), series, marks });
    assert!(svg.contains(">100 %<") && svg.contains("1 value omitted") && svg.contains("3 values"), "{svg}");
    // The mark lies within the axis, which reaches down to it.
    assert!(svg.contains(">without noise<") && svg.contains(">200 ns<"), "{svg}");
    let reference = palette::REFERENCE.to_string();
    let dashed = svg.lines().filter(|line| line.contains("dasharray") && line.contains(&reference)).count();
    assert_eq!(dashed, 1, "{svg}");
}

#[test]
fn heat_has_a_cell_a_value_and_a_scale() {
    let values = vec![1.0, 2.0, 3.0, 4.0, f64::NAN, 6.0];
    let x = Axis::new("rate", Unit::Hertz, Scale::Log10);
    let y = Axis::new("detour", Unit::Seconds, Scale::Log10);
    let value = Axis::linear("slowdown", Unit::Factor);
    let (xs, ys) = (vec![10.0, 100.0, 1000.0], vec![1.6e-5, 2e-4]);
    let svg = svg(Heat { x, y, value, xs, ys, values });
    assert!(svg.contains("#f4f6f2") && svg.contains("#1b2a55"), "both ends of the scale");
    assert!(svg.contains("1 value omitted"));
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
    assert!(!map(3.0).contains("omitted"));
    assert!(map(f64::NAN).contains("1 value omitted"));
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
    assert!(!apart.contains("omitted"), "{apart}");
}

/// A picture of few rows is lower, and has room for its legend.
#[test]
fn a_timeline_is_as_high_as_its_rows() {
    let height = |rows: u32| -> f64 {
        let mut timeline = Timeline {
            rows: (0..rows).map(|rank| format!("rank {rank}")).collect(),
            kinds: (0..4)
                .map(|kind| Kind { name: format!("kind {kind}"), role: ActivityRole::Wait })
                .collect(),
            ..Timeline::default()
        };
        for kind in 0..4 {
            let (start_ps, end_ps) = (f64::from(kind) * 1e6, f64::from(kind) * 1e6 + 5e5);
            timeline.push(Activity { row: 0, start_ps, end_ps, kind, peer: NOBODY, bytes: -1.0, tag: 0 });
        }
        let svg = svg(timeline);
        assert!(svg.contains(">kind 3<"), "{svg}");
        svg.split(" height=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap().parse().unwrap()
    };
    assert_eq!((height(4) - height(3), height(64)), (60.0, 540.0));
    assert!(height(1) == height(2) && height(2) < height(3));
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
    assert_eq!(svg.matches(&palette::NOISE.to_string()).count(), 6001);
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
    let pdf = Chart::new("t", "c", boxes()).draw(&Heading::default()).pdf();
    assert!(pdf.starts_with(b"%PDF-") && pdf.ends_with(b"%%EOF\n"));
    assert!(pdf.windows(8).any(|eight| eight == b"NotoSans"), "texts stay texts");
}

proptest! {
    /// Whatever was read from a file can be drawn.
    #[test]
    fn anything_can_be_drawn(plot in plot(), synthetic: bool) {
        let heading = Heading { title: "t".into(), synthetic, ..Heading::default() };
        let svg = Chart::new("t", "c", plot).draw(&heading).svg();
        prop_assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn anything_can_be_drawn_in_every_format(plot in plot()) {
        let picture = Chart::new("t", "c", plot).draw(&Heading::default());
        prop_assert_eq!(well_formed(&picture.svg()), Ok(()));
        prop_assert!(picture.png().is_ok());
        prop_assert!(picture.pdf().ends_with(b"%%EOF\n"));
    }
}

use super::*;
use flate2::read::{GzDecoder, GzEncoder};
use proptest::prelude::*;
use std::io::Read;
use straggler_model::Time;
use straggler_trace as trace;

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z ]{0,8}", any::<String>()]
}

fn column() -> impl Strategy<Value = Vec<f64>> {
    use prop::num::f64::{INFINITE, NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    prop::collection::vec(POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO | INFINITE, 0..6)
}

fn finite() -> impl Strategy<Value = f64> {
    use prop::num::f64::{NEGATIVE, NORMAL, POSITIVE, ZERO};
    POSITIVE | NEGATIVE | NORMAL | ZERO
}

fn axis() -> impl Strategy<Value = Axis> {
    let unit = prop::sample::select(vec![
        Unit::None,
        Unit::Count,
        Unit::Seconds,
        Unit::Hertz,
        Unit::Bytes,
        Unit::BytesPerSecond,
        Unit::Share,
        Unit::Slowdown,
        Unit::Factor,
    ]);
    let scale = prop::sample::select(vec![Scale::Linear, Scale::Log10, Scale::Log2]);
    (text(), unit, scale, any::<bool>()).prop_map(|(label, unit, scale, whole)| Axis {
        label,
        unit,
        scale,
        whole,
        covers: whole.then_some([0.5, 1.5]),
        names: if whole { vec!["16".into(), String::new()] } else { Vec::new() },
    })
}

fn box_series() -> impl Strategy<Value = BoxSeries> {
    let columns = prop::collection::vec(column(), 11);
    (text(), columns, prop::option::of(column())).prop_map(|(name, columns, reference)| {
        let mut columns = columns.into_iter();
        let mut next = || columns.next().unwrap();
        BoxSeries {
            name,
            x: next(),
            low: next(),
            q1: next(),
            median: next(),
            q3: next(),
            high: next(),
            count: next(),
            median_low: next(),
            median_high: next(),
            outlier_x: next(),
            outlier_y: next(),
            reference,
        }
    })
}

fn line() -> impl Strategy<Value = Line> {
    let role = prop::sample::select(vec![Role::Simulated, Role::Measured, Role::Published, Role::Reference]);
    let interval = (prop::option::of(column()), prop::option::of(column()));
    (text(), role, column(), column(), interval).prop_map(|(name, role, x, y, (low, high))| Line {
        name,
        role,
        x,
        y,
        low,
        high,
    })
}

fn mark() -> impl Strategy<Value = Mark> {
    (prop::option::of(finite()), prop::option::of(finite()), text()).prop_map(|(x, y, name)| Mark {
        x,
        y,
        name,
    })
}

fn bar() -> impl Strategy<Value = Bar> {
    (
        text(),
        finite(),
        prop::option::of(finite()),
        prop::option::of(finite()),
        text(),
        prop::option::of(role()),
    )
        .prop_map(|(name, value, low, high, note, role)| Bar { name, value, low, high, note, role })
}

fn role() -> impl Strategy<Value = ActivityRole> {
    prop::sample::select(vec![ActivityRole::Noise, ActivityRole::Wait, ActivityRole::Communication])
}

fn timeline() -> impl Strategy<Value = Timeline> {
    let kind = (text(), role()).prop_map(|(name, role)| Kind { name, role });
    let whole = || prop::collection::vec(any::<u32>(), 0..5);
    let names = (prop::collection::vec(text(), 0..3), prop::collection::vec(kind, 0..3));
    let activities = (whole(), column(), column(), prop::collection::vec(any::<u8>(), 0..5));
    let rest = (whole(), column(), whole());
    let arrows = (whole(), whole(), column(), column(), column());
    (names, activities, rest, arrows).prop_map(|((rows, kinds), (row, start, end, kind), rest, arrows)| {
        let (peer, bytes, tag) = rest;
        let (arrow_from, arrow_to, arrow_sent, arrow_received, arrow_bytes) = arrows;
        Timeline {
            rows,
            kinds,
            row,
            start,
            end,
            kind,
            peer,
            bytes,
            tag,
            arrow_from,
            arrow_to,
            arrow_sent,
            arrow_received,
            arrow_bytes,
        }
    })
}

fn several<T: std::fmt::Debug>(one: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<T>> {
    prop::collection::vec(one, 0..3)
}

pub fn plot() -> impl Strategy<Value = Plot> {
    let sample =
        (text(), column(), any::<bool>()).prop_map(|(name, values, sum)| Sample { name, values, sum });
    let bins = (text(), column(), column(), any::<bool>())
        .prop_map(|(name, edges, counts, sum)| HistogramSeries { name, edges, counts, sum });
    let points = (text(), column(), column()).prop_map(|(name, x, y)| PointSeries { name, x, y });
    let heat = (axis(), axis(), axis(), column(), column(), column())
        .prop_map(|(x, y, value, xs, ys, values)| Heat { x, y, value, xs, ys, values }.into());
    prop_oneof![
        (axis(), axis(), several(box_series())).prop_map(|(x, y, series)| Boxes { x, y, series }.into()),
        (axis(), axis(), several(line()), several(mark())).prop_map(|(x, y, series, marks)| Lines {
            x,
            y,
            series,
            marks
        }
        .into()),
        (axis(), several(sample), several(mark())).prop_map(|(x, series, marks)| Distribution {
            x,
            series,
            marks
        }
        .into()),
        (axis(), axis(), several(bins)).prop_map(|(x, y, series)| Histogram { x, y, series }.into()),
        (axis(), axis(), several(points)).prop_map(|(x, y, series)| Scatter { x, y, series }.into()),
        (axis(), several(bar())).prop_map(|(x, bars)| Bars { x, bars }.into()),
        heat,
        timeline().prop_map(Plot::from),
    ]
}

fn table() -> impl Strategy<Value = Table> {
    let column =
        (text(), any::<bool>()).prop_map(|(name, number)| Column { name, number, ..Column::default() });
    let cell = (text(), prop::option::of(finite())).prop_map(|(text, value)| Cell { text, value });
    (text(), text(), text(), several(column), several(prop::collection::vec(cell, 0..3)))
        .prop_map(|(title, note, command, columns, rows)| Table { title, note, command, columns, rows })
}

fn block() -> impl Strategy<Value = Block> {
    let chart = (text(), text(), text(), any::<bool>(), plot())
        .prop_map(|(title, note, command, synthetic, plot)| Chart { title, note, command, synthetic, plot });
    prop_oneof![table().prop_map(Block::from), chart.prop_map(Block::from)]
}

fn page() -> impl Strategy<Value = Page> {
    let section = (text(), several(text()), several(block()));
    let section = section.prop_map(|(title, text, blocks)| Section { title, text, blocks });
    let facts = several((text(), text())).prop_map(Facts);
    let texts = (several(text()), several(text()), several(text()));
    let body = (text(), texts, facts, several(section)).prop_map(
        |(title, (summary, warnings, notes), facts, sections)| Page {
            title,
            summary,
            facts,
            warnings,
            notes,
            sections,
            parts: Vec::new(),
        },
    );
    body.prop_recursive(2, 4, 2, |body| {
        (body.clone(), several(body)).prop_map(|(page, parts)| Page { parts, ..page })
    })
}

fn plain(container: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(container).read_to_end(&mut bytes).unwrap();
    bytes
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut container = Vec::new();
    GzEncoder::new(bytes, flate2::Compression::fast()).read_to_end(&mut container).unwrap();
    container
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(page in page()) {
        let container = page.to_container();
        let read = Page::from_container(&container).unwrap();
        prop_assert_eq!(&read, &page);
        prop_assert_eq!(read.to_container(), container);
        let html = page.to_html();
        prop_assert_eq!(Page::from_html(&html).unwrap().unwrap(), page);
    }

    /// Columns begin where readers in other languages can map them.
    #[test]
    fn everything_is_aligned(page in page()) {
        let bytes = plain(&page.to_container());
        let length = u32::from_le_bytes(bytes[17..21].try_into().unwrap()) as usize;
        prop_assert_eq!((21 + length) % 8, 0);
        let header: serde_json::Value = serde_json::from_slice(&bytes[21..21 + length]).unwrap();
        for column in header["columns"].as_array().unwrap() {
            prop_assert_eq!(column["offset"].as_u64().unwrap() % 8, 0);
        }
    }

    #[test]
    fn damage_is_an_error_and_no_panic(
        page in page(), cut in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4)
    ) {
        let mut container = page.to_container();
        let mut inner = plain(&container);
        for (index, value) in changes {
            let at = index.index(inner.len());
            inner[at] = value;
            let at = index.index(container.len());
            container[at] = value;
        }
        let _ = Page::from_container(&container);
        let _ = Page::from_container(&packed(&inner));
        let _ = Page::from_container(&packed(&inner[..cut.index(inner.len())]));
        prop_assert!(Page::from_container(&container[..cut.index(container.len())]).is_err());
    }
}

/// A container with this header and no other faults.
fn with_header(header: &str) -> Result<Page, PageError> {
    let mut bytes = b"straggler page 1\n".to_vec();
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend(header.as_bytes());
    Page::from_container(&packed(&bytes))
}

#[test]
fn lies_about_columns_are_found() {
    let scatter = |column: &str| {
        let plot = r#"{"type":"scatter","x":{},"y":{},"series":[{"name":"a","x":0,"y":0}]}"#;
        let block = format!(r#"{{"kind":"chart","plot":{plot}}}"#);
        with_header(&format!(r#"{{"columns":[{column}],"sections":[{{"blocks":[{block}]}}]}}"#))
    };
    let empty = r#"{"type":"f64","offset":0,"length":0}"#;
    assert_eq!(scatter(empty).unwrap().charts().count(), 1);
    for (column, text) in [
        ("", "missing"),
        (r#"{"type":"u8","offset":0,"length":0}"#, "of the wrong type"),
        (r#"{"type":"f64","offset":0,"length":1}"#, "longer than the file"),
        (r#"{"type":"f64","offset":8,"length":18446744073709551615}"#, "longer than the file"),
        (r#"{"type":"f64","offset":18446744073709551615,"length":1}"#, "longer than the file"),
        (r#"{"type":"f64","offset":-1,"length":1}"#, "cannot be parsed"),
    ] {
        let fault = scatter(column).unwrap_err().to_string();
        assert!(fault.contains(text), "{fault}");
    }
}

#[test]
fn unknown_parts_are_left_out_and_told() {
    let blocks = r#"{"kind":"movie"},{"kind":"chart","plot":{"type":"pie"}},{"kind":"table","title":"t"}"#;
    let page = with_header(&format!(r#"{{"columns":[],"sections":[{{"blocks":[{blocks}]}}]}}"#)).unwrap();
    assert_eq!(page.sections[0].blocks.len(), 1);
    assert!(page.warnings[0].contains("`movie`") && page.warnings[1].contains("`pie`"));
}

#[test]
fn other_files_are_no_pages() {
    assert!(matches!(Page::from_container(b"rank,finish_ps\n"), Err(PageError::Compression(_))));
    assert!(matches!(Page::from_container(&packed(b"something else")), Err(PageError::Magic)));
    assert!(matches!(Page::from_container(&packed(b"straggler page 2\n")), Err(PageError::Version(_))));
    assert!(matches!(Page::from_container(&packed(b"straggler page 1\n\xff")), Err(PageError::Truncated)));
    let bomb = packed(&vec![0; (1 << 30) + 1]);
    assert!(matches!(Page::from_container(&bomb), Err(PageError::TooLarge)));
}

#[test]
fn titles_cannot_break_the_html() {
    let title = "</title><script>alert('@@DATA@@')</script>";
    let page = Page { title: title.into(), ..Page::default() };
    let html = page.to_html();
    assert!(!html.contains("<script>alert") && html.contains("&lt;script&gt;alert(&#39;@@DATA@@&#39;)"));
    assert!(!html.contains("@@TITLE@@"));
    assert_eq!(Page::from_html(&html).unwrap().unwrap().title, title);
}

#[test]
fn noise_becomes_an_activity_of_its_own() {
    let activity = trace::Activity {
        rank: 3,
        lane: trace::Lane::Cpu(0),
        kind: trace::Kind::Send,
        function: None,
        start: Time(100),
        end: Time(350),
        noise: Time(50),
        bytes: 8,
        peer: 4,
        tag: 7,
    };
    let gap = trace::Activity { lane: trace::Lane::Send(0), kind: trace::Kind::Gap, ..activity };
    let lost = trace::Activity { rank: 1, kind: trace::Kind::Compute, noise: Time(900), ..activity };
    let arrow = trace::Arrow {
        from: 3,
        from_cpu: 0,
        to: 4,
        to_cpu: 0,
        sent: Time(100),
        received: Time(900),
        bytes: 8,
        tag: 7,
    };
    let run = trace::Timeline { activities: vec![activity, gap, lost], arrows: vec![arrow] };
    let timeline = Timeline::from(&run);
    assert_eq!(timeline.rows, ["rank 1", "rank 3", "rank 4"]);
    let seen: Vec<_> = timeline.activities().map(|a| (a.row, a.start_ps, a.end_ps, a.kind, a.peer)).collect();
    let expected = [(0, 100.0, 350.0, 3, NOBODY), (1, 100.0, 300.0, 1, 2), (1, 300.0, 350.0, 3, 2)];
    assert_eq!(seen, expected);
    let arrow = timeline.arrows().next().unwrap();
    assert_eq!((arrow.from, arrow.to, arrow.received_ps), (1, 2, 900.0));
    assert_eq!(timeline.kinds[3].role, ActivityRole::Noise);
}

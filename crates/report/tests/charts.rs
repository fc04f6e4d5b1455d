//! Charts as files: well formed whatever the data, the right size, not blank.

#[path = "charts/xml.rs"]
pub mod xml;

use straggler_report::charts::*;
use straggler_report::page::{Axis, Chart, Plot, PointSeries, Scale, Scatter, Unit};

fn heading() -> Heading {
    let title = "Noise of <node & co>".into();
    let footer = "straggler tools plot noise \"x\"".into();
    Heading { title, subtitle: "10 s".into(), footer, synthetic: true }
}

fn chart() -> Chart {
    let points = 1..500;
    let series = PointSeries {
        name: "kworker <0:1> & \u{7}".into(),
        x: points.clone().map(|index| f64::from(index) / 50.0).collect(),
        y: points.map(|index| 1e-6 * f64::from(index)).collect(),
    };
    let other = PointSeries { name: "tick".into(), ..PointSeries::default() };
    let x = Axis::linear("time since the start", Unit::Seconds).covering(0.0, 10.0);
    let y = Axis::new("duration of the detour", Unit::Seconds, Scale::Log10);
    Chart::new("", "", Scatter { x, y, series: vec![series, other] })
}

fn scatter() -> Picture {
    chart().draw(&heading())
}

/// Reads it with a program that knows nothing of how pictures are written: its size, and its pixels as red,
/// green and blue.
fn decoded(png: &[u8]) -> ((u32, u32), Vec<[u8; 3]>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgb, png::BitDepth::Eight));
    let pixels = bytes[..info.buffer_size()].chunks_exact(3).map(|three| three.try_into().unwrap()).collect();
    ((info.width, info.height), pixels)
}

#[test]
fn names_are_escaped_and_everything_said_is_there() {
    let svg = scatter().svg();
    xml::well_formed(&svg).unwrap();
    for text in [
        "Noise of &lt;node &amp; co&gt;",
        "kworker &lt;0:1&gt; &amp; \u{fffd}",
        "SYNTHETIC DATA",
        ">499 points<",
        "time since the start",
        "duration of the detour",
        ">10 µs<",
        ">1 µs<",
        ">10 s<",
        "straggler tools plot noise &quot;x&quot;",
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
        format!("Cost of this noise for the traced program {path} on the network fitted from the trace");
    let head = Heading { title, subtitle: subtitle.into(), footer: String::new(), synthetic: true };
    let mut many = chart();
    if let Plot::Scatter(scatter) = &mut many.plot {
        scatter.series[0].x = (1..40_000).map(|index| f64::from(index % 200) / 20.0).collect();
        scatter.series[0].y = (1..40_000).map(|index| 1e-6 * f64::from(index)).collect();
    }
    let svg = many.draw(&head).svg();
    assert!(!svg.contains('…'), "{svg}");
    assert!(svg.contains("24.1 ms.<"), "{svg}");
    assert!(svg.contains("drawn once<"), "{svg}");
    xml::well_formed(&svg).unwrap();
}

#[test]
fn a_png_is_twice_as_large_and_shows_dots_and_letters() {
    let (size, pixels) = decoded(&scatter().png().unwrap());
    assert_eq!(size, (1800, 1080));
    let of = |red, green, blue| pixels.iter().filter(|&&pixel| pixel == [red, green, blue]).count();
    let all = pixels.len();
    assert!(of(255, 255, 255) > all / 2);
    // Dots of the first colour, and text: the fonts exist even if the machine has none.
    assert!(of(0x00, 0x72, 0xb2) > 499);
    assert!(of(0x1c, 0x23, 0x30) > 2_000, "{}", of(0x1c, 0x23, 0x30));
}

#[test]
fn the_name_decides_the_format() {
    let folder = tempfile::tempdir().unwrap();
    let picture = scatter();
    save(&folder.path().join("a.svg"), &picture).unwrap();
    save(&folder.path().join("a.PNG"), &picture).unwrap();
    assert_eq!(std::fs::read_to_string(folder.path().join("a.svg")).unwrap(), picture.svg());
    assert!(std::fs::read(folder.path().join("a.PNG")).unwrap().starts_with(b"\x89PNG"));
    save(&folder.path().join("a.pdf"), &picture).unwrap();
    assert!(std::fs::read(folder.path().join("a.pdf")).unwrap().starts_with(b"%PDF-"));
    for name in ["a.eps", "a", ".svg"] {
        let error = save(&folder.path().join(name), &picture).unwrap_err().to_string();
        assert!(error.contains("end the name with .svg"), "{error}");
    }
    let missing = save(&folder.path().join("no/a.svg"), &picture).unwrap_err().to_string();
    assert!(missing.contains("cannot be written"), "{missing}");
}

#[test]
fn the_same_data_give_the_same_bytes() {
    let (one, other) = (scatter(), scatter());
    assert_eq!(one.svg(), other.svg());
    assert_eq!(one.png().unwrap(), other.png().unwrap());
    assert_eq!(one.pdf(), other.pdf());
}

//! A PDF is a sound file, and says what the SVG says, in the same places.

use super::everything;
use crate::charts::canvas::{Anchor, Shape, Text};
use crate::charts::font::{Font, shift};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|part| part == what)
}

/// The number that starts at a place.
fn number_at(bytes: &[u8], at: usize) -> usize {
    let digits: String =
        bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).map(|&b| b as char).collect();
    digits.parse().unwrap()
}

/// The streams of a file, decompressed.
fn streams(pdf: &[u8]) -> Vec<String> {
    let mut rest = pdf;
    let mut found = Vec::new();
    while let Some(at) = find(rest, b"/Length ") {
        let length = number_at(rest, at + 8);
        let start = at + find(&rest[at..], b"stream\n").unwrap() + 7;
        let data = &rest[start..start + length];
        rest = &rest[start + length..];
        assert!(rest.starts_with(b"\nendstream\nendobj\n"));
        let mut text = Vec::new();
        flate2::read::ZlibDecoder::new(data).read_to_end(&mut text).unwrap();
        found.push(String::from_utf8_lossy(&text).into_owned());
    }
    found
}

#[test]
fn the_table_of_objects_is_right() {
    let pdf = everything().pdf();
    assert!(pdf.starts_with(b"%PDF-1.7\n") && pdf.ends_with(b"%%EOF\n"));
    let start = find(&pdf, b"startxref\n").unwrap();
    let table = number_at(&pdf, start + 10);
    assert!(pdf[table..].starts_with(b"xref\n0 "));
    let count = number_at(&pdf, table + 7);
    let entries = table + find(&pdf[table..], b" f \n").unwrap() + 4;
    for (index, entry) in pdf[entries..].chunks(20).take(count - 1).enumerate() {
        assert_eq!(&entry[10..], b" 00000 n \n");
        let head = format!("{} 0 obj\n", index + 1);
        assert!(pdf[number_at(entry, 0)..].starts_with(head.as_bytes()), "{head}");
    }
    assert!(pdf[entries + 20 * (count - 1)..].starts_with(b"trailer\n"));
    // The catalog, the pages, the page, its operators, the title, and five objects for each font.
    assert_eq!(count, 1 + 5 + 5 + 5);
    assert_eq!(streams(&pdf).len(), 1 + 2 + 2);
}

/// What a page shows, read from its operators: the font, the place and the glyphs of each text.
fn shown(page: &str) -> Vec<(String, (f64, f64), Vec<u16>)> {
    let texts = page.split("BT /").skip(1).map(|rest| rest.split(" ET").next().unwrap());
    let read = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        let at = words.iter().position(|&word| word == "Tm").unwrap();
        let place = (words[at - 2].parse().unwrap(), words[at - 1].parse().unwrap());
        let (from, to) = (text.find('[').unwrap(), text.find(']').unwrap());
        let strings = text[from..to].split('<').skip(1).map(|part| part.split('>').next().unwrap());
        let digits: String = strings.collect();
        let glyph = |four: &[u8]| u16::from_str_radix(std::str::from_utf8(four).unwrap(), 16).unwrap();
        (words[0].to_string(), place, digits.as_bytes().chunks(4).map(glyph).collect())
    };
    texts.map(read).collect()
}

/// The table from glyphs to letters that a file has for its readers.
fn letters(map: &str) -> BTreeMap<u16, String> {
    let pair = |line: &str| {
        let (glyph, letter) = line.strip_prefix('<')?.strip_suffix('>')?.split_once("><")?;
        let units: Option<Vec<u16>> = letter
            .as_bytes()
            .chunks(4)
            .map(|four| u16::from_str_radix(std::str::from_utf8(four).ok()?, 16).ok())
            .collect();
        Some((u16::from_str_radix(glyph, 16).ok()?, String::from_utf16(&units?).ok()?))
    };
    map.split("beginbfchar").skip(1).flat_map(str::lines).filter_map(pair).collect()
}

/// The texts of an SVG: place, anchor and content.
fn svg_texts(svg: &str) -> Vec<((f64, f64), Anchor, String)> {
    let value = |line: &str, name: &str| -> Option<String> {
        Some(line.split(&format!(" {name}=\"")).nth(1)?.split('"').next()?.into())
    };
    let number = |line: &str, name: &str| value(line, name).unwrap().parse::<f64>().unwrap();
    let read = |line: &str| {
        let anchor = match value(line, "text-anchor").as_deref() {
            Some("middle") => Anchor::Middle,
            Some("end") => Anchor::End,
            _ => Anchor::Start,
        };
        let content = line.split('>').nth(1).unwrap().split('<').next().unwrap();
        let content = content.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        ((number(line, "x"), number(line, "y")), anchor, content)
    };
    svg.lines().filter(|line| line.starts_with("<text ")).map(read).collect()
}

#[test]
fn texts_are_where_the_svg_has_them() {
    let picture = everything();
    let texts: Vec<&Text> = picture
        .drawing
        .shapes
        .iter()
        .filter_map(|shape| match shape {
            Shape::Text(text) => Some(text),
            _ => None,
        })
        .collect();
    let streams = streams(&picture.pdf());
    let maps: BTreeMap<&str, _> =
        BTreeMap::from([("Regular", letters(&streams[1])), ("Bold", letters(&streams[3]))]);
    let (svg, pdf) = (svg_texts(&picture.svg()), shown(&streams[4]));
    assert_eq!((svg.len(), pdf.len()), (texts.len(), texts.len()));
    for ((text, (place, anchor, content)), (name, start, glyphs)) in texts.into_iter().zip(svg).zip(pdf) {
        assert_eq!((place, anchor, &content), (text.place, text.ink.anchor, &text.content));
        assert_eq!(name == "Bold", text.ink.bold);
        let font = Font::bundled(text.ink.bold).unwrap();
        let left = shift(text, font, &font.run(&content));
        let is_upward = content == "slowdown";
        let expected = if is_upward { (place.0, place.1 + left) } else { (place.0 - left, place.1) };
        assert!(
            (start.0 - expected.0).hypot(start.1 - expected.1) < 0.02,
            "{content}: {start:?} {expected:?}"
        );
        let read: String = glyphs.iter().map(|glyph| maps[name.as_str()][glyph].as_str()).collect();
        let known = content.replace("核心", "\u{fffd}\u{fffd}").replace("  ", " ");
        assert_eq!(read, known);
    }
}

#[test]
fn lines_and_colours_are_those_of_the_svg() {
    let (svg, pdf) = (everything().svg(), everything().pdf());
    let page = &streams(&pdf)[4];
    for (in_svg, in_pdf) in [
        ("d=\"M70 40L100 80L130 40\"", "70 40 m 100 80 l 130 40 l S"),
        ("stroke-dasharray=\"5 4\" stroke-linejoin=\"round\" stroke-linecap=\"round\"", "[5 4] 0 d 1 J 1 j"),
        ("stroke-width=\"1.2\"", "1.2 w"),
        ("d=\"M10 40L60 40L35 80Z\"", "10 40 m 60 40 l 35 80 l h f"),
        ("fill-opacity=\"0.25\"", "/A25 gs"),
        ("M10 90h0m10 5h0", "10 90 m 10 90 l 20 95 m 20 95 l S"),
        ("fill=\"#0072b2\"", "0.0000 0.4471 0.6980 rg 10 10 m 60 10 l 60 30 l 10 30 l h f"),
    ] {
        assert!(svg.contains(in_svg), "{in_svg}\n{svg}");
        assert!(page.contains(in_pdf), "{in_pdf}\n{page}");
    }
    assert!(find(&pdf, b"/A25<</ca 0.25>>").is_some());
    assert!(find(&pdf, b"/MediaBox[0 0 225 150]").is_some());
}

/// What people see when they search or copy, as Poppler reads it.
#[test]
fn texts_can_be_searched() {
    let started = Command::new("pdftotext")
        .args(["-layout", "-", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut program) = started else {
        let _ = writeln!(std::io::stderr(), "skipped: words in PDF files, as there is no pdftotext");
        return;
    };
    program.stdin.take().unwrap().write_all(&everything().pdf()).unwrap();
    let said = program.wait_with_output().unwrap();
    assert!(said.status.success());
    let text = String::from_utf8(said.stdout).unwrap();
    for label in [
        "time / µs AVAT",
        "10 % slower",
        "<kworker & co>",
        "Noise of node017",
        "peak at 250 Hz",
        "核心",
        "Grüße",
    ] {
        assert_eq!(text.matches(label).count(), 1, "{label}\n{text}");
    }
}

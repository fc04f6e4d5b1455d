//! Measures the width of texts, and makes them fit.
//!
//! A picture is laid out before the font that displays it is known, so widths are those of the bundled Noto
//! Sans with a margin; the fallback fonts of browsers differ by less.

/// Advances of Noto Sans from the space to `~`, in thousandths of the size.
const ADVANCES: [u16; 95] = [
    260, 269, 408, 646, 572, 831, 732, 225, 300, 300, 551, 572, 268, 322, 268, 372, 572, 572, 572, 572, 572,
    572, 572, 572, 572, 572, 268, 268, 572, 572, 572, 434, 899, 639, 650, 632, 730, 556, 519, 728, 741, 339,
    273, 619, 524, 907, 760, 781, 605, 781, 622, 549, 556, 731, 600, 930, 586, 566, 572, 329, 372, 329, 572,
    444, 281, 561, 615, 480, 615, 564, 344, 615, 618, 258, 258, 534, 258, 935, 618, 605, 615, 615, 413, 479,
    361, 618, 508, 786, 529, 510, 470, 380, 551, 380, 572,
];

/// Margin for bold letters and for slightly wider fonts.
const SPARE: f64 = 1.08;

/// An upper estimate of the width of a text in pixels.
pub fn width(text: &str, size: f64) -> f64 {
    let thousandths: f64 = text.chars().map(advance).sum();
    thousandths * size * SPARE / 1000.0
}

fn advance(letter: char) -> f64 {
    let code = letter as u32;
    let known = code.checked_sub(32).and_then(|index| ADVANCES.get(index as usize));
    match known {
        Some(&advance) => f64::from(advance),
        // East Asian scripts and emoji fill a square; other alphabets are like ours.
        None if code >= 0x1100 => 1000.0,
        None => 650.0,
    }
}

/// Returns the text, shortened with an ellipsis if it does not fit.
pub fn shortened(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.into();
    }
    let mut kept = String::new();
    let mut used = width("…", size);
    for letter in text.chars() {
        used += advance(letter) * size * SPARE / 1000.0;
        if used > room {
            break;
        }
        kept.push(letter);
    }
    format!("{}…", kept.trim_end())
}

/// Wraps the text to at most `most` lines, breaking between words, and shortens whatever is still too long.
pub fn wrapped(text: &str, size: f64, room: f64, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        if lines.len() + 1 == most {
            let rest: Vec<&str> = std::iter::once(word).chain(words.by_ref()).collect();
            lines.push(shortened(&rest.join(" "), size, room));
            break;
        }
        let mut line = word.to_string();
        while let Some(next) = words.next_if(|next| width(&format!("{line} {next}"), size) <= room) {
            line.push(' ');
            line.push_str(next);
        }
        lines.push(shortened(&line, size, room));
    }
    lines
}

/// Wraps the whole text, each paragraph on lines of its own, at the first of the sizes that needs at most
/// `most` lines. If none does, the last size is used with as many lines as needed, up to [`MOST_LINES`].
pub fn fitted(text: &str, sizes: &[f64], room: f64, most: usize) -> (f64, Vec<String>) {
    let smallest = sizes.last().copied().unwrap_or(10.0);
    let at =
        |size: f64| (size, text.split('\n').flat_map(|part| filled(part, size, room)).collect::<Vec<_>>());
    if let Some(found) = sizes.iter().map(|&size| at(size)).find(|(_, lines)| lines.len() <= most) {
        return found;
    }
    let (size, mut lines) = at(smallest);
    if lines.len() > MOST_LINES {
        let rest = lines.split_off(MOST_LINES - 1).join(" ");
        lines.push(shortened(&rest, size, room));
    }
    (size, lines)
}

/// Longer texts would leave no room for the picture.
const MOST_LINES: usize = 8;

/// Wraps one paragraph; a word wider than the room, such as a path, continues on the next line. A blank
/// paragraph is one empty line.
fn filled(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().filter(|line| !line.is_empty());
        match line.filter(|line| width(&format!("{line} {word}"), size) <= room) {
            Some(line) => *line += &format!(" {word}"),
            None => lines.extend(pieces(word, size, room)),
        }
    }
    // Drop the empty initial line.
    if lines.len() > 1 {
        lines.remove(0);
    }
    lines
}

/// Splits a word at line ends.
fn pieces(word: &str, size: f64, room: f64) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for letter in word.chars() {
        if let Some(piece) = pieces.last_mut() {
            piece.push(letter);
            if width(piece, size) > room && piece.chars().count() > 1 {
                piece.pop();
                pieces.push(letter.into());
            }
        }
    }
    pieces
}

/// Replaces what no picture can show: control characters, what XML forbids, and direction overrides, which
/// would let a name rearrange the text around it.
pub fn printable(letter: char) -> char {
    match letter {
        '\t' | '\n' | '\r' => ' ',
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        letter if letter.is_control() => '\u{fffd}',
        letter => letter,
    }
}

/// Makes a text safe for XML: special characters are escaped, forbidden ones are replaced.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars().map(printable) {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_wrapped() {
        assert_eq!(shortened("timer tick", 12.0, 200.0), "timer tick");
        let short = shortened(&"kworker/u256:".repeat(9), 12.0, 100.0);
        assert!(short.ends_with('…') && width(&short, 12.0) <= 100.0, "{short}");
        let lines = wrapped("one two three four five six", 10.0, 60.0, 2);
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("one two") && lines[1].ends_with('…'), "{lines:?}");
        assert!(lines.iter().all(|line| width(line, 10.0) <= 60.0));
        assert!(wrapped("  ", 10.0, 60.0, 2).is_empty());
    }

    #[test]
    fn headings_are_kept_whole() {
        let sizes = [13.0, 12.0, 11.0];
        assert_eq!(fitted("10 s", &sizes, 100.0, 3), (13.0, vec!["10 s".to_string()]));
        // The placeholder of a remark takes the line that the remark will take.
        assert_eq!(
            fitted("10 s\n ", &sizes, 100.0, 3).1.len(),
            fitted("10 s\n3 dots", &sizes, 100.0, 3).1.len()
        );
        for text in ["one two three ".repeat(9), "a/very/long/path".repeat(4), "word ".repeat(20)] {
            let (size, lines) = fitted(text.trim(), &sizes, 120.0, 3);
            let letters = |text: &str| text.replace(' ', "");
            assert_eq!(letters(&lines.concat()), letters(&text), "{size} {lines:?}");
            assert!(lines.iter().all(|line| width(line, size) <= 120.0), "{size} {lines:?}");
        }
        let (_, lines) = fitted(&"word ".repeat(10_000), &sizes, 120.0, 3);
        assert!(lines.len() == MOST_LINES && lines[MOST_LINES - 1].ends_with('…'), "{lines:?}");
    }

    #[test]
    fn what_xml_cannot_hold_is_replaced() {
        assert_eq!(escaped("<a & \"b\">\u{1}\n\u{202e}"), "&lt;a &amp; &quot;b&quot;&gt;\u{fffd} \u{fffd}");
    }
}

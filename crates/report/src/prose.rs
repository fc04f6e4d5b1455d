//! Wrapping of sentences for a terminal.

use std::borrow::Cow;
use textwrap::{Options, WordSplitter, wrap};

/// The narrowest width: below it sentences are hard to read, and the terminal breaks them instead.
const LEAST: usize = 40;

/// Wraps the sentences of a text. Indented lines are tables, commands and the like and stay unchanged, except
/// list items and sentences below a numbered heading.
pub fn wrap_prose(text: &str, width: usize) -> String {
    let width = width.max(LEAST);
    text.split_inclusive('\n').map(|line| wrapped(line, width)).collect()
}

/// Wraps all lines of an error, the indented ones too, and indents what continues them.
pub fn wrap_error(text: &str, width: usize) -> String {
    let width = width.max(LEAST);
    let wrapped = |line: &str| {
        let sentence = line.trim_start_matches(' ');
        let indent = &line[..line.len() - sentence.len()];
        let further = if indent.is_empty() { String::new() } else { format!("{indent}  ") };
        let options = Options::new(width).break_words(false);
        lines(sentence, options.initial_indent(indent).subsequent_indent(&further)).join("\n")
    };
    text.split('\n').map(wrapped).collect::<Vec<_>>().join("\n")
}

fn wrapped(line: &str, width: usize) -> Cow<'_, str> {
    // Names of options and files stay whole, so that they can be copied.
    let options = Options::new(width).break_words(false);
    let (sentence, end) = line.strip_suffix('\n').map_or((line, ""), |sentence| (sentence, "\n"));
    if sentence.starts_with("  - ") {
        Cow::Owned(lines(sentence, options.subsequent_indent("    ")).join("\n") + end)
    } else if let Some(below) = below_heading(sentence) {
        let options = options.initial_indent(BELOW_HEADING).subsequent_indent(BELOW_HEADING);
        Cow::Owned(lines(below, options).join("\n") + end)
    } else if is_heading(sentence) {
        Cow::Owned(lines(sentence, options.subsequent_indent(BELOW_HEADING)).join("\n") + end)
    } else if sentence.starts_with(' ') {
        Cow::Borrowed(line)
    } else {
        Cow::Owned(lines(sentence, options).join("\n") + end)
    }
}

/// Indent below a numbered heading, equal to that of the heading's text.
const BELOW_HEADING: &str = "   ";

/// A sentence below a numbered heading, without its indent. Tables have a different indent, or wide gaps
/// between columns.
fn below_heading(line: &str) -> Option<&str> {
    let rest = line.strip_prefix(BELOW_HEADING)?;
    (rest.starts_with(char::is_alphanumeric) && !rest.contains("  ")).then_some(rest)
}

/// Whether a line begins with a number, a full stop and a space.
fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    rest.len() < line.len() && rest.starts_with(". ")
}

/// Replaces a space at which a line must not end.
const NO_BREAK: char = '\u{a0}';

/// Longer words are not units.
const LONGEST_UNIT: usize = 3;

/// Wraps a text between words, but never between a number and its unit: `24 %`, `3.1 µs`.
pub(crate) fn lines(text: &str, options: Options<'_>) -> Vec<String> {
    let kept = with_units(text);
    let options = options.word_splitter(WordSplitter::NoHyphenation);
    wrap(&kept, options).into_iter().map(|line| line.replace(NO_BREAK, " ")).collect()
}

/// Replaces the space between a number and its unit by a no-break space.
pub(crate) fn with_units(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for (number, word) in text.split(' ').enumerate() {
        let unit = word.trim_end_matches([',', '.', ';', ':', ')', '?']);
        let is_number = unit.starts_with(|letter: char| letter.is_ascii_digit());
        let is_unit = !is_number && (1..=LONGEST_UNIT).contains(&unit.chars().count());
        let after_digit = kept.ends_with(|letter: char| letter.is_ascii_digit());
        if number > 0 {
            kept.push(if is_unit && after_digit { NO_BREAK } else { ' ' });
        }
        kept.push_str(word);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_wrap_and_tables_stay() {
        let sentence = "Noise takes 2 % of the time, which is more than most machines lose.\n";
        let table = "  source  detours  of the noise  longest  evidence  more\n";
        let item = "  - one of many notes about what the result does not hold for\n";
        let text = wrap_prose(&format!("{sentence}\n{table}{item}"), 40);
        let expected = format!(
            "Noise takes 2 % of the time, which is\nmore than most machines lose.\n\n{table}  - one of many notes about what the\n    result does not hold for\n"
        );
        assert_eq!(text, expected);
        assert_eq!(wrap_prose("no end", 80), "no end");
        let number = wrap_prose("Here the line would end after the number 24 % of all.", 43);
        assert_eq!(number, "Here the line would end after the number\n24 % of all.");
        let comma = wrap_prose("Here the line would end after the number 24 MiB, and go on.", 45);
        assert_eq!(comma, "Here the line would end after the number\n24 MiB, and go on.");
        assert_eq!(wrap_prose("", 80), "");
    }

    #[test]
    fn indented_lines_of_errors_wrap() {
        let chain = "  rank 0 waits for rank 1, which waits for rank 2, which waits for rank 0";
        let text = wrap_error(&format!("error: the schedule cannot finish:\n{chain}\n\nadd it"), 40);
        let expected = "error: the schedule cannot finish:\n  rank 0 waits for rank 1, which waits\n    \
                        for rank 2, which waits for rank 0\n\nadd it";
        assert_eq!(text, expected);
        assert_eq!(wrap_error(chain, 80), chain);
    }

    #[test]
    fn numbered_headings_and_what_stands_below_them_hang() {
        let heading = "1. Rank 3 computes longer than the others do in every step";
        let evidence = "   It takes 1.5 times as long as the others, and the others wait.";
        let columns = "   rank  computation  communication  waiting";
        let text = format!("{heading}\n{evidence}\n{columns}\n");
        let wrapped = wrap_prose(&text, 40);
        let mut lines: Vec<&str> = wrapped.lines().collect();
        assert_eq!(lines.pop(), Some(columns));
        assert!(lines[0].starts_with("1. Rank 3"), "{wrapped}");
        let hangs = |line: &&str| line.starts_with("   ") && !line.starts_with("    ") && line.len() <= 40;
        assert!(lines.len() >= 4 && lines[1..].iter().all(hangs), "{wrapped}");
        assert!(wrapped.split_whitespace().eq(text.split_whitespace()), "{wrapped}");
    }
}

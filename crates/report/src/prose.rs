//! Sentences on a terminal.

use std::borrow::Cow;
use textwrap::{Options, WordSplitter, wrap};

/// Narrower than this, sentences are hard to read; the terminal may break them.
const LEAST: usize = 40;

/// The text with its sentences wrapped at a width. Lines that are indented are tables, commands and such, and stay as they
/// are, except items of lists.
pub fn wrap_prose(text: &str, width: usize) -> String {
    let width = width.max(LEAST);
    text.split_inclusive('\n').map(|line| wrapped(line, width)).collect()
}

fn wrapped(line: &str, width: usize) -> Cow<'_, str> {
    // Names of options and files stay whole, so that they can be copied.
    let options = Options::new(width).break_words(false);
    let (sentence, end) = line.strip_suffix('\n').map_or((line, ""), |sentence| (sentence, "\n"));
    if sentence.starts_with("  - ") {
        Cow::Owned(lines(sentence, options.subsequent_indent("    ")).join("\n") + end)
    } else if sentence.starts_with(' ') {
        Cow::Borrowed(line)
    } else {
        Cow::Owned(lines(sentence, options).join("\n") + end)
    }
}

/// Stands for a space at which no line may end.
const NO_BREAK: char = '\u{a0}';

/// Longer words than this are no units.
const LONGEST_UNIT: usize = 3;

/// The lines of a text. They end between words, but never between a number and its unit: `24 %`, `3.1 µs`.
pub(crate) fn lines(text: &str, options: Options<'_>) -> Vec<String> {
    let mut kept = String::with_capacity(text.len());
    for (number, word) in text.split(' ').enumerate() {
        let is_unit = (1..=LONGEST_UNIT).contains(&word.chars().count());
        let after_digit = kept.ends_with(|letter: char| letter.is_ascii_digit());
        if number > 0 {
            kept.push(if is_unit && after_digit { NO_BREAK } else { ' ' });
        }
        kept.push_str(word);
    }
    let options = options.word_splitter(WordSplitter::NoHyphenation);
    wrap(&kept, options).into_iter().map(|line| line.replace(NO_BREAK, " ")).collect()
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
        assert_eq!(wrap_prose("", 80), "");
    }
}

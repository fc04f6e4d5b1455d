//! Reading TOML files, with errors that tell where the problem is, what it is and how to fix it.

use crate::spelling::{hint, nearest};
use serde::de::DeserializeOwned;

/// Why a text is not the expected TOML. Lines and columns count from 1, columns in characters.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}, column {column}: {fault}{}", hint(.nearest.as_deref()))]
pub struct TomlError {
    pub line: usize,
    pub column: usize,
    /// The problem, in the parser's words.
    pub fault: String,
    /// The key probably meant, if the error is an unknown key.
    pub nearest: Option<String>,
}

/// Parses a text; all its keys must be known to `T`.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, TomlError> {
    toml::from_str(text).map_err(|fault| located(&fault, text))
}

/// The line of a byte offset, counted from 1.
pub fn line(text: &str, byte: usize) -> usize {
    text.bytes().take(byte).filter(|&byte| byte == b'\n').count() + 1
}

/// The column of a byte offset in its line, counted from 1 in characters.
fn column(text: &str, byte: usize) -> usize {
    let before = text.get(..byte).unwrap_or(text);
    before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1
}

fn located(fault: &toml::de::Error, text: &str) -> TomlError {
    let start = fault.span().map_or(0, |span| span.start.min(text.len()));
    let message = fault.message();
    TomlError {
        line: line(text, start),
        column: column(text, start),
        nearest: meant(message),
        fault: message.replacen("unknown field", "unknown key", 1),
    }
}

/// The key probably meant, if the error is an unknown key. serde reports it only in its message: "unknown
/// field `x`, expected one of `a`, `b`".
fn meant(fault: &str) -> Option<String> {
    let mut quoted = fault.strip_prefix("unknown field ")?.split('`').skip(1).step_by(2);
    let unknown = quoted.next()?;
    nearest(unknown, quoted).map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        #[expect(dead_code)]
        period: u32,
    }

    #[test]
    fn errors_say_where_and_what_was_meant() {
        let told = |text: &str| read::<Sample>(text).unwrap_err().to_string();
        let unknown = told("# \u{e4}\nperod = 1\n");
        assert!(unknown.starts_with("line 2, column 1: unknown key `perod`"), "{unknown}");
        assert!(unknown.ends_with("did you mean `period`?"), "{unknown}");
        let wrong = told("period = '\u{e4}'");
        assert!(wrong.starts_with("line 1, column 10: ") && wrong.contains("u32"), "{wrong}");
        assert!(told("period = ").starts_with("line 1, column "));
        assert!(told("").contains("missing field `period`"));
        assert!(told("'\u{e4}\u{e4}' = 1, period = 2").starts_with("line 1, column "));
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_it(text in "(?s).*") {
            let _ = read::<Sample>(&text);
        }
    }
}

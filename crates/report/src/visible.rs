//! Text from files on a terminal: names of hosts, sources, programs and studies may contain anything.

use std::borrow::Cow;
use straggler_model::path_text::byte_of;

/// Makes control characters visible, so that no name moves the cursor or sets a colour. Line breaks and tabs
/// stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_layout = |c: char| matches!(c, '\n' | '\t');
    if !text.chars().any(|c| is_dangerous(c) && !is_layout(c)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_dangerous(c) && !is_layout(c) { shown.push_str(&escaped(c)) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

/// Like [`visible`], for a name within a line.
pub fn visible_name(name: &str) -> Cow<'_, str> {
    if !name.chars().any(is_dangerous) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.chars().map(|c| if is_dangerous(c) { escaped(c) } else { c.into() }).collect())
}

/// Control characters, direction overrides, and bytes of names that are not UTF-8.
fn is_dangerous(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') || byte_of(c).is_some()
}

fn escaped(c: char) -> String {
    byte_of(c).map_or_else(|| c.escape_default().to_string(), |byte| format!("\\x{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_shown_and_not_obeyed() {
        assert_eq!(visible("node\x1b[2J\x07 ü\n\tend"), "node\\u{1b}[2J\\u{7} ü\n\tend");
        assert_eq!(visible("a\u{202e}b\u{9b}31m\r"), "a\\u{202e}b\\u{9b}31m\\r");
        assert!(matches!(visible("plain Text, 3 µs\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn names_stay_on_their_line() {
        assert_eq!(visible_name("host\nerror: all is lost"), "host\\nerror: all is lost");
        assert!(matches!(visible_name("host-1"), Cow::Borrowed(_)));
    }
}

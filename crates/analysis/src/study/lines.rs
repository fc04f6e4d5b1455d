//! Finds the line of a value in a study's file.

use straggler_model::toml_file;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The line of a value of a key, counted from 1. Looks in the sweep with this number, counted from 1, then at the top
/// level, whose values a sweep inherits. If the value is not found, the line of the key's first value.
pub(super) fn line_of(text: &str, sweep: usize, key: &str, value: &str) -> Option<usize> {
    let file = DeTable::parse(text).ok()?;
    let top = file.get_ref();
    let sweeps = top.get("sweep").and_then(|list| list.get_ref().as_array());
    let own = sweeps.zip(sweep.checked_sub(1)).and_then(|(list, index)| list.get(index));
    let own = own.and_then(|sweep| sweep.get_ref().as_table());
    let given = own.and_then(|own| own.get(key)).or_else(|| top.get(key))?;
    Some(toml_file::line(text, entry(given, value).span().start))
}

/// The element of a list with this value; the first element if there is none.
fn entry<'a, 'i>(given: &'a Spanned<DeValue<'i>>, value: &str) -> &'a Spanned<DeValue<'i>> {
    let Some(list) = given.get_ref().as_array() else { return given };
    let found = list.iter().find(|one| one.get_ref().as_str().is_some_and(|text| text.trim() == value));
    found.or_else(|| list.first()).unwrap_or(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found() {
        let text = "name = 'a'\ngoal = [\n  'a.goal',\n  'b.goal',\n]\nnetwork = 'chic'\n# noise = 'x'\n\n[[sweep]]\nnoise = 'x'\n\
                    [[sweep]]\nnetwork = 'no.toml'\n";
        for (sweep, key, value, line) in [
            (0, "goal", "b.goal", Some(4)),
            (0, "goal", "other", Some(3)),
            (1, "network", "chic", Some(6)),
            (1, "noise", "x", Some(10)),
            (2, "network", "no.toml", Some(12)),
            (2, "noise", "x", None),
        ] {
            assert_eq!(line_of(text, sweep, key, value), line, "{sweep} {key} {value}");
        }
        assert_eq!(line_of("", 0, "goal", "a"), None);
        assert_eq!(line_of("[", 0, "goal", "a"), None);
    }
}

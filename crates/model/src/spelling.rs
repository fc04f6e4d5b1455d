//! Suggestions for misspelt words.

/// Returns the nearest known word, if it is near enough.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    // A single letter allows no error, a word of two letters one. Swapping two letters counts as one error.
    let limit = word.chars().count() / 2;
    known
        .into_iter()
        .filter(|candidate| !differs_in_number(&lower, &candidate.to_lowercase()))
        .map(|candidate| (strsim::osa_distance(&lower, &candidate.to_lowercase()), candidate))
        // Case decides between words that differ in nothing else, like `g` and `G`.
        .min_by_key(|&(distance, candidate)| (distance, strsim::osa_distance(word, candidate)))
        .filter(|&(distance, _)| distance <= limit)
        .map(|(_, candidate)| candidate)
}

/// Whether two words differ only in a number, like `fig5` and `fig2`: either may be meant. A missing digit at
/// the end does not count.
fn differs_in_number(one: &str, other: &str) -> bool {
    let parts = |word: &str| -> (String, String) { word.chars().partition(char::is_ascii_digit) };
    let ((digits, rest), (other_digits, other_rest)) = (parts(one), parts(other));
    rest == other_rest && !digits.starts_with(&other_digits) && !other_digits.starts_with(&digits)
}

/// The end of an error message: "; did you mean `x`?", or empty.
pub fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |word| format!("; did you mean `{word}`?"))
}

/// Like [`hint`], from a list in the form "a, b, c".
pub fn hint_of_list(word: &str, known: &str) -> String {
    hint(nearest(word, known.split(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        assert_eq!(nearest("perodic", ["none", "periodic", "poisson"]), Some("periodic"));
        assert_eq!(nearest("ot", ["to", "size"]), Some("to"));
        assert_eq!(nearest("l", ["L", "o", "g"]), Some("L"));
        assert_eq!(nearest("GG", ["g", "G"]), Some("G"));
        assert_eq!(nearest("slingshot", ["chic", "altix"]), None);
        assert_eq!(nearest("H", ["L", "o", "g"]), None);
        assert_eq!(nearest("slingshot-1", ["slingshot-11", "chic"]), Some("slingshot-11"));
        assert_eq!(nearest("sc10-fig5", ["sc10-fig2", "sc10-fig10"]), None);
    }
}

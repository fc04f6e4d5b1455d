//! Words for a shell.

/// A word in quotes where a shell would otherwise see something else in it.
pub fn quoted(word: &str) -> String {
    // An equals sign means something in the first words only, which are programs here.
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_=+,.:/@%^".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    // A zero byte is all it refuses, and no word of a shell holds one.
    shlex::try_quote(word).map_or_else(|_| word.into(), |quoted| quoted.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        let plain = "--noise=periodic:period=1ms,duration=5us";
        assert_eq!(quoted(plain), plain);
        for word in ["uniform(1us,5us)", "it's", "", "a b", "$HOME", "\"x\"", "`x`"] {
            assert_eq!(shlex::split(&quoted(word)), Some(vec![word.to_string()]));
        }
    }
}

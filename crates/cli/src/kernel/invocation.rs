//! The command line of this process, for users who want to run it again.

use crate::moved;

/// The command line, quoted for pasting into a shell. Invalid UTF-8 becomes `\u{fffd}`.
pub fn command_line() -> String {
    let (words, _) = moved::arguments();
    let words = words.iter().skip(1).map(|word| quoted(&word.to_string_lossy()));
    std::iter::once("straggler".to_string()).chain(words).collect::<Vec<_>>().join(" ")
}

/// Quotes a word if a shell would interpret it otherwise.
pub fn quoted(word: &str) -> String {
    // An equals sign is special only before the program name (an assignment), which never occurs here.
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_=+,.:/@%^".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    // Fails only on a zero byte, which no argument can contain.
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

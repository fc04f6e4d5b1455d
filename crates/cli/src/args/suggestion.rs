//! Suggestions for misspelt values where clap has none: it finds no swapped letters in short words.

use clap::Error;
use clap::error::{ContextKind, ContextValue};
use straggler_model::spelling::nearest;

/// Adds the value that was probably meant to the error.
pub fn with_value(mut error: Error) -> Error {
    let meant = match (error.get(ContextKind::InvalidValue), error.get(ContextKind::ValidValue)) {
        (Some(ContextValue::String(typed)), Some(ContextValue::Strings(valid))) => {
            nearest(typed, valid.iter().map(String::as_str)).map(String::from)
        }
        _ => None,
    };
    if let Some(value) = meant.filter(|_| error.get(ContextKind::SuggestedValue).is_none()) {
        error.insert(ContextKind::SuggestedValue, ContextValue::String(value));
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser;

    #[test]
    fn swapped_letters_are_found() {
        for (line, meant) in [
            ("straggler measure noise --method fqw", Some("fwq")),
            ("straggler measure latency --kernel tpc", Some("tcp")),
            ("straggler measure noise --method something", None),
        ] {
            let error = with_value(Cli::try_parse_from(line.split(' ')).unwrap_err());
            let text = error.to_string();
            match meant {
                Some(meant) => {
                    assert!(text.contains(&format!("a similar value exists: '{meant}'")), "{text}")
                }
                None => assert!(!text.contains("similar"), "{text}"),
            }
        }
    }
}

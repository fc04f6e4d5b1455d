//! Values that a job script can hold.

/// A value of an `#SBATCH` line. Blanks, quotes, backslashes and `#` have a special meaning to sbatch, and a newline would
/// start a command of the script.
pub fn directive(value: &str) -> Result<String, String> {
    let is_special = |c: char| c.is_whitespace() || c.is_control() || "\"'\\#".contains(c);
    match value.chars().find(|&c| is_special(c)) {
        _ if value.is_empty() => Err("it is empty".into()),
        Some(c) => Err(format!("an #SBATCH line cannot contain {c:?}: remove it")),
        None => Ok(value.into()),
    }
}

/// A word of a command of the script, where it is quoted.
pub fn text(value: &str) -> Result<String, String> {
    match value.chars().find(|c| c.is_control()) {
        _ if value.is_empty() => Err("it is empty".into()),
        Some(c) => Err(format!("a script cannot contain {c:?}: remove it")),
        None => Ok(value.into()),
    }
}

/// A time as sbatch reads it: minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes or
/// days-hours:minutes:seconds.
pub fn time_limit(value: &str) -> Result<String, String> {
    let rest = match value.split_once('-') {
        Some((days, rest)) if is_number(days) => rest,
        Some(_) => "",
        None => value,
    };
    let fields: Vec<&str> = rest.split(':').collect();
    if fields.len() <= 3 && fields.iter().all(|field| is_number(field)) {
        return Ok(value.into());
    }
    Err("write minutes (90), hours:minutes:seconds (01:30:00) or days-hours:minutes:seconds (1-12:00:00)"
        .into())
}

/// At most 6 digits: sbatch reads them into 32 bits.
fn is_number(text: &str) -> bool {
    (1..=6).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_that_sbatch_reads() {
        for good in ["90", "0", "90:00", "01:30:00", "1-12", "1-12:30", "1-12:30:00"] {
            assert_eq!(time_limit(good).as_deref(), Ok(good));
        }
        for bad in ["", "1h", "1:2:3:4", "-1", "1-", "1-2-3", "01:30:", " 90", "90\n", "1234567", "٣"] {
            assert!(time_limit(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_directive_stays_on_its_line() {
        for good in ["compute", "gpu,cpu", "a&b|[c*2]", "logs/%x-%j.out", "$HOME"] {
            assert_eq!(directive(good).as_deref(), Ok(good));
        }
        for bad in ["", "a b", "a\nrm -rf x", "a\tb", "it's", "\"", "a#b", "a\\", "\u{2028}", "\u{1b}[2J"] {
            assert!(directive(bad).is_err(), "{bad:?}");
        }
        assert!(text("a b'c").is_ok());
        assert!(text("").is_err() && text("a\nb").is_err());
    }
}

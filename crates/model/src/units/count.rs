//! Whole numbers as people write them, 1000, 1,000, 1_000, 1e6, 1M, 64Ki, 2^20, and as they read them, 1,048,576.

/// Factor of each suffix. Case does not matter: a count has no millis.
const SUFFIXES: [(&str, u128); 6] =
    [("ki", 1 << 10), ("mi", 1 << 20), ("gi", 1 << 30), ("k", 1_000), ("m", 1_000_000), ("g", 1_000_000_000)];

/// Parses a count; `None` if it is not a number or does not fit.
pub fn count(text: &str) -> Option<u64> {
    wide_count(text)?.try_into().ok()
}

/// Like [`count`], for numbers that may be too large for it: up to 2^128 - 1.
pub fn wide_count(text: &str) -> Option<u128> {
    let text = text.trim().to_ascii_lowercase();
    if let Some((base, exponent)) = text.split_once('^') {
        return digits(base)?.checked_pow(digits(exponent)?.try_into().ok()?);
    }
    if let Some((digits_of, exponent)) = text.split_once('e') {
        let factor =
            10u128.checked_pow(digits(exponent.strip_prefix('+').unwrap_or(exponent))?.try_into().ok()?)?;
        return scaled(digits_of, factor);
    }
    match SUFFIXES.iter().find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, *factor))) {
        Some((number, factor)) => scaled(number.trim_end(), factor),
        None => digits(&text),
    }
}

/// A decimal number times a factor, if the product is whole: 1.5 and 1000 give 1500.
fn scaled(text: &str, factor: u128) -> Option<u128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let part = digits(fraction)?.checked_mul(factor)?;
    let of = 10u128.checked_pow(fraction.len().try_into().ok()?)?;
    if part % of != 0 {
        return None;
    }
    digits(whole)?.checked_mul(factor)?.checked_add(part / of)
}

/// Digits, in groups of three if there are commas.
fn digits(text: &str) -> Option<u128> {
    let mut groups = text.split(',');
    let first = groups.next()?;
    let grouped = text.contains(',');
    if groups.any(|group| group.len() != 3) || (grouped && (first.is_empty() || first.len() > 3)) {
        return None;
    }
    let plain: String = text.chars().filter(|letter| !matches!(letter, ',' | '_')).collect();
    if plain.is_empty() || !plain.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    plain.parse().ok()
}

/// With a comma between thousands: `1,048,576`.
pub fn grouped(number: impl Into<u128>) -> String {
    let digits = number.into().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A decimal number with a comma between thousands: `-12,345.6`.
pub fn group_whole_part(number: &str) -> String {
    let (sign, rest) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
    let (whole, decimals) = rest.split_once('.').map_or((rest, None), |(whole, rest)| (whole, Some(rest)));
    let whole = whole.parse::<u128>().map_or_else(|_| whole.to_string(), grouped);
    match decimals {
        Some(decimals) => format!("{sign}{whole}.{decimals}"),
        None => format!("{sign}{whole}"),
    }
}

/// `1 process`, `2 processes`: the number with commas and the right word.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{} {many}", grouped(count)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        for (number, text) in [
            (0u64, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_048_576, "1,048,576"),
            (10_000_000, "10,000,000"),
        ] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(group_whole_part("-12345.6"), "-12,345.6");
        assert_eq!(counted(1, "process", "processes"), "1 process");
        assert_eq!(counted(4096, "process", "processes"), "4,096 processes");
    }

    #[test]
    fn numbers_as_people_write_them() {
        for text in ["1000000", "1,000,000", "1_000_000", "1e6", "1E6", "1M", "1m", "1000k", "1.0M"] {
            assert_eq!(count(text), Some(1_000_000), "{text}");
        }
        for (text, number) in [("64Ki", 65_536), ("2^20", 1 << 20), ("1.5k", 1_500), ("0", 0), ("12_3", 123)]
        {
            assert_eq!(count(text), Some(number), "{text}");
        }
        for text in ["", "x", "1,00", ",1", "1,0000", "-1", "1.5", "1.0005k", "1e99", "2^", "e6", "M", "_"] {
            assert_eq!(count(text), None, "{text}");
        }
    }
}

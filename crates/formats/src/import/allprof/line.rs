//! One line: its fields, exact decimals, triples and lists.

/// Parses a decimal number of microseconds into picoseconds, exactly; further digits are rounded.
pub(super) fn picoseconds(text: &str) -> Option<i128> {
    const PLACES: usize = 6;
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let decimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 24 || !decimal(whole) || !decimal(fraction) {
        return None;
    }
    let mut value: i128 = whole.parse().ok()?;
    for place in 0..PLACES {
        let digit = fraction.as_bytes().get(place).map_or(0, |byte| i128::from(byte - b'0'));
        value = value.checked_mul(10)?.checked_add(digit)?;
    }
    value += i128::from(fraction.as_bytes().get(PLACES).is_some_and(|&byte| byte >= b'5'));
    Some(if negative { -value } else { value })
}

/// Parses a time, which may be omitted as `-`.
pub(super) fn moment(text: &str) -> Option<Option<i128>> {
    if text == "-" { Some(None) } else { picoseconds(text).map(Some) }
}

/// Parses three numbers, as of a datatype or communicator. Only the last one of a datatype may be
/// invalid: the Fortran binding prints its extent uninitialised.
pub(super) fn triple(text: &str) -> Option<[u64; 3]> {
    let mut parts = text.split(',');
    let mut next = || parts.next().and_then(number);
    let all = [next()?, next()?, next()?];
    parts.next().is_none().then_some(all)
}

/// Numbers with commas between them.
pub(super) fn list(text: &str) -> Option<Vec<i64>> {
    text.split(',').map(|part| part.trim().parse().ok()).collect()
}

/// Parses a number. Handles may also be negative, since Fortran prints them as signed 32-bit numbers.
pub(super) fn number(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| text.parse::<i64>().ok().map(|signed| signed as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!(picoseconds("1237666046950106.000000"), Some(1_237_666_046_950_106_000_000));
        assert_eq!(picoseconds("3.0"), Some(3_000_000));
        assert_eq!(picoseconds("-1856.565475"), Some(-1_856_565_475));
        assert_eq!(picoseconds("0.0000014999"), Some(1));
        assert_eq!(picoseconds("0.0000015"), Some(2));
        for wrong in ["", ".", "-", ".5", "1e6", "1.2.3", "nan", "+1", "9999999999999999999999999"] {
            assert_eq!(picoseconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn triples_and_lists() {
        assert_eq!(triple("11,8,46909632806920"), Some([11, 8, 46_909_632_806_920]));
        assert_eq!(triple("1,2"), None);
        assert_eq!(triple("1,2,3,4"), None);
        assert_eq!(list("68,10,-1"), Some(vec![68, 10, -1]));
        assert_eq!(list("1,,2"), None);
    }
}

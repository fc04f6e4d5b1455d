//! Values of events, written as numbers or as strings.

use serde_json::value::RawValue;
use std::collections::HashMap;
use std::rc::Rc;

/// The text between the quotes, unparsed.
pub fn bare(raw: Option<&RawValue>) -> &str {
    raw.map_or("", |raw| raw.get().trim_matches('"'))
}

pub fn number<T: std::str::FromStr>(raw: Option<&RawValue>) -> Option<T> {
    bare(raw).parse().ok()
}

/// Interns repeated strings: names of groups, lists of ranks.
#[derive(Debug, Default)]
pub struct Texts {
    /// Keyed by the raw text, before parsing.
    known: HashMap<Box<str>, Option<Rc<str>>>,
}

impl Texts {
    /// The string, unless it is empty. Lists stay unparsed.
    pub fn intern(&mut self, raw: Option<&RawValue>) -> Option<Rc<str>> {
        let written = raw?.get();
        if let Some(known) = self.known.get(written) {
            return known.clone();
        }
        let text: String = serde_json::from_str(written).unwrap_or_else(|_| written.to_string());
        let text = Some(text).filter(|text| !text.is_empty() && text != "null").map(Rc::from);
        self.known.insert(written.into(), text.clone());
        text
    }
}

/// Microseconds in decimal digits as picoseconds, exactly.
pub fn picoseconds(raw: Option<&RawValue>) -> Option<i128> {
    let text = bare(raw);
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 20 || !plain(whole) || !plain(fraction) {
        // Exponents are rare, and parsed with the precision of a double.
        let value: f64 = text.parse().ok()?;
        return (value.abs() < 1e20).then_some((value * 1e6) as i128);
    }
    let fraction = fraction.bytes().chain(std::iter::repeat(b'0')).take(6);
    let digits = whole.bytes().chain(fraction);
    Some(sign * digits.fold(0, |value: i128, digit| value * 10 + i128::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        let ps = |text: &str| picoseconds(Some(&RawValue::from_string(text.into()).unwrap()));
        assert_eq!(ps("1694128201435418"), Some(1_694_128_201_435_418_000_000));
        assert_eq!(ps("4458676522690.655"), Some(4_458_676_522_690_655_000));
        assert_eq!(ps("0.0000019"), Some(1));
        assert_eq!(ps("-2.5"), Some(-2_500_000));
        assert_eq!(ps("\"7\""), Some(7_000_000));
        assert_eq!(ps("1e3"), Some(1_000_000_000));
        assert_eq!((ps("null"), ps("1e300"), ps("[]"), ps("\".\"")), (None, None, None, None));
    }
}

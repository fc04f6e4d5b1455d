//! Decimal numbers without floats.

/// A non-negative decimal number, `digits · 10^exponent`, kept exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    digits: u128,
    exponent: i32,
}

/// Why a text is not a decimal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    NotANumber,
    TooManyDigits,
}

impl Decimal {
    /// Limit on the significant digits of a number: enough for any 64-bit count of picoseconds.
    pub const DIGITS: usize = 24;

    /// Digits with an optional point and an optional exponent (`12`, `0.5`, `1.5e3`), no sign.
    pub fn parse(text: &str) -> Result<Decimal, Fault> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() + fraction.len() == 0 || !all_digits(whole) || !all_digits(fraction) {
            return Err(Fault::NotANumber);
        }
        let fraction = fraction.trim_end_matches('0');
        let joined = [whole, fraction].concat();
        let significant = joined.trim_start_matches('0');
        if significant.len() > Self::DIGITS {
            return Err(Fault::TooManyDigits);
        }
        let digits = significant.bytes().fold(0, |sum, byte| sum * 10 + u128::from(byte - b'0'));
        Ok(Decimal { digits, exponent: exponent - fraction.len() as i32 }.normal())
    }

    /// Removes trailing zeros from the digits.
    fn normal(mut self) -> Decimal {
        if self.digits == 0 {
            return Decimal { digits: 0, exponent: 0 };
        }
        while self.digits.is_multiple_of(10) {
            self.digits /= 10;
            self.exponent += 1;
        }
        self
    }

    pub fn is_zero(self) -> bool {
        self.digits == 0
    }

    /// `self · numerator / denominator`, rounded to the nearest integer, halves up.
    pub fn scaled(self, numerator: u128, denominator: u128) -> Option<u128> {
        let top = self.digits.checked_mul(numerator)?;
        match power_of_ten(self.exponent.unsigned_abs()) {
            Some(power) if self.exponent >= 0 => divide_round(top.checked_mul(power)?, denominator),
            Some(power) => divide_round(top, denominator.checked_mul(power)?),
            // Fewer than 39 digits divided by 10^39 or more rounds to 0.
            None if self.exponent < 0 || top == 0 => Some(0),
            None => None,
        }
    }

    /// `numerator / (self · denominator)`, rounded to the nearest integer, halves up.
    pub fn reciprocal(self, numerator: u128, denominator: u128) -> Option<u128> {
        let bottom = self.digits.checked_mul(denominator)?;
        match power_of_ten(self.exponent.unsigned_abs()) {
            Some(power) if self.exponent < 0 => divide_round(numerator.checked_mul(power)?, bottom),
            Some(power) => match bottom.checked_mul(power) {
                Some(bottom) => divide_round(numerator, bottom),
                None => Some(0),
            },
            None if self.exponent > 0 => Some(0),
            None => None,
        }
    }

    /// Whether `self · scale` is a whole number.
    pub fn is_whole_in(self, scale: u128) -> bool {
        if self.exponent >= 0 {
            return true;
        }
        match (power_of_ten(self.exponent.unsigned_abs()), self.digits.checked_mul(scale)) {
            (Some(power), Some(product)) => product.is_multiple_of(power),
            _ => false,
        }
    }

    /// One unit in the last place written, counted in 1 / `scale`: 2.44 in thousandths is 10.
    pub fn last_place(text: &str, scale: u128) -> u128 {
        let decimals = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        power_of_ten(decimals as u32).map_or(0, |power| scale / power)
    }
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (digits, shift) = match power_of_ten(self.exponent.unsigned_abs()) {
            Some(power) if self.exponent >= 0 => (self.digits.saturating_mul(power), 0),
            _ => (self.digits, self.exponent.unsigned_abs() as usize),
        };
        f.pad(&point_from_right(digits, shift))
    }
}

fn parse_exponent(text: &str) -> Result<i32, Fault> {
    // i16 keeps the sum with the number of decimals far from overflow.
    text.parse::<i16>().map(i32::from).map_err(|_| Fault::NotANumber)
}

fn power_of_ten(exponent: u32) -> Option<u128> {
    10u128.checked_pow(exponent)
}

fn divide_round(top: u128, bottom: u128) -> Option<u128> {
    let (whole, rest) = (top.checked_div(bottom)?, top % bottom);
    Some(whole + u128::from(rest >= bottom - rest))
}

/// Formats `value / 10^decimals` without trailing zeros in the fraction.
pub fn point_from_right(value: u128, decimals: usize) -> String {
    let digits = format!("{value:0>width$}", width = decimals + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    match fraction.trim_end_matches('0') {
        "" => whole.into(),
        fraction => format!("{whole}.{fraction}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_and_tools_write() {
        let read = |text| Decimal::parse(text).map(|number| number.scaled(1000, 1));
        assert_eq!(read("1.5"), Ok(Some(1500)));
        assert_eq!(read("007."), Ok(Some(7000)));
        assert_eq!(read("1.234e+02"), Ok(Some(123_400)));
        assert_eq!(read("5E-4"), Ok(Some(1)));
        assert_eq!(read("1e-300"), Ok(Some(0)));
        assert_eq!(read("1e300"), Ok(None));
        assert_eq!(read("1.000000000000000000000000000000"), Ok(Some(1000)));
        for text in ["", ".", "1.2.3", "e5", "1e", "+1", "0x1", "1_000", "١"] {
            assert_eq!(Decimal::parse(text), Err(Fault::NotANumber), "{text}");
        }
        assert_eq!(Decimal::parse("1.2345678901234567890123456"), Err(Fault::TooManyDigits));
    }

    #[test]
    fn prints_without_loss() {
        for text in ["0", "10", "0.1", "1250.25", "12000"] {
            assert_eq!(Decimal::parse(text).unwrap().to_string(), text);
        }
    }
}

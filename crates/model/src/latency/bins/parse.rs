//! Layouts as people type them: `hdr`, `hdr:8`, `fixed:100us/1000`, `log:50ns/1000`.

use super::{Bins, BinsError};
use crate::spelling::{hint, nearest};
use crate::units;
use std::str::FromStr;

impl FromStr for Bins {
    type Err = BinsError;

    fn from_str(text: &str) -> Result<Bins, BinsError> {
        let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        match (name, rest) {
            ("hdr", None) => Ok(Bins::default()),
            ("hdr", Some(bits)) => Bins::HighDynamicRange { octave_bits: number(text, bits)? }.checked(),
            ("log", rest) => {
                let (size, count) = halves(rest.unwrap_or("50ns"));
                let count = count.map_or(Ok(Bins::FIGURE_1), |count| number(text, count))?;
                Bins::logarithmic(time(text, size)?, count)
            }
            ("fixed", Some(rest)) => {
                let (longest, count) = halves(rest);
                let count = count.map_or(Ok(Bins::FIGURE_1), |count| number(text, count))?;
                Bins::fixed_width(time(text, longest)?, count)
            }
            _ => {
                let meant = nearest(name, ["hdr", "fixed", "log"]).filter(|meant| *meant != name);
                Err(BinsError::Unknown { text: text.into(), hint: hint(meant) })
            }
        }
    }
}

fn halves(text: &str) -> (&str, Option<&str>) {
    text.split_once('/').map_or((text, None), |(first, second)| (first, Some(second)))
}

fn time(text: &str, quantity: &str) -> Result<crate::Time, BinsError> {
    units::time(quantity).map_err(|fault| BinsError::Quantity { text: text.into(), fault })
}

fn number(text: &str, number: &str) -> Result<u32, BinsError> {
    number.parse().map_err(|_| BinsError::Number { text: text.into(), number: number.into() })
}

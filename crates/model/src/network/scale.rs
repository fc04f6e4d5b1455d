//! Faster and slower networks.

use super::{Link, Network, NetworkError};
use crate::units::Decimal;
use crate::{PerByte, Time};
use std::fmt;
use std::str::FromStr;

/// How many times faster a network is made, an exact decimal: 10 is ten times faster, 0.1 ten
/// times slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor(Decimal);

impl FromStr for Factor {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Factor, NetworkError> {
        match Decimal::parse(text.trim()) {
            Ok(number) if text.trim().parse().is_ok_and(|size: f64| (1e-9..=1e9).contains(&size)) => {
                Ok(Factor(number))
            }
            _ => Err(NetworkError::Factor { text: text.into() }),
        }
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Factor {
    fn shrink(self, value: u64, key: &'static str) -> Result<u64, NetworkError> {
        let shrunk = self.0.reciprocal(u128::from(value), 1).and_then(|value| u64::try_from(value).ok());
        shrunk.ok_or_else(|| NetworkError::ScaledTooFar { factor: self.to_string(), key })
    }
}

impl Link {
    fn scaled(&self, factor: Factor) -> Result<Link, NetworkError> {
        let link = Link {
            latency: Time(factor.shrink(self.latency.ps(), "L")?),
            gap: Time(factor.shrink(self.gap.ps(), "g")?),
            gap_per_byte: PerByte::from_bits(factor.shrink(self.gap_per_byte.bits(), "G")?),
            ..*self
        };
        link.check()?;
        Ok(link)
    }
}

impl Network {
    /// Returns this network made `factor` times faster: L, g and G of every link class are divided by the
    /// factor, each rounded once. The overheads o and O belong to the host and stay, and so does S. This is
    /// how Hoefler, Schneider and Lumsdaine study faster and slower networks ("Characterizing the influence
    /// of system noise on large-scale applications by simulation", SC10, section IV-B5).
    pub fn scaled(&self, factor: Factor) -> Result<Network, NetworkError> {
        let mut network = self.clone();
        network.base = self.base.scaled(factor)?;
        for level in &mut network.levels {
            level.link = level.link.scaled(factor)?;
        }
        network.name = format!("{}, {factor} times as fast", self.name);
        Ok(network)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_times_faster_divides_the_network_and_keeps_the_host() {
        let chic = Network::parse("chic").unwrap();
        let fast = chic.scaled("10".parse().unwrap()).unwrap();
        assert_eq!(fast.base.latency, Time::from_ns(533));
        assert_eq!(fast.base.gap, Time::from_ns(156));
        assert_eq!(fast.base.gap_per_byte, PerByte::from_ps(125));
        assert_eq!(fast.base.send_overhead, chic.base.send_overhead);
        assert_eq!(fast.base.eager_limit, chic.base.eager_limit);
        assert_eq!(fast.name, "chic, 10 times as fast");
        let slow = chic.scaled("0.1".parse().unwrap()).unwrap();
        assert_eq!(slow.base.latency, Time::from_ns(53_300));
        assert_eq!(chic.scaled("1".parse().unwrap()).unwrap().base, chic.base);
    }

    #[test]
    fn refuses_what_is_no_factor() {
        for text in ["0", "-1", "fast", "", "1e-30", "1e300"] {
            assert!(text.parse::<Factor>().is_err(), "{text}");
        }
        let chic = Network::parse("chic").unwrap();
        let fault = chic.scaled("0.000000001".parse().unwrap()).unwrap_err();
        assert!(matches!(fault, NetworkError::ScaledTooFar { key: "G", .. }), "{fault}");
    }
}

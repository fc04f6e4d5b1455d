//! Computation between communication, the same on all ranks or varying among them.

use straggler_model::philox::philox4x32;
use straggler_model::{Rank, Time};

/// A computation whose length may vary by rank and phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Computation {
    pub time: Time,
    pub imbalance: Imbalance,
}

/// Lengths are uniformly distributed over time · (1 ± spread). The draw depends only on seed, rank and phase,
/// so a rank computes the same for any number of processes and whichever messages are left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Imbalance {
    /// In millionths, at most a million.
    pub spread: u32,
    pub seed: u64,
}

impl Computation {
    /// Keeps these draws apart from others with the same seed.
    const STREAM: u32 = u32::from_le_bytes(*b"calc");

    /// How long a rank computes in a phase.
    #[inline(always)]
    pub fn time(&self, rank: Rank, phase: u32) -> Time {
        if self.imbalance.spread == 0 { self.time } else { self.varied(rank, phase) }
    }

    fn varied(&self, rank: Rank, phase: u32) -> Time {
        let key = [self.imbalance.seed as u32, (self.imbalance.seed >> 32) as u32];
        let draw = philox4x32([rank, phase, 0, Self::STREAM], key)[0];
        // From -2^31 up to 2^31 - 1.
        let signed = i128::from(draw) - (1 << 31);
        let change = i128::from(self.time.ps()) * i128::from(self.imbalance.spread) * signed;
        let ps = i128::from(self.time.ps()) + change / (1_000_000 << 31);
        Time(u64::try_from(ps).unwrap_or(u64::MAX))
    }

    /// Whether there is any computation.
    #[inline(always)]
    pub fn is_any(&self) -> bool {
        self.time > Time::ZERO
    }

    /// Splits off `share` millionths. Returns the part and the rest.
    pub fn split(&self, share: u32) -> (Computation, Computation) {
        let part = (u128::from(self.time.ps()) * u128::from(share) / 1_000_000) as u64;
        let rest = self.time.ps().saturating_sub(part);
        (Computation { time: Time(part), ..*self }, Computation { time: Time(rest), ..*self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_spread_evenly() {
        let imbalance = Imbalance { spread: 200_000, seed: 3 };
        let computation = Computation { time: Time(1_000_000), imbalance };
        let all: Vec<u64> = (0..10_000).map(|rank| computation.time(rank, 7).ps()).collect();
        assert!(all.iter().all(|ps| (800_000..1_200_000).contains(ps)));
        let mean = all.iter().sum::<u64>() / 10_000;
        // The mean of 10,000 draws has a standard deviation of 400,000 / √12 / 100 = 1,155.
        assert!((995_000..1_005_000).contains(&mean), "{mean}");
        assert!(all.iter().any(|&ps| ps < 804_000) && all.iter().any(|&ps| ps > 1_196_000));
        assert_ne!(computation.time(1, 1), computation.time(1, 2));
        assert_ne!(computation.time(1, 1), computation.time(2, 1));
    }

    #[test]
    fn parts_make_the_whole() {
        let computation = Computation { time: Time(1_001), ..Computation::default() };
        let (part, rest) = computation.split(333_333);
        assert_eq!((part.time, rest.time), (Time(333), Time(668)));
    }
}

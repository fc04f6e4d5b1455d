//! Rounds whose distances are the powers of a radix k: the shape of dissemination and of Bruck's
//! algorithms.
//!
//! In round i, a rank has partners at the distances j·k^i for j from 1 to k - 1 that are below the number of
//! processes, and exchanges with all of them at once (Bruck, Ho, Kipnis, Upfal and Weathersby 1997; as n-way
//! dissemination with n = k - 1: Hoefler, Mehlan, Mietke and Rehm 2006). Only the last round may have fewer
//! partners. Every partner is a stage of its own; the last stage of a round waits for the whole round.

use super::{CollectiveError, Name, at_most};
use crate::steps::MOST_STAGES;

/// All hops of a rank; the same for every rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hops {
    processes: u32,
    radix: u32,
    /// Number of partners in every round, except that the last may have fewer.
    partners: u32,
    stages: u32,
}

/// One stage of a rank: the exchange with the partner `shift` ranks away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hop {
    /// k^i, the distance that data covered in the rounds before.
    pub distance: u32,
    /// j, a digit of the distance to cover.
    pub digit: u32,
    /// j·k^i, the distance to the partner.
    pub shift: u32,
    /// In the last stage of a round: the number of partners of the round.
    pub closes: Option<u32>,
}

impl Hops {
    /// The default radix is 2.
    pub fn new(name: Name, processes: u32, radix: Option<u32>) -> Result<Hops, CollectiveError> {
        let (processes, radix) = (processes.max(1), radix.unwrap_or(2).max(2));
        let partners = (radix - 1).min(processes - 1);
        let hops = Hops { processes, radix, partners, stages: 0 };
        // The sum does not exceed the number of processes, so it fits.
        let stages = hops.distances().map(|distance| hops.partners(distance)).sum();
        // There are fewer stages than processes, so this limit holds for every radix.
        if stages >= MOST_STAGES {
            at_most(name, processes, MOST_STAGES)?;
        }
        Ok(Hops { stages, ..hops })
    }

    pub fn stages(&self) -> u32 {
        self.stages
    }

    /// The distances of all rounds.
    pub fn distances(self) -> impl Iterator<Item = u32> {
        let next = move |&distance: &u32| distance.checked_mul(self.radix);
        std::iter::successors(Some(1), next).take_while(move |&distance| distance < self.processes)
    }

    /// Number of partners in the round of a distance.
    #[inline(always)]
    fn partners(&self, distance: u32) -> u32 {
        self.partners.min((self.processes - 1) / distance)
    }

    #[inline]
    pub fn at(&self, stage: u32) -> Hop {
        let (round, digit) = (stage / self.partners, stage % self.partners + 1);
        let distance = self.radix.pow(round);
        let partners = self.partners(distance);
        Hop { distance, digit, shift: digit * distance, closes: (digit == partners).then_some(partners) }
    }

    /// Whether a round can have more than one partner.
    pub fn overlap(&self) -> bool {
        self.partners > 1
    }

    /// Number of distances after which the digit of a round repeats.
    #[inline(always)]
    pub fn turn(&self, distance: u32) -> u64 {
        u64::from(distance) * u64::from(self.radix)
    }

    /// How many distances below the number of processes have `digit` in the round of `distance`.
    #[inline]
    pub fn with_digit(&self, distance: u32, digit: u32) -> u32 {
        let turn = self.turn(distance);
        let (all, distance) = (u64::from(self.processes), u64::from(distance));
        let begun = (all % turn).saturating_sub(u64::from(digit) * distance);
        (all / turn * distance + begun.min(distance)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hops(processes: u32, radix: u32) -> Hops {
        Hops::new(Name::Bruck, processes, Some(radix)).unwrap()
    }

    #[test]
    fn the_last_round_has_only_partners_that_are_needed() {
        let shifts = |processes, radix| -> Vec<(u32, bool)> {
            let hops = hops(processes, radix);
            let at = |stage| (hops.at(stage).shift, hops.at(stage).closes.is_some());
            (0..hops.stages()).map(at).collect()
        };
        assert_eq!(shifts(5, 2), [(1, true), (2, true), (4, true)]);
        assert_eq!(shifts(7, 3), [(1, false), (2, true), (3, false), (6, true)]);
        assert_eq!(shifts(6, 3), [(1, false), (2, true), (3, true)]);
        assert_eq!(shifts(4, 40), [(1, false), (2, false), (3, true)]);
        assert_eq!(shifts(1, 2), []);
    }

    #[test]
    fn digits_are_counted() {
        for processes in 1..70u32 {
            for radix in [2, 3, 4, 5, 40] {
                let hops = hops(processes, radix);
                for hop in (0..hops.stages()).map(|stage| hops.at(stage)) {
                    let has_digit = |way: &u32| way / hop.distance % radix == hop.digit;
                    let counted = (0..processes).filter(has_digit).count() as u32;
                    assert_eq!(hops.with_digit(hop.distance, hop.digit), counted);
                }
            }
        }
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let most = hops(1 << 31, 2);
        assert_eq!((most.stages(), most.at(30).shift), (31, 1 << 30));
        assert_eq!(hops(1 << 31, 1 << 16).at(65_535).shift, 1 << 16);
        assert_eq!(hops(1 << 28, u32::MAX).stages(), (1 << 28) - 1);
        let more = Hops::new(Name::Bruck, (1 << 28) + 1, Some(u32::MAX));
        assert!(matches!(more, Err(CollectiveError::TooManyProcesses { limit: MOST_STAGES, .. })));
    }
}

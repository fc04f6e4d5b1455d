//! Pairings in which every process meets every other once: the circle method of chess tournaments.
//!
//! Tabe, Hardwick and Stout (*Statistical Analysis of Communication Time on the IBM SP2*, figure 2) pair the
//! processes of an all-to-all exchange this way, and believe that the vendor's library did the same. Let m be
//! the number of processes, less one if that is even. In step i of m, the processes i - k and i + k (mod m)
//! are partners. Process i has no partner in the circle: if the number of processes is even, it meets process
//! m, which stands outside the circle; if it is odd, it sits the step out.
//!
//! [`partner`] is the view of one process, [`pairs`] that of a whole step; a test checks that they agree.

use straggler_model::Rank;

/// Number of steps until all have met: one less than an even number of processes, equal to an odd
/// one. A single process has no partner.
pub const fn steps(processes: u32) -> u32 {
    match processes {
        0 | 1 => 0,
        even if even % 2 == 0 => even - 1,
        odd => odd,
    }
}

/// The partner of `rank` in `step`. `None` if it has none, or if the rank or step does not exist.
pub fn partner(processes: u32, rank: Rank, step: u32) -> Option<Rank> {
    let circle = steps(processes);
    if rank >= processes || step >= circle {
        return None;
    }
    if rank == circle {
        return Some(step);
    }
    if rank == step {
        return (circle < processes).then_some(circle);
    }
    // In 64 bits, as twice a step may not fit in 32.
    let opposite = (u64::from(circle) + 2 * u64::from(step) - u64::from(rank)) % u64::from(circle);
    Some(opposite as Rank)
}

/// The pairs of a step: first the one with the process outside the circle, if there is one, then
/// from the narrowest to the widest. Empty for a step that does not exist.
pub fn pairs(processes: u32, step: u32) -> Pairs {
    let circle = steps(processes);
    if step >= circle {
        return Pairs { circle, below: 0, above: 0, outside: None, left: 0 };
    }
    let outside = (circle < processes).then_some((step, circle));
    Pairs { circle, below: step, above: step, outside, left: (circle - 1) / 2 }
}

/// Iterates over the pairs of one step; see [`pairs`].
#[derive(Clone, Debug)]
pub struct Pairs {
    circle: u32,
    /// The previous pair: two ranks equally far from the middle of the step.
    below: Rank,
    above: Rank,
    outside: Option<(Rank, Rank)>,
    left: u32,
}

impl Iterator for Pairs {
    type Item = (Rank, Rank);

    #[inline]
    fn next(&mut self) -> Option<(Rank, Rank)> {
        if let Some(pair) = self.outside.take() {
            return Some(pair);
        }
        self.left = self.left.checked_sub(1)?;
        self.below = if self.below == 0 { self.circle - 1 } else { self.below - 1 };
        self.above = if self.above == self.circle - 1 { 0 } else { self.above + 1 };
        Some((self.below, self.above))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = self.left as usize + usize::from(self.outside.is_some());
        (count, Some(count))
    }
}

impl ExactSizeIterator for Pairs {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Figure 1 of the paper.
    #[test]
    fn six_processes_as_published() {
        let table = [
            [(0, 5), (1, 4), (2, 3)],
            [(1, 5), (2, 0), (3, 4)],
            [(2, 5), (3, 1), (4, 0)],
            [(3, 5), (4, 2), (0, 1)],
            [(4, 5), (0, 3), (1, 2)],
        ];
        assert_eq!(steps(6), 5);
        for (step, row) in (0..).zip(table) {
            for (one, other) in row {
                assert_eq!(partner(6, one, step), Some(other), "step {step}");
                assert_eq!(partner(6, other, step), Some(one), "step {step}");
            }
        }
    }

    #[test]
    fn everybody_meets_everybody_once() {
        for processes in 0..80u32 {
            let mut met = BTreeSet::new();
            for step in 0..steps(processes) {
                for rank in 0..processes {
                    let Some(other) = partner(processes, rank, step) else { continue };
                    assert_eq!(partner(processes, other, step), Some(rank));
                    assert_ne!(other, rank);
                    assert!(met.insert((rank, other)), "{rank} meets {other} twice among {processes}");
                }
            }
            assert_eq!(met.len() as u32, processes * processes.saturating_sub(1));
        }
    }

    #[test]
    fn one_sits_out_among_an_odd_number() {
        for processes in [3u32, 5, 17] {
            for step in 0..steps(processes) {
                let alone: Vec<u32> =
                    (0..processes).filter(|&rank| partner(processes, rank, step).is_none()).collect();
                assert_eq!(alone, [step]);
            }
        }
    }

    #[test]
    fn pairs_are_partners() {
        for processes in 0..80u32 {
            for step in 0..steps(processes) + 2 {
                let listed = pairs(processes, step);
                assert_eq!(listed.len(), if step < steps(processes) { processes as usize / 2 } else { 0 });
                for (one, other) in listed {
                    assert_eq!(partner(processes, one, step), Some(other));
                }
            }
        }
    }

    #[test]
    fn the_largest_ranks_do_not_overflow() {
        let last = u32::MAX - 1;
        assert_eq!(partner(u32::MAX, 0, last), Some(u32::MAX - 2));
        assert_eq!(partner(u32::MAX, last, last), None);
        assert_eq!(partner(4, 4, 0), None);
        assert_eq!(partner(4, 0, 3), None);
    }
}

//! Checks that an injection can be simulated.

use super::{Injection, Phases, Source, Waveform, Who};
use straggler_model::Rank;

/// Number of ranks searched for the largest share of noise, starting at each rank where some source begins or
/// ends.
const RANKS_CHECKED: u64 = 1 << 16;

/// Why sources cannot be injected.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InjectionError {
    #[error(
        "noise takes {percent:.1} % of rank {rank}'s time, so an interval that its own noise extends never \
         ends: use less noise or remove wallclock"
    )]
    NeverCloses { rank: Rank, percent: f64 },
    #[error("noise source `{name}` has ranks {first} to {last}: put the smaller first")]
    NoRanks { name: String, first: Rank, last: Rank },
    #[error(
        "noise source `{name}` is for ranks r with r mod {modulus} = {remainder}, which no rank satisfies"
    )]
    NoResidue { name: String, modulus: u32, remainder: u32 },
    #[error("{count} noise sources are too many: a run may have at most 16,777,215")]
    TooMany { count: usize },
}

impl Injection {
    /// Creates an injection. In wall-clock time, makes sure that every interval ends.
    pub fn new(sources: Vec<Source>, phases: Phases, wallclock: bool) -> Result<Injection, InjectionError> {
        // The generator of the phases has 24 bits for the source.
        if sources.len() >= 1 << 24 {
            return Err(InjectionError::TooMany { count: sources.len() });
        }
        sources.iter().try_for_each(check_ranks)?;
        let injection = Injection { sources, phases, wallclock, computation_only: false };
        if wallclock {
            let (rank, share) = injection.busiest();
            if share >= 1.0 {
                return Err(InjectionError::NeverCloses { rank, percent: share * 100.0 });
            }
        }
        Ok(injection)
    }

    /// The share of `rank`'s time that its repeating sources take.
    pub fn share(&self, rank: Rank) -> f64 {
        self.sources.iter().filter(|source| source.who.holds(rank)).map(Source::share).sum()
    }

    /// The share of the time that repeating sources take of the rank where it is largest.
    pub fn largest_share(&self) -> f64 {
        self.busiest().1
    }

    /// The rank with the largest share. From every rank where a range of ranks begins or ends, the set of
    /// sources repeats with the least common multiple of all moduli.
    fn busiest(&self) -> (Rank, f64) {
        let period = self.sources.iter().fold(1, |period, source| match source.who {
            Who::Residue { modulus, .. } => least_common_multiple(period, u64::from(modulus)),
            _ => period,
        });
        let mut bounds = vec![0];
        for source in &self.sources {
            if let Who::Ranks(first, last) = source.who {
                bounds.extend([first, last.saturating_add(1)]);
            }
        }
        bounds.sort_unstable();
        bounds.dedup();
        let count = period.min(RANKS_CHECKED) as Rank;
        let ranks = bounds.into_iter().flat_map(|bound| (0..count).map(move |i| bound.saturating_add(i)));
        ranks.map(|rank| (rank, self.share(rank))).fold(
            (0, 0.0),
            |most, next| {
                if next.1 > most.1 { next } else { most }
            },
        )
    }
}

impl Source {
    /// The share of time the source takes from a rank that it disturbs.
    pub fn share(&self) -> f64 {
        match &self.waveform {
            Waveform::Trace(detours) => detours.share(),
            Waveform::Once { .. } => 0.0,
        }
    }
}

fn check_ranks(source: &Source) -> Result<(), InjectionError> {
    let name = || source.name.clone();
    match source.who {
        Who::Ranks(first, last) if first > last => Err(InjectionError::NoRanks { name: name(), first, last }),
        Who::Residue { modulus, remainder } if remainder >= modulus => {
            Err(InjectionError::NoResidue { name: name(), modulus, remainder })
        }
        _ => Ok(()),
    }
}

fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    // Beyond the number of ranks checked the exact value no longer matters.
    (a / x * b).min(1 << 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Detours;
    use std::sync::Arc;
    use straggler_model::Time;

    fn source(duration: u64, who: Who) -> Source {
        let detours = Detours::new(&[(Time(0), Time(duration))], Some(Time(10))).unwrap();
        Source { name: "s".into(), waveform: Waveform::Trace(Arc::new(detours)), who }
    }

    fn inject(sources: Vec<Source>, wallclock: bool) -> Result<Injection, InjectionError> {
        Injection::new(sources, Phases::Drawn { seed: 0, replica: 0 }, wallclock)
    }

    #[test]
    fn too_much_noise_is_refused_only_where_it_meets() {
        let odd = Who::Residue { modulus: 2, remainder: 1 };
        let even = Who::Residue { modulus: 2, remainder: 0 };
        let third = Who::Residue { modulus: 3, remainder: 2 };
        assert!(inject(vec![source(6, odd.clone()), source(6, even)], true).is_ok());
        assert!(inject(vec![source(6, Who::Ranks(0, 4)), source(6, Who::Ranks(5, 9))], true).is_ok());
        let fault = inject(vec![source(6, odd.clone()), source(5, third)], true).unwrap_err();
        assert!(matches!(fault, InjectionError::NeverCloses { rank: 5, .. }), "{fault}");
        let fault = inject(vec![source(6, Who::Ranks(8, 9)), source(4, odd)], true).unwrap_err();
        assert!(matches!(fault, InjectionError::NeverCloses { rank: 9, .. }), "{fault}");
        assert!(inject(vec![source(12, Who::Everyone)], false).is_ok());
    }

    #[test]
    fn ranks_that_are_none_are_refused() {
        let nobody = Who::Residue { modulus: 0, remainder: 0 };
        assert!(matches!(inject(vec![source(1, nobody)], false), Err(InjectionError::NoResidue { .. })));
        assert!(matches!(
            inject(vec![source(1, Who::Ranks(3, 2))], false),
            Err(InjectionError::NoRanks { .. })
        ));
    }
}

//! All noise sources of a run, laid over its processes.

use super::Detours;
use std::sync::Arc;
use straggler_model::philox::Stream;
use straggler_model::{Rank, Time};

/// The time until which a CPU is known to be undisturbed. Engines keep one for each CPU and pass it to every
/// look-up, in order of time; most look-ups then take one comparison.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct QuietUntil(u64);

impl QuietUntil {
    /// Nothing is known yet.
    pub const UNKNOWN: QuietUntil = QuietUntil(0);
}

/// The noise interface of engines. Monomorphised, so that a run without noise pays nothing for it.
pub trait Noise: Sync {
    /// The noise that process `rank` suffers in `[from, to]`, on a CPU whose earlier look-ups all
    /// ended at or before `from`.
    fn charge(&self, rank: Rank, quiet: &mut QuietUntil, from: Time, to: Time) -> Time;
    /// Like [`Noise::charge`], while the CPU pays the overhead of a message.
    fn charge_overhead(&self, rank: Rank, quiet: &mut QuietUntil, from: Time, to: Time) -> Time;
}

/// No noise at all.
#[derive(Clone, Copy, Debug)]
pub struct Silence;

impl Noise for Silence {
    #[inline(always)]
    fn charge(&self, _: Rank, _: &mut QuietUntil, _: Time, _: Time) -> Time {
        Time::ZERO
    }
    #[inline(always)]
    fn charge_overhead(&self, _: Rank, _: &mut QuietUntil, _: Time, _: Time) -> Time {
        Time::ZERO
    }
}

/// The shape of a source in time.
#[derive(Clone, Debug, PartialEq)]
pub enum Waveform {
    /// A measured or generated trace that repeats.
    Trace(Arc<Detours>),
    /// One delay that never repeats.
    Once { at: Time, duration: Time },
}

/// The ranks a source disturbs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    Everyone,
    /// First and last rank, both included.
    Ranks(Rank, Rank),
    /// Ranks r with r mod `modulus` = `remainder`, for example to assign the traces of several cores in turn.
    Residue {
        modulus: u32,
        remainder: u32,
    },
}

impl Who {
    pub fn holds(&self, rank: Rank) -> bool {
        match *self {
            Who::Everyone => true,
            Who::Ranks(first, last) => (first..=last).contains(&rank),
            Who::Residue { modulus, remainder } => rank % modulus == remainder,
        }
    }
}

/// A rank with its last remainder. Traces of many cores that take turns over the ranks share one modulus, and
/// a division for each of them would cost more than the look-up itself.
struct Ranked {
    rank: Rank,
    modulus: u32,
    remainder: u32,
}

impl Ranked {
    fn new(rank: Rank) -> Ranked {
        Ranked { rank, modulus: 1, remainder: 0 }
    }

    /// As [`Who::holds`].
    #[inline]
    fn is_held_by(&mut self, who: &Who) -> bool {
        let Who::Residue { modulus, remainder } = *who else { return who.holds(self.rank) };
        if modulus != self.modulus {
            (self.modulus, self.remainder) = (modulus, self.rank % modulus);
        }
        self.remainder == remainder
    }
}

/// One source of noise.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    pub name: String,
    pub waveform: Waveform,
    pub who: Who,
}

/// Where in a trace each process begins.
#[derive(Clone, Debug, PartialEq)]
pub enum Phases {
    /// Uniform over the trace, drawn for each (seed, replica, rank, source).
    Drawn { seed: u64, replica: u32 },
    /// The same draw for every rank: co-scheduled noise.
    Together { seed: u64, replica: u32 },
    /// Given for every rank; a rank beyond the list begins at 0.
    Given(Arc<[Time]>),
}

/// Every source of a run, with its phases.
#[derive(Clone, Debug)]
pub struct Injection {
    pub sources: Vec<Source>,
    pub phases: Phases,
    /// Extend a disturbed interval by its own noise until it closes (off in the model's default).
    pub wallclock: bool,
    /// Whether noise falls on computation alone and spares the overheads of messages.
    pub computation_only: bool,
}

impl Injection {
    /// No source at all.
    pub const QUIET: &'static Injection = &Injection {
        sources: Vec::new(),
        phases: Phases::Drawn { seed: 0, replica: 0 },
        wallclock: false,
        computation_only: false,
    };

    /// The same sources with the phases of another replica.
    pub fn of_replica(&self, number: u32) -> Injection {
        let mut injection = self.clone();
        injection.set_replica(number);
        injection
    }

    /// Switches to the phases of a replica; given phases stay.
    pub fn set_replica(&mut self, number: u32) {
        match &mut self.phases {
            Phases::Drawn { replica, .. } | Phases::Together { replica, .. } => *replica = number,
            Phases::Given(_) => {}
        }
    }

    fn offset(&self, source: usize, length: Time, rank: Rank) -> u64 {
        match &self.phases {
            Phases::Drawn { seed, replica } => {
                Stream::new(*seed, *replica, rank, source as u32).below(length.ps())
            }
            Phases::Together { seed, replica } => {
                Stream::new(*seed, *replica, Rank::MAX, source as u32).below(length.ps())
            }
            Phases::Given(offsets) => offsets.get(rank as usize).map_or(0, |offset| offset.ps()),
        }
    }

    /// noise(from, to) summed over the sources.
    fn once(&self, rank: Rank, from: Time, to: Time) -> Time {
        let (mut sum, mut ranked) = (Time::ZERO, Ranked::new(rank));
        for (index, source) in self.sources.iter().enumerate() {
            if !ranked.is_held_by(&source.who) {
                continue;
            }
            sum += match &source.waveform {
                Waveform::Trace(detours) => {
                    let offset = self.offset(index, detours.length(), rank);
                    detours.between(from.ps().saturating_add(offset), to.ps().saturating_add(offset))
                }
                Waveform::Once { at, duration } if *at <= from => (*at + *duration).since(from),
                Waveform::Once { at, duration } if *at < to => *duration,
                Waveform::Once { .. } => Time::ZERO,
            };
        }
        sum
    }

    fn total(&self, rank: Rank, from: Time, to: Time) -> Time {
        let mut noise = self.once(rank, from, to);
        if !self.wallclock {
            return noise;
        }
        // This ends: noise grows with the interval, and `Injection::new` has checked that it grows more
        // slowly.
        loop {
            let longer = self.once(rank, from, to + noise);
            if longer == noise {
                return noise;
            }
            noise = longer;
        }
    }

    /// The time until which nothing disturbs `rank`, counting from `now`; 0 if something does at `now`.
    fn quiet_until(&self, rank: Rank, now: Time) -> u64 {
        let (mut until, mut ranked) = (u64::MAX, Ranked::new(rank));
        for (index, source) in self.sources.iter().enumerate() {
            if !ranked.is_held_by(&source.who) {
                continue;
            }
            until = until.min(match &source.waveform {
                Waveform::Trace(detours) => {
                    let offset = self.offset(index, detours.length(), rank);
                    quiet_until(detours, offset, now)
                }
                Waveform::Once { at, .. } if now < *at => at.ps(),
                Waveform::Once { at, duration } if now >= *at + *duration => u64::MAX,
                Waveform::Once { .. } => 0,
            });
        }
        until
    }

    /// Looks up a single trace, the usual case: the rank's offset is drawn once for both the noise and the
    /// next quiet time.
    fn look_up_trace(
        &self,
        detours: &Detours,
        who: &Who,
        rank: Rank,
        quiet: &mut QuietUntil,
        (from, to): (Time, Time),
    ) -> Time {
        if !who.holds(rank) {
            *quiet = QuietUntil(u64::MAX);
            return Time::ZERO;
        }
        let offset = self.offset(0, detours.length(), rank);
        // Most often no detour is near: then the first look-up answers both questions.
        let next = quiet_until(detours, offset, from);
        if next > to.ps() {
            *quiet = QuietUntil(next);
            return Time::ZERO;
        }
        let noise = detours.between(from.ps().saturating_add(offset), to.ps().saturating_add(offset));
        *quiet = QuietUntil(quiet_until(detours, offset, to + noise));
        noise
    }

    #[cold]
    #[inline(never)]
    fn look_up(&self, rank: Rank, quiet: &mut QuietUntil, from: Time, to: Time) -> Time {
        if let [Source { waveform: Waveform::Trace(detours), who, .. }] = &self.sources[..]
            && !self.wallclock
        {
            return self.look_up_trace(detours, who, rank, quiet, (from, to));
        }
        let noise = self.total(rank, from, to);
        // The CPU's next look-up begins no earlier than the end of this one, including its noise.
        *quiet = QuietUntil(self.quiet_until(rank, to + noise));
        noise
    }
}

/// The time until which a trace with this `offset` is quiet, counting from `now`; 0 if it is not at `now`.
fn quiet_until(detours: &Detours, offset: u64, now: Time) -> u64 {
    match detours.quiet_from(now.ps().saturating_add(offset)) {
        Some(u64::MAX) => u64::MAX,
        Some(next) => next - offset,
        None => 0,
    }
}

impl Noise for Injection {
    #[inline(always)]
    fn charge(&self, rank: Rank, quiet: &mut QuietUntil, from: Time, to: Time) -> Time {
        // Strictly before: a detour that starts exactly at `from` = `to` counts as in progress.
        if to.ps() < quiet.0 { Time::ZERO } else { self.look_up(rank, quiet, from, to) }
    }

    #[inline(always)]
    fn charge_overhead(&self, rank: Rank, quiet: &mut QuietUntil, from: Time, to: Time) -> Time {
        if to.ps() < quiet.0 || self.computation_only {
            Time::ZERO
        } else {
            self.look_up(rank, quiet, from, to)
        }
    }
}

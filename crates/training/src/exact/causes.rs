//! What slows a job: each cause that is known of, with its evidence and what removing it would win.

mod communication;
mod facts;
mod host;
mod lengths;
mod partition;
mod start_up;
mod workers;

use super::{At, Replays, mean};
use facts::Facts;
use lengths::Spread;
use serde::Serialize;

pub use partition::Split;

/// Causes that win less than this are not told.
const WORTH_TELLING: f64 = 0.01;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CauseKind {
    /// Some workers take longer than others that do the same.
    Workers,
    /// Stages of the pipeline have unequal work.
    Partition,
    /// Microbatches are of unequal length.
    SequenceLengths,
    /// Computing takes now longer and now shorter, and lengths do not explain it.
    Variation,
    /// Operations start late: the host is busy, or the worker begins its step late.
    LaunchDelay,
    DataLoading,
    GarbageCollection,
    Communication,
    /// The first steps take longer.
    StartUp,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Cause {
    pub kind: CauseKind,
    /// A sentence.
    pub says: String,
    pub evidence: Vec<String>,
    /// What to do about it.
    pub fix: String,
    /// The part of a step that is saved without it, and the seconds.
    pub gain: f64,
    pub seconds: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<u32>,
    /// The step that it began with, where it did not begin with the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_step: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
}

/// What is looked at.
struct Looking<'a> {
    replays: &'a Replays<'a>,
    facts: Facts,
    /// How microbatches differ.
    spread: Spread,
    /// By kind: what a transfer usually takes, in picoseconds.
    usual: Vec<i64>,
    /// The mean step, in picoseconds.
    real: f64,
}

impl Looking<'_> {
    /// What a step would win if times were as they are chosen here, in picoseconds.
    fn won(&self, choose: impl Fn(usize, &At<'_>) -> (i64, i64) + Sync) -> f64 {
        self.real - mean(&self.replays.all(choose))
    }

    /// A cause that wins so much, if that is worth telling.
    fn cause(&self, kind: CauseKind, won: f64, says: String) -> Option<Cause> {
        let gain = if self.real > 0.0 { won / self.real } else { 0.0 };
        (gain >= WORTH_TELLING).then(|| Cause {
            kind,
            says,
            evidence: Vec::new(),
            fix: String::new(),
            gain,
            seconds: won / 1e12,
            ranks: Vec::new(),
            since_step: None,
            class: None,
        })
    }
}

/// What was found.
pub struct Found {
    pub causes: Vec<Cause>,
    pub split: Option<Split>,
}

/// All causes, the largest gain first. Workers are in the order of their slowdowns.
pub fn causes(replays: &Replays<'_>, order: &[usize], layers: Option<&[u32]>) -> Found {
    let steps = replays.all(|_, at| at.real());
    let spread = Spread::of(replays);
    let looking = Looking {
        replays,
        facts: Facts::of(replays, &spread),
        spread,
        usual: communication::usual(replays),
        real: mean(&steps),
    };
    let mut causes: Vec<Cause> = Vec::new();
    causes.extend(looking.slow_workers(order));
    causes.extend(looking.partition());
    causes.extend(looking.lengths());
    causes.extend(looking.launches());
    causes.extend(looking.stalls());
    causes.extend(looking.communication());
    causes.extend(looking.start_up(&steps));
    causes.sort_by(|a, b| b.gain.total_cmp(&a.gain).then(a.kind.cmp(&b.kind)));
    Found { causes, split: layers.and_then(|layers| looking.split(layers)) }
}

/// A time for people.
fn time(picoseconds: f64) -> String {
    straggler_model::Time(picoseconds.max(0.0).round() as u64).to_string()
}

fn percent(share: f64) -> String {
    if share < 0.1 { format!("{:.1} %", 100.0 * share) } else { format!("{:.0} %", 100.0 * share) }
}

//! Converts samples of /proc to counts per core and time slice.

use super::names::Names;
use super::proc_text::{self, Counts, Waiting};
use crate::{Timebase, Worker};
use std::collections::BTreeMap;
use straggler_model::Time;

/// The texts of /proc at one instant, read while the measurement runs and parsed after it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sample {
    /// The timer at the start and end of reading, and the reader's core at both times.
    pub ticks: (u64, u64),
    pub cores: (u32, u32),
    pub interrupts: String,
    pub softirqs: String,
    pub stat: String,
    /// `schedstat` of each thread of this process.
    pub threads: Vec<(i32, String)>,
}

impl Sample {
    pub fn bytes(&self) -> usize {
        let threads: usize =
            self.threads.iter().map(|(_, text)| text.len() + size_of::<(i32, String)>()).sum();
        self.interrupts.len() + self.softirqs.len() + self.stat.len() + threads
    }
}

/// The counts of one core between two samples.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Slice {
    pub start: Time,
    pub end: Time,
    /// How long the measuring thread was runnable without its core, and how often it got it back.
    pub waited: Time,
    pub turns: u64,
    /// Time the hypervisor gave to other guests.
    pub stolen: Time,
    /// Pairs of name number and count; zero counts are left out.
    pub counts: Vec<(u32, u64)>,
}

/// Slices of all cores.
#[derive(Clone, Debug, Default)]
pub struct Slices {
    pub names: Names,
    pub cores: BTreeMap<u32, Vec<Slice>>,
    /// When the sampler itself had a core.
    pub own: BTreeMap<u32, Vec<(Time, Time)>>,
}

/// A parsed sample.
struct Counted {
    at: Time,
    counts: [BTreeMap<String, Counts>; 2],
    stolen: Counts,
    waiting: BTreeMap<i32, Waiting>,
}

impl Slices {
    /// `stat_ticks_per_second` is the unit of `/proc/stat`.
    pub fn new(
        samples: &[Sample],
        timebase: &Timebase,
        workers: &[Worker],
        stat_ticks_per_second: u64,
    ) -> Slices {
        let mut slices = Slices::default();
        let stat_tick = Time(1_000_000_000_000 / stat_ticks_per_second.max(1));
        let mut before: Option<Counted> = None;
        for sample in samples {
            slices.note_own(sample, timebase);
            let now = Counted::new(sample, timebase);
            if let Some(before) = before.filter(|before| before.at < now.at) {
                for worker in workers {
                    let slice = now.since(&before, worker, stat_tick, &mut slices.names);
                    slices.cores.entry(worker.core).or_default().push(slice);
                }
            }
            before = Some(now);
        }
        slices
    }

    /// Records when the sampler ran. If it moved to another core while reading, both were disturbed.
    fn note_own(&mut self, sample: &Sample, timebase: &Timebase) {
        let Some(end) = timebase.time(sample.ticks.1) else { return };
        let start = timebase.time(sample.ticks.0).unwrap_or(Time::ZERO);
        self.own.entry(sample.cores.0).or_default().push((start, end));
        if sample.cores.1 != sample.cores.0 {
            self.own.entry(sample.cores.1).or_default().push((start, end));
        }
    }
}

impl Counted {
    fn new(sample: &Sample, timebase: &Timebase) -> Counted {
        let middle = sample.ticks.0 + sample.ticks.1.saturating_sub(sample.ticks.0) / 2;
        let threads = sample.threads.iter();
        Counted {
            at: timebase.time(middle).unwrap_or(Time::ZERO),
            counts: [proc_text::interrupts(&sample.interrupts), proc_text::softirqs(&sample.softirqs)],
            stolen: proc_text::stolen(&sample.stat),
            waiting: threads
                .filter_map(|(thread, text)| Some((*thread, proc_text::waiting(text)?)))
                .collect(),
        }
    }

    fn since(&self, before: &Counted, worker: &Worker, stat_tick: Time, names: &mut Names) -> Slice {
        let core = worker.core;
        let mut counts = Vec::new();
        for (now, before) in self.counts.iter().zip(&before.counts) {
            for (name, row) in now {
                let count = grown(Some(row), before.get(name), core);
                if count > 0 {
                    counts.push((names.number(name), count));
                }
            }
        }
        let waiting = |counted: &Counted| counted.waiting.get(&worker.thread).copied();
        let (now, then) = (waiting(self).unwrap_or_default(), waiting(before).unwrap_or_default());
        let stolen = grown(Some(&self.stolen), Some(&before.stolen), core);
        Slice {
            start: before.at,
            end: self.at,
            waited: Time::from_ns(now.nanoseconds.saturating_sub(then.nanoseconds)),
            turns: now.turns.saturating_sub(then.turns),
            stolen: Time(stat_tick.ps().saturating_mul(stolen)),
            counts,
        }
    }
}

fn grown(now: Option<&Counts>, before: Option<&Counts>, core: u32) -> u64 {
    let count = |counts: Option<&Counts>| counts.and_then(|counts| counts.get(&core)).copied().unwrap_or(0);
    count(now).saturating_sub(count(before))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::names;

    fn sample(at: u64, ticks: u64, irqs: u64, stolen: u64, waited: u64) -> Sample {
        Sample {
            ticks: (at, at + 10),
            cores: (0, 1),
            interrupts: format!(
                "CPU0 CPU1\nLOC: {ticks} 0 Local timer interrupts\n 5: 0 {irqs} x 1-edge disk\n"
            ),
            softirqs: "CPU0 CPU1\nRCU: 1 1\n".into(),
            stat: format!("cpu0 0 0 0 0 0 0 0 {stolen} 0\n"),
            threads: vec![(70, format!("5 {waited} 9")), (71, "broken".into())],
        }
    }

    #[test]
    fn samples_become_differences() {
        let base = Timebase { start_ticks: 105, ticks_per_second: 1e9 };
        let samples = [sample(50, 5, 5, 5, 5), sample(100, 7, 5, 5, 5), sample(200, 10, 6, 7, 65)];
        let workers = [Worker { core: 0, thread: 70 }, Worker { core: 1, thread: 71 }];
        let slices = Slices::new(&samples, &base, &workers, 100);
        let tick = Slice {
            start: Time::ZERO,
            end: Time(100_000),
            waited: Time(60_000),
            turns: 0,
            stolen: Time(20_000_000_000),
            counts: vec![(0, 3)],
        };
        assert_eq!(slices.cores[&0], [tick]);
        assert_eq!(slices.cores[&1][0].counts, [(1, 1)]);
        assert_eq!(slices.names.list(), [names::TIMER_TICK, "irq 5 disk"]);
        assert_eq!(slices.own[&1], [(Time::ZERO, Time(5_000)), (Time(95_000), Time(105_000))]);
        assert!(samples[0].bytes() > 80);
    }
}

//! Counters in /proc, sampled while a measurement runs: the method that works without root.
//!
//! A thread wakes up for every time slice and stores the texts, which are parsed afterwards. That is noise
//! too, so the thread records when it had which core, and the detours it caused get its name. Memory is
//! bounded: when the texts grow too large, every other sample is dropped and slices become twice as long.

use super::SourcesError;
use super::correlate::{self, Guess};
use super::names::{self, Names};
use super::slices::{Sample, Slices};
use crate::{Timebase, Worker, machine};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use straggler_noise::NoiseRecording;
use straggler_noise::recording::{Attribution, AttributionMethod, Evidence, SourceId, UNNAMED};

/// Initial time between two samples. Shorter slices separate more, but disturb more.
const SLICE: Duration = Duration::from_millis(100);
/// Limit on the size of all texts together.
const MOST_BYTES: usize = 64 << 20;

/// A running sampler.
#[derive(Debug)]
pub struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<Vec<Sample>>,
}

/// The samples taken.
#[derive(Clone, Debug, Default)]
pub struct Sampled {
    pub samples: Vec<Sample>,
}

impl Sampler {
    pub fn begin(_cores: &[u32], ticks: fn() -> u64) -> Result<Sampler, SourcesError> {
        // Without any table there is nothing to correlate with.
        fs::metadata("/proc/stat").map_err(|source| SourcesError::NoCounters { source })?;
        let (stop, stopped) = mpsc::channel();
        let work = move || sample_until(|slice| stopped.recv_timeout(slice), ticks);
        let thread = thread::Builder::new().name("sampler".into()).spawn(work);
        let thread = thread.map_err(|source| SourcesError::NoCounters { source })?;
        Ok(Sampler { stop, thread })
    }

    pub fn end(self) -> Sampled {
        // If the sampler died, there are no samples and nothing is named.
        let _ = self.stop.send(());
        Sampled { samples: self.thread.join().unwrap_or_default() }
    }
}

fn sample_until(wait: impl Fn(Duration) -> Result<(), RecvTimeoutError>, ticks: fn() -> u64) -> Vec<Sample> {
    let mut samples = vec![sample(Path::new("/proc"), ticks)];
    let mut slice = SLICE;
    let mut bytes = samples[0].bytes();
    while let Err(RecvTimeoutError::Timeout) = wait(slice) {
        let sample = sample(Path::new("/proc"), ticks);
        bytes += sample.bytes();
        samples.push(sample);
        if bytes > MOST_BYTES {
            thin_out(&mut samples);
            bytes = samples.iter().map(Sample::bytes).sum();
            slice *= 2;
        }
    }
    samples.push(sample(Path::new("/proc"), ticks));
    samples
}

fn thin_out(samples: &mut Vec<Sample>) {
    let mut keep = false;
    samples.retain(|_| {
        keep = !keep;
        keep
    });
}

/// Missing files read as empty: not every kernel has all of them.
fn sample(proc: &Path, ticks: fn() -> u64) -> Sample {
    let core = || rustix::thread::sched_getcpu() as u32;
    let read = |file: &str| fs::read_to_string(proc.join(file)).unwrap_or_default();
    let (start, first_core) = (ticks(), core());
    let mut sample = Sample {
        interrupts: read("interrupts"),
        softirqs: read("softirqs"),
        stat: read("stat"),
        threads: threads(&proc.join("self/task")).unwrap_or_default(),
        ..Sample::default()
    };
    sample.cores = (first_core, core());
    sample.ticks = (start, ticks());
    sample
}

fn threads(directory: &Path) -> io::Result<Vec<(i32, String)>> {
    let mut threads = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let Some(thread) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        threads.push((thread, fs::read_to_string(entry.path().join("schedstat")).unwrap_or_default()));
    }
    Ok(threads)
}

impl Sampled {
    /// Names detours by the counters that rose at the same time.
    pub fn name(
        &self,
        recording: &mut NoiseRecording,
        timebase: &Timebase,
        workers: &[Worker],
    ) -> Attribution {
        let stat_ticks = rustix::param::clock_ticks_per_second();
        let slices = Slices::new(&self.samples, timebase, workers, stat_ticks);
        name_correlated(&slices, recording, machine::tick_hz());
        let hindrance = "sources are estimated from counters in /proc: to identify the source of each detour, run as \
                         root or let root mount tracefs";
        Attribution {
            method: AttributionMethod::Counters,
            hindrance: Some(hindrance.into()),
            ..Attribution::default()
        }
    }
}

/// Names the detours of every core that has slices.
pub fn name_correlated(slices: &Slices, recording: &mut NoiseRecording, tick_hz: Option<u32>) {
    let mut cores = std::mem::take(&mut recording.cores);
    for core in &mut cores {
        let Some(counted) = slices.cores.get(&core.core) else { continue };
        let own = slices.own.get(&core.core).map_or(&[][..], Vec::as_slice);
        let guesses = correlate::guess(&core.detours, own, counted, &slices.names, tick_hz);
        for (detour, guess) in core.detours.iter_mut().zip(guesses) {
            detour.source = source(guess, &slices.names, recording);
        }
    }
    recording.cores = cores;
}

fn source(guess: Guess, list: &Names, recording: &mut NoiseRecording) -> SourceId {
    match guess {
        Guess::Nothing => UNNAMED,
        Guess::Own => recording.source_id(names::SAMPLER, Evidence::Traced),
        Guess::OtherThreads => recording.source_id(names::OTHER_THREADS, Evidence::Correlated),
        Guess::Stolen => recording.source_id(names::BELOW_THE_KERNEL, Evidence::Correlated),
        Guess::Counted(number) => match list.list().get(number as usize) {
            Some(name) => recording.source_id(name, Evidence::Correlated),
            None => UNNAMED,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn memory_is_bounded_by_thinning_out() {
        let sample = |at| Sample { ticks: (at, at), ..Sample::default() };
        let mut samples: Vec<_> = (0..5).map(sample).collect();
        thin_out(&mut samples);
        assert_eq!(samples.iter().map(|sample| sample.ticks.0).collect::<Vec<_>>(), [0, 2, 4]);
    }

    #[test]
    fn samples_are_taken_until_it_is_stopped() {
        let rounds = Cell::new(3);
        let wait = |_| {
            rounds.set(rounds.get() - 1);
            if rounds.get() == 0 { Ok(()) } else { Err(RecvTimeoutError::Timeout) }
        };
        let samples = sample_until(wait, || 7);
        assert_eq!(samples.len(), 4);
        assert!(samples.iter().all(|sample| sample.ticks == (7, 7) && sample.stat.starts_with("cpu")));
    }
}

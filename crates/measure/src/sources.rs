//! The causes of noise: the kernel is observed during a measurement, and the detours are named.
//!
//! ```text
//!  tracefs ──► ftrace_text ──► spans ──► join ──────┐
//!  (events)    (lines)         (who had the core)   ├─► Recording with names
//!  counters ─► slices ──► correlate ────────────────┘
//!  (/proc)
//! ```
//! With root, every detour is joined with the kernel's trace on the same clock. Without, counters in /proc
//! are sampled while the measurement runs, and detours are named after the counters that rose in the same
//! time slices; such names are marked as guesses. Only `tracefs` and `counters` access the machine.

pub(crate) mod correlate;
pub(crate) mod counters;
pub mod ftrace_text;
pub(crate) mod join;
pub mod names;
pub(crate) mod proc_text;
pub(crate) mod processes;
pub mod rtla;
pub(crate) mod slices;
pub(crate) mod spans;
pub mod tracefs;

use crate::{Timebase, Worker};
use counters::Sampler;
use join::Observed;
use names::Names;
use spans::CoreSpans;
use std::io;
use std::path::PathBuf;
use straggler_model::Time;
use straggler_noise::NoiseRecording;
use straggler_noise::recording::{Attribution, AttributionMethod};
use tracefs::{CoreText, Events, Tie, Tracing, Watched};

/// How to observe the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Wish {
    /// The best permitted way.
    #[default]
    Auto,
    Tracepoints,
    Osnoise,
    Counters,
    Nothing,
}

/// The kernel under observation, from before a measurement until after it.
#[derive(Debug)]
pub struct Observation {
    way: Way,
    hindrance: Option<String>,
}

#[derive(Debug)]
enum Way {
    Tracing(Tracing),
    Counters(Sampler),
    Nothing,
}

/// Why the kernel cannot be observed as requested.
#[derive(Debug, thiserror::Error)]
pub enum SourcesError {
    #[error("the kernel's events cannot be read: {source}; run as root, or use --sources counters")]
    NoTracefs { source: io::Error },
    #[error(
        "cannot {what} {}: {source}; if another program is tracing, stop it, or use --sources counters",
        path.display()
    )]
    Tracefs { what: &'static str, path: PathBuf, source: io::Error },
    #[error("this kernel has no osnoise tracer (CONFIG_OSNOISE_TRACER): use --sources tracepoints")]
    NoOsnoise,
    #[error(
        "none of the kernel's trace clocks ({offered}) can be aligned with the timer: use --sources counters"
    )]
    NoClock { offered: String },
    #[error("the kernel lost the marks that align its clock with the timer: use --sources counters")]
    NoMarks,
    #[error("the counters of /proc cannot be sampled ({source}): use --sources none")]
    NoCounters { source: io::Error },
}

impl Observation {
    /// Starts observing `cores`. `ticks` reads the timer of the measurement.
    pub fn begin(wish: Wish, cores: &[u32], ticks: fn() -> u64) -> Result<Observation, SourcesError> {
        let way = match wish {
            Wish::Auto => return Self::best(cores, ticks),
            Wish::Tracepoints => Way::Tracing(Tracing::begin(Events::Tracepoints, cores, ticks)?),
            Wish::Osnoise => Way::Tracing(Tracing::begin(Events::Osnoise, cores, ticks)?),
            Wish::Counters => Way::Counters(Sampler::begin(cores, ticks)?),
            Wish::Nothing => Way::Nothing,
        };
        Ok(Observation { way, hindrance: None })
    }

    /// The osnoise tracer is not considered: tracepoints report everything that it does, and more.
    fn best(cores: &[u32], ticks: fn() -> u64) -> Result<Observation, SourcesError> {
        match Tracing::begin(Events::Tracepoints, cores, ticks) {
            Ok(tracing) => Ok(Observation { way: Way::Tracing(tracing), hindrance: None }),
            Err(reason) => {
                let way = Sampler::begin(cores, ticks).map_or(Way::Nothing, Way::Counters);
                let hindrance = format!(
                    "Sources are estimated from counters in /proc; run as root to identify the source of each detour \
                     ({reason})"
                );
                Ok(Observation { way, hindrance: Some(hindrance) })
            }
        }
    }

    /// Ends the observation and names the sources of the recording's detours. `workers` are the measuring
    /// threads: whatever ran instead of them is noise.
    pub fn end(
        self,
        recording: &mut NoiseRecording,
        timebase: &Timebase,
        workers: &[Worker],
    ) -> Result<(), SourcesError> {
        if recording.sources.is_empty() {
            recording.sources = NoiseRecording::unnamed();
        }
        let mut attribution = match self.way {
            Way::Tracing(tracing) => name_traced(&tracing.end()?, recording, timebase, workers),
            Way::Counters(sampler) => sampler.end().name(recording, timebase, workers),
            Way::Nothing => Attribution::default(),
        };
        attribution.hindrance = self.hindrance.or(attribution.hindrance);
        recording.attribution = attribution;
        Ok(())
    }
}

/// Names detours by the trace.
pub fn name_traced(
    watched: &Watched,
    recording: &mut NoiseRecording,
    timebase: &Timebase,
    workers: &[Worker],
) -> Attribution {
    let tie = Tie::new(watched.before, watched.after, timebase);
    let mut processes = watched.processes.clone();
    processes::add_ended(&mut processes, watched.cores.iter().map(|core| core.text.as_slice()));
    let mut names = Names::of_processes(processes);
    let mut lost_events = 0u64;
    let mut observed = Vec::with_capacity(watched.cores.len());
    for text in &watched.cores {
        let worker = workers.iter().find(|worker| worker.core == text.core).map(|worker| worker.thread);
        let (seen, lost) = follow(text, watched.events, worker, &tie, timebase, &mut names);
        lost_events = lost_events.saturating_add(lost);
        observed.push(seen);
    }
    let covered_ps = join::join(recording, &observed, &names);
    let method = match watched.events {
        Events::Tracepoints => AttributionMethod::Tracepoints,
        Events::Osnoise => AttributionMethod::Osnoise,
    };
    Attribution { method, hindrance: None, lost_events, covered_ps }
}

fn follow(
    text: &CoreText,
    events: Events,
    worker: Option<i32>,
    tie: &Tie,
    timebase: &Timebase,
    names: &mut Names,
) -> (Observed, u64) {
    let trace = ftrace_text::parse(&text.text);
    let resolve = match events {
        Events::Tracepoints => spans::resolve,
        Events::Osnoise => spans::resolve_net,
    };
    let found: CoreSpans = resolve(&trace.events, worker, tie.units_per_ns(), names);
    let time = |event: u64| timebase.time(tie.ticks(event));
    let mut seen = Observed::new(text.core, &found, time);
    let lost = text.lost.saturating_add(trace.lost);
    if lost > 0 {
        // The buffer keeps the first events: nothing is known after its last one.
        seen.until = trace.events.last().and_then(|event| time(event.at)).unwrap_or(Time::ZERO);
    }
    (seen, lost)
}

//! `straggler measure noise`: the timer is examined, the cores are measured, and the result is told and
//! written.

mod answer;
pub mod latency;
pub mod merge;
mod self_test;
mod words;

use crate::args::measure::Choose;
use crate::commands::{command_line, refuse_missing_folder, report};
use crate::console::Console;
use crate::exit::{Exit, Failure, Outcome};
use crate::interrupt::{self, Orderly};
use crate::memory::available_bytes;
use crate::meter::Meter;
use crate::plan::measure::{Job, Plan};
use answer::{Answer, RunAnswer};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use straggler_measure::noise::{self, MeasureError, Measured, Options};
use straggler_measure::sources::Observation;
use straggler_measure::timer::{Clock, Native};
use straggler_measure::{cores, machine, timer};
use straggler_model::Time;
use straggler_model::noise::Recording;
use straggler_model::noise::format::{self, Format};
use straggler_model::noise::recording::{Machine, Origin, Timer};
use straggler_report::numbers::{counted, memory, significant};
use straggler_report::replace_file;

pub fn run(plan: &Plan, console: &Console) -> Outcome<()> {
    let _orderly = Orderly::begin();
    plan.output.iter().chain(&plan.report).try_for_each(|path| refuse_missing_folder(path))?;
    let session = Session::prepare(plan, console)?;
    match plan.job {
        Job::SelfTest => self_test::run(&session),
        Job::OneAndAll => session.one_and_all(),
        Job::Runs { count, choose } => session.runs(count, choose),
    }
}

/// A long measurement is cut into so many batches.
const BATCHES: u64 = 5;
/// A shorter one is not cut.
const LONG_ENOUGH: Time = Time::from_ns(1_000_000_000);
/// The longest pause between batches.
const LONGEST_PAUSE: Time = Time::from_ns(5_000_000_000);

/// How much of a measurement in batches there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Batches {
    pub done: u64,
    pub asked: u64,
    /// Of one of them.
    pub length: Time,
}

impl Batches {
    /// "after 6 s of 10 s: 3 of 5 batches": said of a measurement that was stopped.
    pub fn stopped(&self) -> Option<String> {
        let of = |batches: u64| Time(batches * self.length.ps());
        let Batches { done, asked, .. } = *self;
        (done < asked).then(|| format!("after {} of {}: {done} of {asked} batches", of(done), of(asked)))
    }
}

/// A measurement for whoever wants to go on with it. What a node does in one moment says little about the next, so a
/// long one is cut into batches, with a pause of two batches after each. They are joined, so that the pauses between them
/// do not show. One that is stopped keeps the batches that are whole.
pub fn record_in_batches(plan: &Plan, console: &Console) -> Outcome<(Recording, Batches)> {
    let asked = if plan.length < LONG_ENOUGH { 1 } else { BATCHES };
    let batch = Plan { length: Time(plan.length.ps() / asked), ..plan.clone() };
    let session = Session::prepare(&batch, console)?;
    let meter = session.meter(asked);
    let first = session.attempt(&session.cores, &meter)?;
    let mut recording = first.map_err(|passed| nothing_kept(passed, plan.length, asked))?.recording;
    let mut done = 1;
    while done < asked && rest(Time(2 * batch.length.ps()).min(LONGEST_PAUSE)).is_ok() {
        let Ok(more) = session.attempt(&session.cores, &meter)? else { break };
        recording.append(&more.recording);
        done += 1;
    }
    Ok((recording, Batches { done, asked, length: batch.length }))
}

/// Stopped before there was a batch.
fn nothing_kept(passed: Time, asked: Time, batches: u64) -> Failure {
    let part = if batches > 1 { format!(", in the first of {batches} batches") } else { String::new() };
    Failure::new(
        Exit::Interrupted,
        anyhow::Error::msg(format!(
            "interrupted after {passed} of {asked}{part}: nothing was written; begin again, or give a shorter --time"
        )),
    )
}

/// Waits, unless a signal comes.
fn rest(pause: Time) -> Outcome<()> {
    let end = Instant::now() + Duration::from_nanos(pause.ps() / 1000);
    loop {
        interrupt::check()?;
        match end.saturating_duration_since(Instant::now()) {
            Duration::ZERO => return Ok(()),
            left => std::thread::sleep(left.min(Duration::from_millis(100))),
        }
    }
}

/// Counters of different cores that contradict each other are a reason to doubt the timer.
fn examine_cores(mut timer: Timer, cores: &[u32]) -> Timer {
    if let Some((core, ticks)) = timer::invariance::contradiction(cores) {
        let doubt = format!("core {core} is {ticks} ticks away from core {}", cores.first().unwrap_or(&core));
        timer.not_invariant =
            Some(timer.not_invariant.map_or(doubt.clone(), |old| format!("{old}; {doubt}")));
    }
    timer
}

struct Session<'a> {
    plan: &'a Plan,
    console: &'a Console,
    timer: Timer,
    cores: Vec<u32>,
}

/// Detours kept on each core, and for all together, unless given.
const CAPACITY: u64 = 1 << 20;
const CAPACITY_OF_ALL: usize = 1 << 25;
const BYTES_A_DETOUR: u64 = 16;

impl<'a> Session<'a> {
    /// Everything that can go wrong before the first measurement.
    fn prepare(plan: &'a Plan, console: &'a Console) -> Outcome<Session<'a>> {
        let allowed = cores::allowed().map_err(MeasureError::from)?;
        let mut cores = cores::choose(plan.cores.as_deref(), &allowed).map_err(MeasureError::from)?;
        cores.sort_unstable();
        let timer = timer::examine().map_err(|fault| Failure::bad_input(fault.to_string()))?;
        let session = Session { plan, console, timer: examine_cores(timer, &cores), cores };
        noise::check(&session.options(&session.cores), &session.timer)?;
        session.refuse_large_buffers()?;
        session.warn_of_the_machine();
        Ok(session)
    }

    fn options(&self, cores: &[u32]) -> Options {
        let share = (CAPACITY_OF_ALL / cores.len().max(1)) as u64;
        let wanted = self.plan.events.unwrap_or(0).max(CAPACITY);
        let capacity = self.plan.capacity.unwrap_or(wanted.min(share) as usize);
        Options {
            cores: cores.to_vec(),
            kernel: self.plan.kernel,
            length: self.plan.length,
            events: self.plan.events,
            capacity,
            begin_ticks: None,
        }
    }

    fn refuse_large_buffers(&self) -> Outcome<()> {
        let Options { cores, capacity, .. } = self.options(&self.cores);
        let needed = (cores.len() as u64).saturating_mul(capacity as u64).saturating_mul(BYTES_A_DETOUR);
        match available_bytes() {
            Some(available) if needed > available => Err(Failure::usage(format!(
                "buffers for {} on each core take {}, but {} are available: give a smaller --buffer",
                counted(capacity as u64, "detour", "detours"),
                memory(needed),
                memory(available)
            ))),
            _ => Ok(()),
        }
    }

    fn warn_of_the_machine(&self) {
        if let Some(doubt) = &self.timer.not_invariant {
            self.console.warn(&format!("{} may not run at one rate: {doubt}", self.timer.name));
        }
        match machine::this().cgroup_quota_cores {
            Some(quota) if quota < self.cores.len() as f64 => self.console.warn(&format!(
                "a control group allows this process the time of {} cores but {} are measured: being stopped \
                 for that will look like noise; give fewer --cores",
                significant(quota),
                self.cores.len()
            )),
            _ => {}
        }
    }

    /// One measurement that is useless unless it is whole.
    fn measure(&self, cores: &[u32], meter: &Meter) -> Outcome<Measured> {
        self.attempt(cores, meter)?.map_err(|passed| nothing_kept(passed, self.plan.length, 1))
    }

    /// One measurement, with the kernel observed meanwhile; if it was stopped, the time after which it was.
    fn attempt(&self, cores: &[u32], meter: &Meter) -> Outcome<Result<Measured, Time>> {
        let shown = self.console.may_show_progress();
        let watched = std::cell::Cell::new(0);
        let watch = |passed: Time| {
            let milliseconds = passed.min(self.plan.length).ps() / 1_000_000_000;
            meter.advance(milliseconds.saturating_sub(watched.replace(milliseconds)));
        };
        let watch: Option<&dyn Fn(Time)> = if shown { Some(&watch) } else { None };
        let machine = machine::this();
        let stolen = || machine::stolen(Path::new("/"), cores);
        let stolen_before = stolen();
        let observation = Observation::begin(self.plan.sources, cores, || Native::default().now())?;
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let mut measured = noise::measure(&self.options(cores), &self.timer, interrupt::flag(), watch)?;
        let steal_ps = stolen_before.zip(stolen()).map(|(before, after)| after.since(before).ps());
        // A measurement without names is better than none.
        let named = observation.end(&mut measured.recording, &measured.timebase, &measured.workers);
        if let Err(fault) = named {
            measured.recording.attribution.hindrance = Some(fault.to_string());
        }
        if interrupt::check().is_err() {
            let passed = measured.recording.cores.iter().map(|core| core.length).max();
            return Ok(Err(passed.unwrap_or(Time::ZERO)));
        }
        measured.recording.origin =
            Origin::Measured { version: env!("CARGO_PKG_VERSION").into(), command: command_line(), started };
        measured.recording.machine = Machine { steal_ps, ..machine };
        Ok(Ok(measured))
    }

    fn meter(&self, runs: u64) -> Meter {
        Meter::of(self.console, runs.saturating_mul(self.plan.length.ps() / 1_000_000_000), "milliseconds")
    }

    fn runs(&self, count: u32, choose: Choose) -> Outcome<()> {
        let meter = self.meter(count.into());
        let mut runs = Vec::new();
        let mut chosen: Option<(usize, Measured)> = None;
        for index in 0..count as usize {
            let measured = self.measure(&self.cores, &meter)?;
            runs.push(RunAnswer::of(&measured.recording));
            let better = match (&chosen, choose) {
                (None, _) | (_, Choose::Last) => true,
                (_, Choose::First) => false,
                (Some((best, _)), Choose::Quietest) => runs[index].overhead < runs[*best].overhead,
            };
            if better {
                chosen = Some((index, measured));
            }
        }
        drop(meter);
        let Some((index, measured)) = chosen else { return Err(MeasureError::NoCores.into()) };
        let mut answer = Answer::new(&measured);
        if count > 1 {
            (answer.runs, answer.chosen_run) = (runs, Some(index + 1));
        }
        self.finish(&answer, &measured)
    }

    fn one_and_all(&self) -> Outcome<()> {
        if self.cores.len() < 2 {
            return Err(Failure::usage(
                "--one-and-all compares one core with all: it needs at least two cores",
            ));
        }
        let meter = self.meter(2);
        let one = self.measure(self.cores.get(..1).unwrap_or_default(), &meter)?;
        let all = self.measure(&self.cores, &meter)?;
        drop(meter);
        let mut answer = Answer::new(&all);
        answer.one_core_alone = Some(Box::new(Answer::new(&one)));
        self.finish(&answer, &all)
    }

    fn finish(&self, answer: &Answer, measured: &Measured) -> Outcome<()> {
        if let Some(path) = &self.plan.output {
            write(path, measured)?;
        }
        report::write_asked(self.plan.report.as_ref(), self.console, || {
            let recording = &measured.recording;
            let name = recording.machine.host.as_deref().unwrap_or("this machine");
            report::NoiseSubject { recording, name, seed: 1 }.page()
        })?;
        if self.console.json {
            return self.console.print_json(answer);
        }
        self.console.print(&words::say(answer))?;
        if let Some(path) = &self.plan.output {
            let detours: usize = measured.recording.cores.iter().map(|core| core.detours.len()).sum();
            let detours = counted(detours as u64, "detour", "detours");
            self.console.note(&format!("{detours} written to {}", path.display()));
        }
        Ok(())
    }
}

fn write(path: &Path, measured: &Measured) -> Outcome<()> {
    let written = format::write(&measured.recording, Format::Straggler)?;
    for file in written.files {
        interrupt::or_interrupted(replace_file(path, |out| out.write_all(&file.bytes)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stopped_says_how_much_there_is() {
        let batches = |done| Batches { done, asked: 5, length: Time::from_ns(2_000_000_000) };
        assert_eq!(batches(3).stopped().as_deref(), Some("after 6 s of 10 s: 3 of 5 batches"));
        assert_eq!(batches(5).stopped(), None);
        let second = Time::from_ns(1_000_000_000);
        let text = nothing_kept(second, Time(10 * second.ps()), 5).error.to_string();
        assert!(
            text.starts_with("interrupted after 1 s of 10 s, in the first of 5 batches: nothing was written"),
            "{text}"
        );
    }
}

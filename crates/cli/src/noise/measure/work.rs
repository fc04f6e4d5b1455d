//! Measures the noise of this machine, and tests that a measurement finds injected detours (`--self-test`).

use crate::kernel::prelude::*;
use crate::{kernel::memory::available_bytes, noise::measure::Plan};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use straggler_measure::noise::{self, MeasureError, Measured, Options};
use straggler_measure::self_test::{self, Priority, SelfTest, Verdict};
use straggler_measure::timer::{self, Clock, Native};
use straggler_measure::{cores, machine, sources::Observation};
use straggler_model::provenance::{Machine, Origin, Timer};
use straggler_noise::NoiseRecording;

/// Number of batches of a long measurement.
const BATCHES: u64 = 5;
/// A shorter measurement is not split into batches.
const LONG_ENOUGH: Time = Time::from_ns(1_000_000_000);
/// The longest pause between batches.
const LONGEST_PAUSE: Time = Time::from_ns(5_000_000_000);

/// The progress of a measurement in batches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Batches {
    pub done: u64,
    pub asked: u64,
    /// Length of one batch.
    pub length: Time,
}

impl Batches {
    /// A note on the pauses that the time axis of the recording omits.
    pub fn joined(&self) -> Option<String> {
        let done = self.done;
        (done > 1).then(|| format!("{done} batches are joined; the pauses between them are omitted."))
    }

    /// "after 6 s of 10 s: 3 of 5 batches", for an interrupted measurement.
    pub fn stopped(&self) -> Option<String> {
        let of = |batches: u64| Time(batches * self.length.ps());
        let Batches { done, asked, .. } = *self;
        (done < asked).then(|| format!("after {} of {}: {done} of {asked} batches", of(done), of(asked)))
    }
}

/// Records noise for further use. What a node does at one time says little about another, so a long measurement is
/// split into batches, with a pause of two batches after each. The batches are joined, without the pauses between
/// them. An interrupted measurement keeps its complete batches.
pub fn record_in_batches(plan: &Plan, console: &Console) -> Outcome<(NoiseRecording, Batches)> {
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

/// The error for an interruption before the first batch was complete.
fn nothing_kept(passed: Time, asked: Time, batches: u64) -> Failure {
    let part = if batches > 1 { format!(", in the first of {batches} batches") } else { String::new() };
    Failure::new(
        Exit::Interrupted,
        anyhow::Error::msg(format!(
            "interrupted after {passed} of {asked}{part}: nothing was written; start again, or use a \
             shorter --time"
        )),
    )
}

/// Sleeps, unless a signal arrives.
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

/// Reports a doubt about the timer if the counters of two cores contradict each other.
fn examine_cores(mut timer: Timer, cores: &[u32]) -> Timer {
    if let Some((core, ticks)) = timer::invariance::contradiction(cores) {
        let doubt =
            format!("core {core} is {ticks} ticks apart from core {}", cores.first().unwrap_or(&core));
        timer.not_invariant =
            Some(timer.not_invariant.map_or(doubt.clone(), |old| format!("{old}; {doubt}")));
    }
    timer
}

/// A prepared measurement, with timer and cores checked.
#[derive(Debug)]
pub struct Session<'a> {
    pub plan: &'a Plan,
    pub console: &'a Console,
    pub timer: Timer,
    pub cores: Vec<u32>,
}

/// Default limit on the detours kept per core, and for all cores together.
const CAPACITY: u64 = 1 << 20;
const CAPACITY_OF_ALL: usize = 1 << 25;
const BYTES_A_DETOUR: u64 = 16;

impl<'a> Session<'a> {
    /// Does everything that can fail before the first measurement.
    pub fn prepare(plan: &'a Plan, console: &'a Console) -> Outcome<Session<'a>> {
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

    pub fn options(&self, cores: &[u32]) -> Options {
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
                "buffers for {} on each core take {}, but {} are available: use a smaller --buffer",
                counted(capacity as u64, "detour", "detours"),
                memory(needed),
                memory(available)
            ))),
            _ => Ok(()),
        }
    }

    fn warn_of_the_machine(&self) {
        if let Some(doubt) = &self.timer.not_invariant {
            self.console.warn(&format!("{} may not run at a constant rate: {doubt}", self.timer.name));
        }
        match machine::this().cgroup_quota_cores {
            Some(quota) if quota < self.cores.len() as f64 => self.console.warn(&format!(
                "the cgroup quota is {} cores, but {} are measured: throttling will look like noise; use \
                 fewer --cores",
                significant(quota),
                self.cores.len()
            )),
            _ => {}
        }
    }

    /// Makes one measurement; an interruption is an error.
    pub fn measure(&self, cores: &[u32], meter: &Meter) -> Outcome<Measured> {
        self.attempt(cores, meter)?.map_err(|passed| nothing_kept(passed, self.plan.length, 1))
    }

    /// Makes one measurement while observing the kernel. If interrupted, returns the time until then.
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
        // A measurement without source names is better than none.
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

    pub fn meter(&self, runs: u64) -> Meter {
        Meter::new(self.console, runs.saturating_mul(self.plan.length.ps() / 1_000_000_000))
    }
}

#[derive(Serialize)]
struct SelfTestAnswer {
    core: u32,
    priority: &'static str,
    injected: u64,
    found: u64,
    found_share: f64,
    switch_cost_ps: u64,
    switch_cost_range_ps: [u64; 2],
    median_error_ps: u64,
    p95_error_ps: u64,
    /// The 95th percentile of error / tolerance; the tolerance is 2 µs or 5 %, whichever is larger.
    p95_of_tolerance: Option<f64>,
    other_noise: f64,
    too_busy: bool,
    passed: bool,
}

pub fn self_test(session: &Session<'_>) -> Outcome<()> {
    // The last core, because the first one handles most interrupts.
    let core = *session.cores.last().ok_or(MeasureError::NoCores)?;
    let test = self_test::run(&session.options(&[core]), &session.timer, interrupt::flag())?;
    interrupt::check()?;
    let answer = SelfTestAnswer::new(core, &test);
    if session.console.json {
        session.console.print_json(&answer)?;
    } else {
        session.console.print(&summary(&answer, &test.verdict))?;
    }
    if answer.passed { Ok(()) } else { Err(Failure::new(Exit::CheckFailed, failed(&answer))) }
}

impl SelfTestAnswer {
    fn new(core: u32, test: &SelfTest) -> SelfTestAnswer {
        let verdict = &test.verdict;
        SelfTestAnswer {
            core,
            priority: match test.priority {
                Priority::RealTime => "real time",
                Priority::Nice => "nice",
                Priority::Ordinary => "ordinary",
            },
            injected: verdict.injected,
            found: verdict.found,
            found_share: verdict.found_share(),
            switch_cost_ps: verdict.switch_cost.ps(),
            switch_cost_range_ps: verdict.switch_cost_range.map(Time::ps),
            median_error_ps: verdict.median_error.ps(),
            p95_error_ps: verdict.p95_error.ps(),
            p95_of_tolerance: verdict.p95_of_tolerance.is_finite().then_some(verdict.p95_of_tolerance),
            other_noise: verdict.other_noise,
            too_busy: verdict.is_busy(),
            passed: verdict.passed(),
        }
    }
}

fn failed(answer: &SelfTestAnswer) -> anyhow::Error {
    if answer.injected == 0 {
        return anyhow::Error::msg("the self-test injected nothing: use a longer --time");
    }
    let what = if answer.found_share < 0.95 { "too few detours were found" } else { "durations are off" };
    let busy = match answer.too_busy {
        true => format!(
            ": other noise took {} of core {}: the machine is too busy for this test; run it on an idle \
             machine",
            percent(answer.other_noise),
            answer.core
        ),
        false if answer.priority == "ordinary" => {
            ": without permission to raise its priority (root, CAP_SYS_NICE) the injecting thread may be \
             late"
                .to_string()
        }
        false => String::new(),
    };
    anyhow::Error::msg(format!("the self-test failed, {what}{busy}"))
}

fn summary(answer: &SelfTestAnswer, verdict: &Verdict) -> String {
    let mut table = Table::new("", &["", "#"]);
    table.row(["injected detours of 20 µs and more", &grouped(answer.injected)]);
    table.row(["found", &format!("{} ({})", grouped(answer.found), percent(answer.found_share))]);
    let [low, high] = verdict.switch_cost_range;
    let cost = format!("{} ({low} to {high})", verdict.switch_cost);
    table.row(["cost of interrupt and context switches, 90th percentile", &cost]);
    table.row(["error of durations beyond it, median", &verdict.median_error.to_string()]);
    table.row(["error of durations beyond it, 95th percentile", &verdict.p95_error.to_string()]);
    if let Some(part) = answer.p95_of_tolerance {
        table.row(["the same, relative", &format!("{part:.2} of the tolerance (2 µs or 5 %)")]);
    }
    table.row(["other noise", &percent(answer.other_noise)]);
    table.row(["priority of the injecting thread", answer.priority]);
    let (verdict, lengths) = match answer {
        SelfTestAnswer { passed: true, .. } => ("Passed", ", with the right lengths"),
        SelfTestAnswer { found_share, .. } if *found_share < 0.95 => ("Failed", ""),
        _ => ("Failed", ", but too many of them with a wrong length"),
    };
    format!(
        "{verdict}: {} of the injected detours were found on core {}{lengths}.\n\n{table}",
        percent(answer.found_share),
        answer.core
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stopped_says_how_much_there_is() {
        let batches = |done| Batches { done, asked: 5, length: Time::from_ns(2_000_000_000) };
        assert_eq!(batches(3).stopped().as_deref(), Some("after 6 s of 10 s: 3 of 5 batches"));
        assert_eq!(batches(5).stopped(), None);
        let joined = "5 batches are joined; the pauses between them are omitted.";
        assert_eq!((batches(5).joined().as_deref(), batches(1).joined()), (Some(joined), None));
        let second = Time::from_ns(1_000_000_000);
        let text = nothing_kept(second, Time(10 * second.ps()), 5).error.to_string();
        assert!(
            text.starts_with("interrupted after 1 s of 10 s, in the first of 5 batches: nothing was written"),
            "{text}"
        );
    }
}

//! The JSON answer of a noise measurement.

use crate::kernel::gates::LimitAnswer;
use crate::kernel::prelude::*;
use crate::noise::words::{evidence, explained};
use straggler_analysis::noise::Explained;
use straggler_measure::noise::Measured;
use straggler_model::provenance::{Machine, Timer};
use straggler_noise::recording::{Attribution, Core, Evidence, Method, NoiseRecording, SourceName};

#[derive(Debug, Serialize)]
pub struct MeasureNoiseAnswer {
    pub method: Method,
    /// Time lost in detours, as a share of the time measured, over all cores.
    pub overhead: f64,
    /// The same including slow phases.
    pub overhead_with_slow_phases: f64,
    pub detours: u64,
    pub noise_ps: u64,
    pub length_ps: u64,
    pub cores: Vec<CoreAnswer>,
    pub timer: TimerAnswer,
    pub machine: Machine,
    pub attribution: Attribution,
    /// Shares of the noise time, by the evidence for their source.
    pub explained: Explained,
    /// The source with the most noise first.
    pub sources: Vec<SourceAnswer>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunAnswer>,
    /// Counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen_run: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_core_alone: Option<Box<MeasureNoiseAnswer>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitAnswer>,
}

#[derive(Debug, Serialize)]
pub struct CoreAnswer {
    pub core: u32,
    pub length_ps: u64,
    pub t_min_ps: u64,
    pub threshold_ps: u64,
    /// The mean undisturbed iteration: the cost of the loop.
    pub iteration_ps: f64,
    /// The highest visible frequency of noise: 1 / (2 t_min).
    pub highest_frequency_hz: f64,
    pub iterations: u64,
    pub detours: u64,
    pub noise_ps: u64,
    pub overhead: f64,
    pub longest_ps: u64,
    pub slow_phases: u64,
    /// Time in slow phases, and the part of it that was lost.
    pub slow_ps: u64,
    pub slow_lost_ps: u64,
    pub lost_detours: u64,
    pub lost_ps: u64,
}

#[derive(Debug, Serialize)]
pub struct TimerAnswer {
    #[serde(flatten)]
    pub timer: Timer,
    /// The best core's mean iteration / cost of a bare reading; none if iterations do work.
    pub loop_over_read: Option<f64>,
}

/// Summary of one of several runs.
#[derive(Debug, Serialize)]
pub struct RunAnswer {
    pub overhead: f64,
    pub detours: u64,
    pub noise_ps: u64,
    pub length_ps: u64,
}

impl RunAnswer {
    pub fn new(recording: &NoiseRecording) -> RunAnswer {
        let (noise, length) = recording.noise_and_length();
        RunAnswer {
            overhead: share(noise, length),
            detours: recording.cores.iter().map(|core| core.detours.len() as u64).sum(),
            noise_ps: noise.ps(),
            length_ps: length.ps(),
        }
    }
}

fn share(part: Time, whole: Time) -> f64 {
    if whole == Time::ZERO { 0.0 } else { part.ps() as f64 / whole.ps() as f64 }
}

impl MeasureNoiseAnswer {
    pub fn new(measured: &Measured) -> MeasureNoiseAnswer {
        let recording = &measured.recording;
        let RunAnswer { overhead, detours, noise_ps, length_ps } = RunAnswer::new(recording);
        let cores: Vec<CoreAnswer> = recording
            .cores
            .iter()
            .zip(&measured.iteration_ps)
            .map(|(core, &ps)| CoreAnswer::new(core, ps))
            .collect();
        let slow: u64 = cores.iter().map(|core| core.slow_lost_ps).sum();
        let is_tight = recording.method == Method::Detour;
        let best = measured.iteration_ps.iter().copied().fold(f64::INFINITY, f64::min);
        let loop_over_read = (is_tight && recording.timer.overhead_ps > 0 && best.is_finite())
            .then(|| best / recording.timer.overhead_ps as f64);
        MeasureNoiseAnswer {
            method: recording.method.clone(),
            overhead,
            overhead_with_slow_phases: overhead + share(Time(slow), Time(length_ps)),
            detours,
            noise_ps,
            length_ps,
            cores,
            timer: TimerAnswer { timer: recording.timer.clone(), loop_over_read },
            machine: recording.machine.clone(),
            attribution: recording.attribution.clone(),
            explained: Explained::new(recording),
            sources: SourceAnswer::all(recording),
            runs: Vec::new(),
            chosen_run: None,
            one_core_alone: None,
            limits: Vec::new(),
        }
    }

    /// The shortest undisturbed iteration of all cores.
    pub fn t_min_ps(&self) -> u64 {
        self.cores.iter().map(|core| core.t_min_ps).min().unwrap_or(0)
    }
}

impl CoreAnswer {
    fn new(core: &Core, iteration_ps: f64) -> CoreAnswer {
        let noise = core.noise();
        let longest = core.detours.iter().map(|detour| detour.duration).max().unwrap_or(Time::ZERO);
        let slow = core.phases.iter().fold(Time::ZERO, |sum, phase| sum + phase.duration);
        let lost = core.phases.iter().map(|phase| phase.duration.ps() as f64 * (1.0 - 1.0 / phase.slowdown));
        CoreAnswer {
            core: core.core,
            length_ps: core.length.ps(),
            t_min_ps: core.t_min.ps(),
            threshold_ps: core.threshold.ps(),
            iteration_ps: if iteration_ps.is_finite() { iteration_ps } else { 0.0 },
            highest_frequency_hz: highest_frequency(core.t_min),
            iterations: core.iterations,
            detours: core.detours.len() as u64,
            noise_ps: noise.ps(),
            overhead: share(noise, core.length),
            longest_ps: longest.ps(),
            slow_phases: core.phases.len() as u64,
            slow_ps: slow.ps(),
            slow_lost_ps: lost.sum::<f64>().round() as u64,
            lost_detours: core.lost.detours,
            lost_ps: core.lost.time.ps(),
        }
    }
}

/// The noise of one source.
#[derive(Debug, Serialize)]
pub struct SourceAnswer {
    pub name: String,
    pub evidence: Evidence,
    pub detours: u64,
    pub noise_ps: u64,
    pub longest_ps: u64,
    /// Share of the recorded noise.
    pub share: f64,
}

impl SourceAnswer {
    fn all(recording: &NoiseRecording) -> Vec<SourceAnswer> {
        let mut all: Vec<SourceAnswer> = recording.sources.iter().map(SourceAnswer::silent).collect();
        for detour in recording.cores.iter().flat_map(|core| &core.detours) {
            if let Some(source) = all.get_mut(usize::from(detour.source)) {
                source.detours += 1;
                source.noise_ps = source.noise_ps.saturating_add(detour.duration.ps());
                source.longest_ps = source.longest_ps.max(detour.duration.ps());
            }
        }
        let kept = recording.noise_and_length().0;
        all.retain(|source| source.detours > 0);
        all.iter_mut().for_each(|source| source.share = share(Time(source.noise_ps), kept));
        all.sort_by_key(|source| std::cmp::Reverse(source.noise_ps));
        all
    }

    fn silent(source: &SourceName) -> SourceAnswer {
        let SourceName { name, evidence } = source.clone();
        SourceAnswer { name, evidence, detours: 0, noise_ps: 0, longest_ps: 0, share: 0.0 }
    }
}

/// The highest frequency that iterations of this length can resolve, by the sampling theorem.
pub fn highest_frequency(t_min: Time) -> f64 {
    if t_min == Time::ZERO { 0.0 } else { 0.5 / t_min.seconds() }
}

pub fn summary(answer: &MeasureNoiseAnswer) -> String {
    let mut text = match &answer.one_core_alone {
        Some(one) => one_and_all(one, answer),
        None => format!("{}.\n", headline(answer)),
    };
    for line in [slow_phases(answer), lost(answer), runs(answer)].into_iter().flatten() {
        text += &line;
        text.push('\n');
    }
    format!("{text}\n{}{}\n{}", table(answer), sources(answer), timer(answer))
}

/// Most rows of the table of sources.
const MOST_SOURCES: usize = 12;

fn sources(answer: &MeasureNoiseAnswer) -> String {
    let explained = explained(&answer.explained);
    let mut text = match &answer.attribution.hindrance {
        Some(hindrance) => format!("\n{explained}{hindrance}.\n"),
        None => format!("\n{explained}"),
    };
    if answer.explained.named() > 0.0 {
        let table = Columns::over(answer.sources.iter().take(MOST_SOURCES))
            .text("source", |row| &row.name)
            .number("detours", |row| Cell::count(row.detours))
            .number("of the noise", |row| Cell::share(row.share))
            .number("longest", |row| Cell::ps(row.longest_ps))
            .text("evidence", |row| evidence(row.evidence))
            .build();
        text += &format!("\n{table}");
    }
    let rest = answer.sources.len().saturating_sub(MOST_SOURCES);
    if rest > 0 {
        text += &format!(
            "  and {} with less; `straggler noise show` lists all\n",
            counted(rest as u64, "other", "others")
        );
    }
    text
}

fn headline(answer: &MeasureNoiseAnswer) -> String {
    let cores = answer.cores.len() as u64;
    let length = answer.cores.iter().map(|core| core.length_ps).max().unwrap_or(0);
    format!(
        "Noise took {} of the time on {}: {} in {}",
        percent(answer.overhead),
        counted(cores, "core", "cores"),
        counted(answer.detours, "detour", "detours"),
        Time(length)
    )
}

/// As in Table I of the paper: serial overhead with one core in use and with all.
fn one_and_all(one: &MeasureNoiseAnswer, all: &MeasureNoiseAnswer) -> String {
    let longest =
        |answer: &MeasureNoiseAnswer| answer.cores.iter().map(|core| core.longest_ps).max().unwrap_or(0);
    let table = Columns::over([one, all])
        .number("cores in use", |row| Cell::id(row.cores.len()))
        .number("t_min", |row| Cell::ps(row.t_min_ps()))
        .number("overhead", |row| Cell::share(row.overhead))
        .number("detours", |row| Cell::count(row.detours))
        .number("longest", |row| Cell::ps(longest(row)))
        .build();
    format!(
        "Noise took {} of a core's time with one core in use, {} with all {}.\n\n{table}",
        percent(one.overhead),
        percent(all.overhead),
        all.cores.len()
    )
}

fn slow_phases(answer: &MeasureNoiseAnswer) -> Option<String> {
    let phases: u64 = answer.cores.iter().map(|core| core.slow_phases).sum();
    let extra = answer.overhead_with_slow_phases - answer.overhead;
    (phases > 0).then(|| {
        format!(
            "In addition, cores ran slower in {}, which cost another {} of the time.",
            counted(phases, "phase", "phases"),
            percent(extra)
        )
    })
}

fn lost(answer: &MeasureNoiseAnswer) -> Option<String> {
    let lost: u64 = answer.cores.iter().map(|core| core.lost_detours).sum();
    let time: u64 = answer.cores.iter().map(|core| core.lost_ps).sum();
    (lost > 0).then(|| {
        format!(
            "The buffers filled up before the end, and the recording stops there: {} ({} in total) are \
             counted but not stored; raise --buffer or --threshold.",
            counted(lost, "later detour", "later detours"),
            Time(time)
        )
    })
}

fn runs(answer: &MeasureNoiseAnswer) -> Option<String> {
    let chosen = answer.chosen_run?;
    let overheads: Vec<String> = answer.runs.iter().map(|run| percent(run.overhead)).collect();
    Some(format!("This is run {chosen} of {}: {}.", overheads.len(), overheads.join(", ")))
}

fn table(answer: &MeasureNoiseAnswer) -> Table {
    let has_lost = answer.cores.iter().any(|core| core.lost_detours > 0);
    Columns::over(&answer.cores)
        .number("core", |row| Cell::id(row.core))
        .number("length", |row| Cell::ps(row.length_ps))
        .number("t_min", |row| Cell::ps(row.t_min_ps))
        .number("threshold", |row| Cell::ps(row.threshold_ps))
        .number("iterations", |row| Cell::count(row.iterations))
        .number("detours", |row| Cell::count(row.detours))
        .number("overhead", |row| Cell::share(row.overhead))
        .number("longest", |row| Cell::ps(row.longest_ps))
        .number("slow phases", |row| Cell::count(row.slow_phases))
        .number("slow for", |row| Cell::ps(row.slow_ps))
        .each(has_lost.then_some("not recorded"), |columns, name| {
            columns.number(name, |row| Cell::count(row.lost_detours))
        })
        .build()
}

fn timer(answer: &MeasureNoiseAnswer) -> String {
    let timer = &answer.timer.timer;
    let sure = match &timer.not_invariant {
        None => "constant rate".to_string(),
        Some(doubt) => format!("rate may vary ({doubt})"),
    };
    let mut text = format!(
        "Timer: {} at {} ± {} ppm, {sure}; a reading takes {}, fenced {}; its resolution is {}.\n",
        timer.name,
        frequency_exactly(timer.ticks_per_second),
        significant(timer.rate_error_ppm),
        Time(timer.overhead_ps),
        Time(timer.fenced_overhead_ps),
        Time(timer.granularity_ps)
    );
    if answer.method == Method::Detour {
        let threshold = answer.cores.iter().map(|core| core.threshold_ps).max().unwrap_or(0);
        text += &format!("Interruptions longer than {} are detected.\n", Time(threshold));
    }
    text
}

/// A frequency in MHz, to 100 Hz.
fn frequency_exactly(hertz: f64) -> String {
    format!("{:.4} MHz", hertz / 1e6)
}

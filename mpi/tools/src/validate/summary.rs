//! What was found, for people and for programs.

use super::rounds::Kind;
use crate::args::ValidateOptions;
use crate::latency::library;
use crate::session::Session;
use anyhow::{Context, Result};
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use straggler_model::Time;
use straggler_model::replace::replace_file;
use straggler_report::Table;
use straggler_report::numbers::{percent, seconds};

/// Two runs of a case, measured and predicted.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Pair {
    pub quiet_seconds: f64,
    pub noisy_seconds: f64,
    pub predicted_quiet_seconds: f64,
    pub predicted_noisy_seconds: f64,
    /// The share of the time that the machine took from the rank it took most from, before the runs: the prediction has it.
    pub own_noise: f64,
    /// The same in the runs themselves, which the prediction does not know.
    pub own_noise_in_runs: f64,
    pub latency_seconds: f64,
    pub send_overhead_seconds: f64,
    pub recv_overhead_seconds: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct CaseAnswer {
    pub collective: Kind,
    pub work_seconds: f64,
    pub detour_seconds: f64,
    pub collectives: u32,
    /// Medians over the pairs.
    pub slowdown: f64,
    pub predicted_slowdown: f64,
    /// predicted / measured − 1.
    pub error: f64,
    /// The same of the time without detours.
    pub quiet_error: f64,
    pub own_noise: f64,
    pub own_noise_in_runs: f64,
    pub pairs: Vec<Pair>,
    pub doubts: Vec<String>,
}

/// The middle one; of an even number, the mean of the two.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        count => (values[(count - 1) / 2] + values[count / 2]) / 2.0,
    }
}

impl CaseAnswer {
    pub fn new(
        collective: Kind,
        work: Time,
        detour: Time,
        collectives: u32,
        pairs: Vec<Pair>,
        doubts: Vec<String>,
    ) -> CaseAnswer {
        let of = |value: fn(&Pair) -> f64| median(pairs.iter().map(value).collect());
        let slowdown = of(|pair| pair.noisy_seconds / pair.quiet_seconds);
        let predicted_slowdown = of(|pair| pair.predicted_noisy_seconds / pair.predicted_quiet_seconds);
        CaseAnswer {
            collective,
            work_seconds: work.seconds(),
            detour_seconds: detour.seconds(),
            collectives,
            slowdown,
            predicted_slowdown,
            error: predicted_slowdown / slowdown - 1.0,
            quiet_error: of(|pair| pair.predicted_quiet_seconds / pair.quiet_seconds) - 1.0,
            own_noise: of(|pair| pair.own_noise),
            own_noise_in_runs: of(|pair| pair.own_noise_in_runs),
            pairs,
            doubts,
        }
    }

    /// While it is measured.
    pub fn line(&self) -> String {
        format!(
            "{}, {} of work, detours of {}: {:.3} predicted, {:.3} measured",
            self.collective.name(),
            seconds(self.work_seconds),
            seconds(self.detour_seconds),
            self.predicted_slowdown,
            self.slowdown
        )
    }
}

/// The median error of the cases with and without work between the collectives.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Medians {
    pub back_to_back: Option<f64>,
    pub with_work: Option<f64>,
    pub largest: Option<f64>,
}

/// All cases.
#[derive(Debug, Serialize)]
pub struct Validation {
    pub processes: u32,
    pub nodes: u32,
    pub library: String,
    pub period_seconds: f64,
    pub repetitions: usize,
    /// Without signs.
    pub median_errors: Medians,
    pub cases: Vec<CaseAnswer>,
    pub warnings: Vec<String>,
}

/// The machine takes more than this from a rank that has a core of its own only if it is busy with something else.
const BUSY: f64 = 0.02;

impl Validation {
    pub fn new(session: &Session, options: &ValidateOptions, cases: Vec<CaseAnswer>) -> Validation {
        let errors = |keep: fn(&&CaseAnswer) -> bool| {
            let found: Vec<f64> = cases.iter().filter(keep).map(|case| case.error.abs()).collect();
            (!found.is_empty()).then(|| median(found))
        };
        let median_errors = Medians {
            back_to_back: errors(|case| case.work_seconds == 0.0),
            with_work: errors(|case| case.work_seconds > 0.0),
            largest: cases.iter().map(|case| case.error.abs()).max_by(f64::total_cmp),
        };
        Validation {
            processes: session.size,
            nodes: session.nodes(),
            library: library(),
            period_seconds: options.period.seconds(),
            repetitions: options.repetitions,
            median_errors,
            warnings: warnings(session, &cases),
            cases,
        }
    }

    /// Writes and prints the answer.
    pub fn tell(&self, path: Option<&Path>, json: bool) -> Result<()> {
        let whole = serde_json::to_string_pretty(self)?;
        if let Some(path) = path {
            replace_file(path, |file| file.write_all(whole.as_bytes()))?;
        }
        let text = if json { whole } else { self.text() };
        writeln!(std::io::stdout(), "{text}").context("cannot print")
    }

    fn text(&self) -> String {
        let error = |error: Option<f64>| error.map_or("not measured".to_owned(), percent);
        let mut lines = vec![format!(
            "The simulation predicts the slowdown by detours with a median error of {} back to back and {} with work in between; \
             the largest is {}.",
            error(self.median_errors.back_to_back),
            error(self.median_errors.with_work),
            error(self.median_errors.largest)
        )];
        lines.extend(self.warnings.iter().map(|warning| format!("warning: {warning}.")));
        lines.push(String::new());
        lines.push(self.table().to_string().trim_end().to_owned());
        lines.push(format!(
            "  {} ranks; a detour every {} at a phase of each rank's own; medians of {} pairs of runs",
            self.processes,
            seconds(self.period_seconds),
            self.repetitions
        ));
        lines.push(
            "  own noise: what the machine took from one rank at most, before the runs, which the prediction has, and in them"
                .into(),
        );
        lines.join("\n")
    }

    fn table(&self) -> Table {
        let mut table = Table::with_header([
            "collective",
            "work",
            "detour",
            "one takes",
            "predicted",
            "slowdown",
            "predicted",
            "error",
            "own noise",
        ]);
        let signed = |share: f64| format!("{:+.1} %", share * 100.0);
        for case in &self.cases {
            let one = median(case.pairs.iter().map(|pair| pair.quiet_seconds).collect())
                / f64::from(case.collectives.max(1));
            table.row([
                case.collective.name().to_owned(),
                seconds(case.work_seconds),
                seconds(case.detour_seconds),
                seconds(one),
                signed(case.quiet_error),
                format!("{:.3}", case.slowdown),
                format!("{:.3}", case.predicted_slowdown),
                signed(case.error),
                format!("{}, {}", percent(case.own_noise), percent(case.own_noise_in_runs)),
            ]);
        }
        table
    }
}

/// Why the numbers may be worse than the model is.
fn warnings(session: &Session, cases: &[CaseAnswer]) -> Vec<String> {
    let mut found = Vec::new();
    let busiest = cases.iter().map(|case| case.own_noise.max(case.own_noise_in_runs)).fold(0.0, f64::max);
    if busiest > BUSY {
        found.push(format!(
            "the machine was busy with other work, which took up to {} of a rank's time: repeat this when it is quiet",
            percent(busiest)
        ));
    }
    if session.unbound {
        found.push("the processes are not bound to a core each: use `mpirun --bind-to core`".into());
    }
    found
}

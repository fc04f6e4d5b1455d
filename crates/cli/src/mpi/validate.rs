//! `straggler mpi validate` as typed.

use crate::kernel::typed::count;
use crate::kernel::{Exit, Failure, Outcome, interrupt, to_json};
use crate::mpi::Process;
use clap::Args;
use std::path::PathBuf;
use straggler_model::Time;
use straggler_mpi::validate;
use straggler_mpi::validate::{Medians, Options, Validation};
use straggler_report::numbers::{percent, seconds};
use straggler_report::{Table, replace_file};

const EXAMPLES: &str = "\
EXAMPLES
  mpirun -n 2 --bind-to core straggler mpi validate

  mpirun -n 16 --bind-to core straggler mpi validate --detours 25us \\
      --work 0s,1ms -o validation.json";

/// Compare the simulation with real collectives on this machine
///
/// Runs barriers (dissemination), allreduces (recursive doubling) and broadcasts (binomial tree) made of its own messages,
/// with detours injected into the ranks at known times. Simulates the same runs with LogGP parameters measured in between,
/// the same detours, and those of the machine itself. Prints the predicted and the measured slowdown of every case. Each
/// rank needs a core of its own.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Validate {
    /// Approximate length of each run, with and without detours
    #[arg(long, value_name = "TIME", default_value = "30ms")]
    pub length: Time,
    /// Repetitions of each case, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = count::<usize>(1..=100_000))]
    pub repetitions: usize,
    /// Lengths of the detours, each a case of its own
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', default_value = "16us,50us,100us,200us")]
    pub detours: Vec<Time>,
    /// Time from one detour of a rank to the next
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub period: Time,
    /// Work of a rank between two collectives; 0s means back to back
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', default_value = "0s,100us")]
    pub work: Vec<Time>,
    /// Write the JSON object to a file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl Validate {
    pub fn options(self, seed: u64) -> Options {
        Options {
            length: self.length,
            repetitions: self.repetitions,
            detours: self.detours,
            period: self.period,
            work: self.work,
            seed,
            output: self.output,
        }
    }
}

pub fn run(process: &Process<'_>, typed: Validate) -> anyhow::Result<Outcome<()>> {
    let options = typed.options(process.common.seed);
    let answer = validate::run(&process.session, &options, &|text| process.note(text))?;
    let write = || {
        if let Some(path) = &options.output {
            let json = to_json(&answer)?;
            replace_file(path, |out| out.write_all(json.as_bytes()))?;
        }
        if process.console.json {
            process.console.print_json(&answer)?;
        } else {
            process.console.print(&(text(&answer) + "\n"))?;
        }
        let text = "interrupted: these are the cases so far";
        interrupt::check().map_err(|_| Failure::new(Exit::Interrupted, anyhow::Error::msg(text)))
    };
    Ok(if process.session.is_first() { write() } else { Ok(()) })
}

fn text(answer: &Validation) -> String {
    let mut lines = vec![match medians(&answer.median_errors) {
        Some(errors) => {
            format!("The simulation predicts the slowdown from detours with a median error of {errors}.")
        }
        None => "Nothing was validated: other work on the machine disturbed the measurement of the network, so no \
                 run could be predicted. Validate on an idle machine."
            .into(),
    }];
    let pairs: usize = answer.cases.iter().map(|case| case.pairs.len()).sum();
    let alone: usize = answer.cases.iter().filter_map(|case| Some(case.undisturbed?.pairs)).sum();
    if pairs > 0 && alone == 0 {
        lines.push(
            "Other work on the machine disturbed every pair of runs: the errors reflect it more than the simulation."
                .into(),
        );
    } else if let Some(errors) = medians(&answer.median_errors_undisturbed).filter(|_| alone < pairs) {
        lines.push(format!("In the {alone} of {pairs} pairs of runs that were not disturbed: {errors}."));
    }
    lines.extend(answer.warnings.iter().map(|warning| format!("warning: {warning}.")));
    lines.push(String::new());
    lines.push(table(answer).to_string().trim_end().to_owned());
    lines.push(format!(
        "  {} ranks; a detour every {}, at a phase that differs by rank; medians of {} pairs of runs",
        answer.processes,
        seconds(answer.period_seconds),
        answer.repetitions
    ));
    lines.push(
        "  own noise: the largest share of a rank's time taken by the machine, before the runs (part of the prediction) and \
         during them\n  \
         undisturbed: the error of the pairs of runs from which the machine took at most 2 %, and their number"
            .into(),
    );
    lines.join("\n")
}

fn table(answer: &Validation) -> Table {
    let mut table = Table::with_header([
        "collective",
        "work",
        "detour",
        "time",
        "predicted",
        "slowdown",
        "predicted",
        "error",
        "own noise",
        "undisturbed",
    ]);
    let signed = |share: f64| format!("{:+.1} %", share * 100.0);
    for case in &answer.cases {
        let mut row =
            vec![case.collective.name().to_owned(), seconds(case.work_seconds), seconds(case.detour_seconds)];
        row.extend(match &case.all {
            Some(all) => [
                seconds(all.quiet_seconds / f64::from(case.collectives.max(1))),
                signed(all.quiet_error),
                format!("{:.3}", all.slowdown),
                format!("{:.3}", all.predicted_slowdown),
                signed(all.error),
                format!("{}, {}", percent(all.own_noise), percent(all.own_noise_in_runs)),
            ],
            None => ["", "", "", "", "not predicted", ""].map(str::to_owned),
        });
        let alone = case.undisturbed.map(|alone| format!("{} ({})", signed(alone.error), alone.pairs));
        row.push(alone.unwrap_or_else(|| "none".into()));
        table.row(row);
    }
    table
}

/// None if no run was predicted.
fn medians(errors: &Medians) -> Option<String> {
    let largest = errors.largest?;
    let kinds = [(errors.back_to_back, "back to back"), (errors.with_work, "with work in between")];
    let kinds: Vec<String> =
        kinds.iter().filter_map(|(error, kind)| Some(format!("{} {kind}", percent((*error)?)))).collect();
    Some(format!("{}; the largest is {}", kinds.join(" and "), percent(largest)))
}

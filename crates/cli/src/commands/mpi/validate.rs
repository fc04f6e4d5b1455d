//! `straggler mpi validate`: the file that the first process writes, and what it prints.

use super::Process;
use crate::args::mpi::validate::Validate;
use crate::console::to_json;
use crate::exit::{Exit, Failure, Outcome};
use crate::interrupt;
use straggler_mpi::validate::{self, Medians, Validation};
use straggler_report::numbers::{percent, seconds};
use straggler_report::{Table, replace_file};

pub fn run(process: &Process<'_>, typed: Validate) -> anyhow::Result<Outcome<()>> {
    let options = typed.options(process.common.seed);
    let answer = validate::run(&process.session, &options, &|text| process.tell(text))?;
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

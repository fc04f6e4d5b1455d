//! `straggler measure latency`: runs the kernel, prints and writes the distributions.

mod answer;
mod words;

use crate::console::Console;
use crate::exit::{Exit, Failure, Outcome};
use crate::interrupt::{self, Orderly};
use crate::invocation::command_line;
use crate::meter::Meter;
use crate::places::refuse_missing_folder;
use crate::plan::latency::{Measure, Plan};
use crate::token;
use answer::MeasureLatencyAnswer;
use serde::Serialize;
use straggler_measure::latency::{Kernel, Options, Server, Watch, measure};
use straggler_measure::noise::MeasureError;
use straggler_measure::{cores, timer};
use straggler_model::latency::{Measurement, write};
use straggler_report::numbers::counted;

pub fn run(plan: &Plan, console: &Console) -> Outcome<()> {
    match plan {
        Plan::Measure(plan) => measure_and_tell(plan, console),
        Plan::Listen { address, token, cores } => {
            if let Some(list) = cores {
                pin_to_first(list)?;
            }
            listen(address, token.clone(), console)
        }
    }
}

/// The answering side runs on the first core of the list.
fn pin_to_first(list: &[u32]) -> Outcome<()> {
    let allowed = cores::allowed().map_err(MeasureError::from)?;
    let chosen = cores::choose(Some(list), &allowed).map_err(MeasureError::from)?;
    chosen.first().map_or(Ok(()), |&core| cores::pin(core)).map_err(MeasureError::from)?;
    Ok(())
}

fn measure_and_tell(plan: &Measure, console: &Console) -> Outcome<()> {
    let _orderly = Orderly::begin();
    plan.output.iter().try_for_each(|path| refuse_missing_folder(path))?;
    let allowed = cores::allowed().map_err(MeasureError::from)?;
    let cores = cores::choose(plan.cores.as_deref(), &allowed).map_err(MeasureError::from)?;
    let timer = timer::examine().map_err(|fault| Failure::bad_input(fault.to_string()))?;
    let options = Options {
        kernel: plan.kernel.clone(),
        sizes: plan.sizes.clone(),
        cores,
        effort: plan.effort,
        bins: plan.bins,
    };
    if let Kernel::Command { .. } = &plan.kernel {
        let runs = counted(plan.effort.warm_up(), "run that does", "runs that do");
        console.note(&format!("Warm-up: {runs} not count."));
    }
    let meter = Meter::of(console, options.trials(), "trials");
    let watch = Watch { stop: interrupt::flag(), progress: &|more| meter.advance(more) };
    let measurement = measure(&options, &without_token(&plan.kernel, command_line()), &timer, watch);
    drop(meter);
    finish(plan, &measurement, console)
}

/// Hides the token of a listening host.
fn without_token(kernel: &Kernel, command: String) -> String {
    match kernel {
        Kernel::Tcp { remote: Some(remote) } if !remote.token.is_empty() => {
            command.replace(&remote.token, "TOKEN")
        }
        _ => command,
    }
}

/// Writes and prints the measurement, even if it is incomplete.
fn finish(plan: &Measure, measurement: &Measurement, console: &Console) -> Outcome<()> {
    let is_empty = measurement.series.is_empty();
    if let Some(path) = plan.output.as_ref().filter(|_| !is_empty) {
        write(path, measurement)?;
    }
    if !is_empty {
        match console.json {
            true => console.print_json(&MeasureLatencyAnswer::new(measurement))?,
            false => {
                // A measurement that ended early is an error below.
                measurement
                    .doubts()
                    .iter()
                    .skip(measurement.interruptions.len())
                    .for_each(|doubt| console.warn(doubt));
                console.print(&words::say(measurement))?;
            }
        }
    }
    let Some(reason) = measurement.interruptions.first() else {
        if let Some(path) = &plan.output {
            let series = counted(measurement.series.len() as u64, "distribution", "distributions");
            console.note(&format!("{series} written to {}", path.display()));
        }
        return Ok(());
    };
    let kept = match (&plan.output, is_empty) {
        (_, true) => "nothing was measured".to_string(),
        (Some(path), false) => format!("the measurement so far is in {}", path.display()),
        (None, false) => "the measurement so far is above; -o FILE would save it".to_string(),
    };
    let exit = if interrupt::check().is_err() { Exit::Interrupted } else { Exit::BadInput };
    Err(Failure::new(exit, anyhow::Error::msg(format!("{reason}; {kept}"))))
}

#[derive(Serialize)]
struct ListenAnswer<'a> {
    address: String,
    token: &'a str,
    command: &'a str,
}

/// Answers clients until a signal ends the program.
fn listen(address: &str, token: Option<String>, console: &Console) -> Outcome<()> {
    let token = token.map_or_else(token::token, Ok)?;
    interrupt::expect();
    let bound = Server::bind(address, token.clone()).and_then(|server| {
        let address = server.address().map_err(|fault| straggler_measure::latency::ServerError::Address {
            address: address.into(),
            fault,
        })?;
        Ok((server, address.to_string()))
    });
    let (server, address) = bound.map_err(|fault| Failure::new(Exit::Usage, fault))?;
    let command = format!("straggler measure latency --kernel tcp --connect {address} --token {token}");
    match console.json {
        true => console.print_json(&ListenAnswer { address, token: &token, command: &command })?,
        false => {
            console.print_verbatim(&format!("{command}\n"))?;
            console.note(
                "Run this on the other host; an address that begins with 127. works on this host only. \
                 Press Ctrl-C to stop.",
            );
        }
    }
    server.serve(interrupt::flag());
    Ok(())
}

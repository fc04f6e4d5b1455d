//! `straggler training convert`: a job as a trace.

use crate::args::training::Convert;
use crate::console::Console;
use crate::exit::{Failure, Outcome};
use crate::inputs::training as files;
use serde::Serialize;
use straggler_model::units::Bytes;
use straggler_report::numbers::{counted, seconds};
use straggler_training::{Sizes, trace};

#[derive(Serialize)]
struct TrainingConvertAnswer {
    output: String,
    ranks: u64,
    calls: u64,
    seconds: f64,
    activations_bytes: u64,
    gradients_bytes: u64,
    /// Whether either size was guessed from how long transfers took, and which.
    guessed: bool,
    activations_guessed: bool,
    gradients_guessed: bool,
    synthetic: bool,
    warnings: Vec<String>,
}

pub fn run(typed: &Convert, console: &Console) -> Outcome<()> {
    let job = files::job(&typed.files)?;
    let guess = Sizes::guessed(&job);
    let sizes = Sizes {
        activations: typed.activations.unwrap_or(guess.activations),
        gradients: typed.gradients.unwrap_or(guess.gradients),
    };
    let trace = trace(&job, sizes).map_err(Failure::bad_input_of)?;
    straggler_trace::format::save::save(&trace, &typed.output).map_err(|fault| {
        Failure::bad_input(format!("{} cannot be written: {fault}; use another -o", typed.output.display()))
    })?;
    let calls = || trace.ranks.iter().flat_map(|rank| &rank.calls);
    let answer = TrainingConvertAnswer {
        output: typed.output.display().to_string(),
        ranks: trace.ranks.len() as u64,
        calls: calls().count() as u64,
        seconds: calls().map(|call| call.exit.seconds()).fold(0.0, f64::max),
        activations_bytes: sizes.activations,
        gradients_bytes: sizes.gradients,
        guessed: typed.activations.is_none() || typed.gradients.is_none(),
        activations_guessed: typed.activations.is_none(),
        gradients_guessed: typed.gradients.is_none(),
        synthetic: job.synthetic,
        warnings: job.notes.clone(),
    };
    if console.json {
        return console.print_json(&answer);
    }
    answer.warnings.iter().for_each(|warning| console.warn(warning));
    let size = |bytes: u64, guessed: bool| {
        format!("{}{}", Bytes(bytes), if guessed { " (guessed at 25 GB/s)" } else { "" })
    };
    console.print(&format!(
        "{}: a trace of {}, {} and {}. A microbatch sends {} from stage to stage; a stage has {} of gradients.\nSimulate it with: \
         straggler simulate {} --copies 16 --network slingshot-11\n",
        answer.output,
        counted(answer.ranks, "rank", "ranks"),
        counted(answer.calls, "call", "calls"),
        seconds(answer.seconds),
        size(sizes.activations, answer.activations_guessed),
        size(sizes.gradients, answer.gradients_guessed),
        answer.output
    ))
}

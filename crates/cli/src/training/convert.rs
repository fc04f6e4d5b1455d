//! `straggler training convert`: a job as a trace.

use crate::kernel::{Console, Failure, Outcome};
use crate::training::args::Convert;
use crate::training::file;
use serde::Serialize;
use straggler_model::units::Bytes;
use straggler_report::numbers::{counted, seconds};
use straggler_training::{Size, Sizes, trace};

#[derive(Serialize)]
struct TrainingConvertAnswer {
    output: String,
    ranks: u64,
    calls: u64,
    seconds: f64,
    /// None for jobs that consist of single kernels, each with its own size.
    activations_bytes: Option<u64>,
    gradients_bytes: Option<u64>,
    /// Whether either size was estimated from transfer times, and which.
    guessed: bool,
    activations_guessed: bool,
    gradients_guessed: bool,
    synthetic: bool,
    warnings: Vec<String>,
}

pub fn run(typed: &Convert, console: &Console) -> Outcome<()> {
    let job = file::job(&typed.files)?;
    if !job.is_table() && (typed.activations.is_some() || typed.gradients.is_some()) {
        return Err(Failure::bad_input(
            "the job consists of single kernels, each with its own size: remove --activations and --gradients",
        ));
    }
    let known = Sizes::new(&job);
    let sizes = Sizes {
        activations: typed.activations.map_or(known.activations, Size::known),
        gradients: typed.gradients.map_or(known.gradients, Size::known),
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
        activations_bytes: job.is_table().then_some(sizes.activations.bytes),
        gradients_bytes: job.is_table().then_some(sizes.gradients.bytes),
        guessed: sizes.activations.is_guessed || sizes.gradients.is_guessed,
        activations_guessed: sizes.activations.is_guessed,
        gradients_guessed: sizes.gradients.is_guessed,
        synthetic: job.synthetic,
        warnings: job.notes.clone(),
    };
    if console.json {
        return console.print_json(&answer);
    }
    answer.warnings.iter().for_each(|warning| console.warn(warning));
    let size = |size: Size| {
        format!("{}{}", Bytes(size.bytes), if size.is_guessed { " (guessed at 25 GB/s)" } else { "" })
    };
    let sent = match job.is_table() {
        true => format!(
            "A microbatch sends {} from stage to stage; a stage has {} of gradients.",
            size(sizes.activations),
            size(sizes.gradients)
        ),
        false => format!("Note: {}.", file::GUESSED_IF_UNKNOWN),
    };
    console.print(&format!(
        "{}: a trace of {}, {} and {}. {sent}\nSimulate it with: straggler simulate {} --copies 16 --network slingshot-11\n",
        answer.output,
        counted(answer.ranks, "rank", "ranks"),
        counted(answer.calls, "call", "calls"),
        seconds(answer.seconds),
        answer.output
    ))
}

//! `training`: one step of training a large transformer on data, tensor and pipeline parallel processes.
//!
//! Ranks are numbered with tensor parallelism innermost, then data, then pipeline:
//! rank t + tp · (d + dp · p). Every pipeline stage p has layers / pp layers. A microbatch passes forward through
//! the stages and its gradients come back; a layer computes and sums its activations over the
//! tensor group twice in each direction (M. Shoeybi et al., "Megatron-LM", 2019). At the end, the
//! gradients of each stage are summed over the data group.
//!
//! The order of microbatches on stage p is 1F1B (D. Narayanan et al., SC21): the first pp - 1 - p forward,
//! then one forward and one backward in turn, then the remaining ones backward; or that of GPipe, all forward
//! and then all backward. Between two microbatches, a stage sends the result of one and receives the input of
//! the other in a single exchange, as Megatron-LM does; separate blocking calls would deadlock.
//!
//! A layer has 12 h² parameters (h: hidden), so a token takes 24 h² operations forward and twice as
//! many backward. Attention over the sequence is left out; it is small as long as the sequence is
//! short compared with 6 h. Activations and gradients have two bytes per number.

use super::Kind;
use super::computation::Computation;
use super::error::WorkloadError;
use super::grid::Divisor;
use super::grouped::Grouped;
use super::parameters::{IMBALANCE, Parameter, SEED, Setting, parameter};
use super::parts::{Builder, Part};
use super::pipeline::{Order, Pipeline, PipelineTask};
use crate::collectives::{Job, Operation};
use straggler_model::Time;
use straggler_model::units::counted;

pub(super) const KIND: Kind = Kind {
    name: "training",
    summary: "one training step of a large model on data, tensor and pipeline parallel processes",
    parameters: PARAMETERS,
    build,
};

const PARAMETERS: &[Parameter] = &[
    parameter("tp", "1", "processes that share a layer (tensor parallel)"),
    parameter("pp", "1", "stages of the pipeline (pipeline parallel)"),
    parameter("dp", "rest", "copies of the model (data parallel); rest: processes / (tp · pp)"),
    parameter("microbatches", "8", "microbatches per copy and step"),
    parameter("order", "1f1b", "order of microbatches in the pipeline: 1f1b or gpipe"),
    parameter("layers", "32", "layers of the model; a multiple of pp"),
    parameter("hidden", "4096", "the width of a layer"),
    parameter("tokens", "2048", "tokens per microbatch"),
    parameter("teraflops", "400", "speed of a process, in 10^12 operations per second"),
    parameter("gradients", "allreduce", "allreduce, or sharded: reduce-scatter and allgather"),
    IMBALANCE,
    SEED,
];

/// Sizes of a training step.
struct Model {
    tp: u32,
    pp: u32,
    dp: u32,
    layers: u32,
    activation: u64,
    gradient: u64,
    half_layer: Computation,
}

impl Model {
    fn new(setting: &Setting<'_>) -> Result<Model, WorkloadError> {
        let (tp, pp) = (setting.count("tp")?, setting.count("pp")?);
        let dp = degree(setting, tp, pp)?;
        let layers = setting.count("layers")?;
        if !layers.is_multiple_of(pp) {
            return Err(setting.wrong("layers", format!("give a multiple of pp={pp}")));
        }
        let (hidden, tokens) = (setting.count("hidden")?, setting.count("tokens")?);
        let layers = layers / pp;
        let teraflops = setting.count("teraflops")?;
        let weights = 12 * u128::from(hidden) * u128::from(hidden) / u128::from(tp);
        // 2 · weights operations per token, in halves; 10^12 operations per second are one per picosecond.
        let half_layer = weights.saturating_mul(u128::from(tokens)) / u128::from(teraflops);
        let narrow = |number: u128| u64::try_from(number).unwrap_or(u64::MAX);
        Ok(Model {
            tp,
            pp,
            dp,
            layers,
            activation: 2u64.saturating_mul(u64::from(hidden)).saturating_mul(u64::from(tokens)),
            gradient: narrow(weights.saturating_mul(2 * u128::from(layers))),
            half_layer: Computation { time: Time(narrow(half_layer)), imbalance: setting.imbalance()? },
        })
    }

    /// The part that sums over groups of ranks, or nothing for groups of one.
    fn group(
        setting: &Setting<'_>,
        operation: Operation,
        size: u32,
        stride: u32,
        bytes: u64,
    ) -> Result<Part, WorkloadError> {
        if size == 1 {
            return Ok(Part::Nothing);
        }
        let job = Job::new(size, bytes);
        let collective = (setting.choose)(operation, &job).build(operation, &job)?;
        Ok(Grouped::new(collective, stride, setting.processes).map_or(Part::Nothing, Part::Grouped))
    }
}

/// The data parallel degree dp; dp · tp · pp must equal the number of processes.
fn degree(setting: &Setting<'_>, tp: u32, pp: u32) -> Result<u32, WorkloadError> {
    let (processes, model) = (u64::from(setting.processes), u64::from(tp) * u64::from(pp));
    if !processes.is_multiple_of(model) {
        let mend = format!("tp={tp} times pp={pp} is {model}: use a multiple of it");
        return Err(WorkloadError::Processes {
            workload: setting.workload,
            processes: setting.processes,
            mend,
        });
    }
    let rest = (processes / model) as u32;
    if setting.text("dp") == "rest" || setting.count("dp")? == rest {
        return Ok(rest);
    }
    let mend = format!("tp · pp · dp must be {processes}: write dp={rest}, or remove it");
    Err(setting.wrong("dp", mend))
}

fn order(setting: &Setting<'_>, model: &Model) -> Result<Order, WorkloadError> {
    let microbatches = setting.count("microbatches")?;
    if microbatches > u32::MAX / 4 {
        return Err(setting.wrong("microbatches", "this exceeds the limit of a step"));
    }
    let ranks = setting.processes / model.pp;
    let all_forward = setting.word("order", &["1f1b", "gpipe"])? == 1;
    let by_ranks = Divisor::new(ranks).ok_or_else(|| setting.wrong("pp", "there are fewer processes"))?;
    Ok(Order { stages: model.pp, ranks, by_ranks, microbatches, all_forward })
}

fn build(setting: &Setting<'_>) -> Result<(Builder, String), WorkloadError> {
    let model = Model::new(setting)?;
    let order = order(setting, &model)?;
    let mut builder = Builder::default();
    let tensor = builder.part(Model::group(setting, Operation::Allreduce, model.tp, 1, model.activation)?);
    // The phases of a slot: a hand-over, and for each layer two computations and, if tp > 1, two sums.
    let halves = model.layers.saturating_mul(2);
    let sums = if model.tp > 1 { 2 } else { 1 };
    let by_slot = Divisor::new(halves.saturating_mul(sums).saturating_add(1))
        .ok_or(WorkloadError::TooLong { workload: setting.workload })?;
    let part = |what| Part::Pipeline(Pipeline { order, by_slot, what });
    let hand_over = builder.part(part(PipelineTask::HandOver { bytes: model.activation }));
    let compute = builder.part(part(PipelineTask::Compute(model.half_layer)));
    for _ in 0..order.slots() {
        builder.then(hand_over);
        for _ in 0..halves {
            if builder.is_full() {
                return Err(WorkloadError::TooLong { workload: setting.workload });
            }
            builder.then(compute);
            builder.then(tensor);
        }
    }
    builder.then(hand_over);
    gradients(setting, &model, &mut builder)?;
    let Model { tp, pp, dp, .. } = model;
    let microbatches = order.microbatches;
    let microbatches = counted(microbatches.into(), "microbatch", "microbatches");
    Ok((builder, format!("a training step with tp={tp}, pp={pp}, dp={dp} and {microbatches}")))
}

/// Sums the gradients over the data parallel groups.
fn gradients(setting: &Setting<'_>, model: &Model, builder: &mut Builder) -> Result<(), WorkloadError> {
    let (size, stride, bytes) = (model.dp, model.tp, model.gradient);
    let sharded = setting.word("gradients", &["allreduce", "sharded"])? == 1;
    let operations: &[(Operation, u64)] = if sharded {
        let block = bytes.div_ceil(u64::from(size));
        &[(Operation::ReduceScatterBlock, block), (Operation::Allgather, block)]
    } else {
        &[(Operation::Allreduce, bytes)]
    };
    for &(operation, bytes) in operations {
        let part = builder.part(Model::group(setting, operation, size, stride, bytes)?);
        builder.then(part);
    }
    Ok(())
}

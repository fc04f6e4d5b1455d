//! `cycles`: computation and a collective, repeated.

use super::Kind;
use super::error::WorkloadError;
use super::parameters::{IMBALANCE, Parameter, SEED, Setting, parameter};
use super::parts::{Builder, Part};
use crate::collectives::{Algorithm, Job, Operation};
use straggler_model::units::{Bytes, counted};

pub(super) const KIND: Kind =
    Kind { name: "cycles", summary: "computation and a collective, repeated", parameters: PARAMETERS, build };

const PARAMETERS: &[Parameter] = &[
    OPERATION,
    ALGORITHM,
    BYTES,
    ROOT,
    parameter("cycles", "100", "number of repetitions"),
    parameter("compute", "1ms", "computation before each collective"),
    IMBALANCE,
    SEED,
];

pub(super) const OPERATION: Parameter =
    parameter("operation", "allreduce", "the collective: allreduce, barrier, bcast, …");
pub(super) const ALGORITHM: Parameter = parameter(
    "algorithm",
    "chosen",
    "algorithm, such as chain/segment=8KiB; chosen: selected by --algorithms",
);
pub(super) const BYTES: Parameter = parameter("bytes", "8", "message size; ignored for a barrier");
pub(super) const ROOT: Parameter = parameter("root", "0", "the root of an operation that has one");

/// Builds the collective from these four parameters. Also returns its description.
pub(super) fn collective(setting: &Setting<'_>) -> Result<(Part, String), WorkloadError> {
    let operation: Operation =
        setting.text("operation").parse().map_err(|fault: crate::collectives::UnknownOperation| {
            setting.wrong("operation", fault.to_string())
        })?;
    let bytes = operation.bytes(Some(setting.bytes("bytes")?));
    let root = setting.number("root")?;
    if root != 0 && !operation.has_root() {
        return Err(setting.wrong("root", format!("{operation} has no root: remove it")));
    }
    let job = Job { root, ..Job::new(setting.processes, bytes) };
    let algorithm = match setting.text("algorithm") {
        "chosen" => (setting.choose)(operation, &job),
        text => Algorithm::parse(operation, &text.replace('/', ","))
            .map_err(|fault| setting.wrong("algorithm", fault.to_string()))?,
    };
    let called = match operation {
        Operation::Barrier => format!("{operation}:{algorithm}"),
        _ => format!("{operation}:{algorithm} of {}", Bytes(bytes)),
    };
    Ok((Part::Collective(algorithm.build(operation, &job)?), called))
}

fn build(setting: &Setting<'_>) -> Result<(Builder, String), WorkloadError> {
    let (part, called) = collective(setting)?;
    let (cycles, compute) = (setting.count("cycles")?, setting.computation("compute")?);
    let mut builder = Builder::default();
    let collective = builder.part(part);
    let before = builder.compute(compute);
    for _ in 0..cycles {
        if builder.is_full() {
            break;
        }
        builder.then(before);
        builder.then(collective);
    }
    let cycles = counted(cycles.into(), "cycle", "cycles");
    Ok((builder, format!("{cycles} of {} of computation and {called}", compute.time)))
}

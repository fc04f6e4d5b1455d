//! `overlap`: a nonblocking collective that overlaps computation.
//!
//! A library without a progress thread advances a collective only while the program is inside one of its
//! calls. The model: the program cuts its computation into `chunks` and calls the library between them. Each
//! call completes one step of the collective and starts the next, whose messages are then in flight during
//! the following chunk; the overhead of an arriving message is paid on the CPU when the chunk has ended. A
//! call whose step is not complete waits for it, since a schedule cannot test whether it is. Steps left after
//! the computation run in the final wait; computation left after the collective runs in one piece. With one
//! chunk, only the first step overlaps; more chunks than steps overlap nothing more.

use super::Kind;
use super::cycles::{ALGORITHM, BYTES, OPERATION, ROOT, collective};
use super::error::WorkloadError;
use super::overlapped::Overlapped;
use super::parameters::{IMBALANCE, Parameter, SEED, Setting, parameter};
use super::parts::{Builder, Part};
use straggler_model::units::{counted, grouped};

pub(super) const KIND: Kind = Kind {
    name: "overlap",
    summary: "a nonblocking collective that progresses between chunks of computation",
    parameters: PARAMETERS,
    build,
};

const PARAMETERS: &[Parameter] = &[
    OPERATION,
    ALGORITHM,
    BYTES,
    ROOT,
    parameter("cycles", "100", "number of repetitions"),
    parameter("compute", "1ms", "computation during the collective"),
    parameter("chunks", "16", "chunks of the computation: how often the collective progresses"),
    IMBALANCE,
    SEED,
];

fn build(setting: &Setting<'_>) -> Result<(Builder, String), WorkloadError> {
    let (part, called) = collective(setting)?;
    let (cycles, inside) = (setting.count("cycles")?, setting.computation("compute")?);
    let chunks = setting.count("chunks")?;
    let mut builder = Builder::default();
    let overlapped = match part {
        Part::Collective(collective) => Part::Overlapped(Overlapped { collective, inside, chunks }),
        other => other,
    };
    let overlapped = builder.part(overlapped);
    builder.times(cycles, overlapped);
    let time = inside.time;
    let (cycles, chunks) = (grouped(cycles), counted(chunks.into(), "chunk", "chunks"));
    Ok((builder, format!("{cycles} times {called} overlapped with {time} of computation in {chunks}")))
}

//! `halo2d` and `halo3d`: iterations of halo exchange and computation.
//!
//! Each iteration exchanges a face with every neighbour and computes. With nonblocking calls, a
//! share of the computation can run while messages are in flight (`overlap`); the rest follows.
//! Every `reduce` iterations, an allreduce of 8 bytes checks for convergence.

use super::Kind;
use super::computation::Computation;
use super::error::WorkloadError;
use super::halo::{Calls, Halo};
use super::parameters::{GRID, IMBALANCE, Parameter, SEED, Setting, parameter};
use super::parts::{Builder, Part};
use crate::collectives::Operation;
use straggler_model::units::{Bytes, counted};

pub(super) const HALO_2D: Kind = Kind {
    name: "halo2d",
    summary: "halo exchange with up to four neighbours on a plane of processes",
    parameters: PARAMETERS,
    build: |setting| build(setting, 2),
};

pub(super) const HALO_3D: Kind = Kind {
    name: "halo3d",
    summary: "halo exchange with up to six neighbours in a box of processes",
    parameters: PARAMETERS,
    build: |setting| build(setting, 3),
};

const PARAMETERS: &[Parameter] = &[
    parameter("iterations", "100", "exchanges, each with a computation"),
    parameter("bytes", "8KiB", "size of the message to a neighbour"),
    parameter("compute", "1ms", "computation of an iteration"),
    parameter(
        "calls",
        "nonblocking",
        "nonblocking: all messages at once; blocking: one direction after the other",
    ),
    parameter("overlap", "0", "the share of the computation that overlaps with messages"),
    parameter("boundary", "periodic", "periodic or open"),
    parameter("reduce", "0", "an allreduce after this many iterations; 0: none"),
    GRID,
    IMBALANCE,
    SEED,
];

fn build(setting: &Setting<'_>, dimensions: u32) -> Result<(Builder, String), WorkloadError> {
    let (grid, bytes) = (setting.grid(dimensions)?, setting.bytes("bytes")?);
    let periodic = setting.word("boundary", &["periodic", "open"])? == 0;
    let calls = match setting.word("calls", &["nonblocking", "blocking"])? {
        0 => Calls::Nonblocking,
        _ => Calls::Blocking,
    };
    let overlap = setting.share("overlap")?;
    if calls == Calls::Blocking && overlap > 0 {
        return Err(
            setting.wrong("overlap", "blocking calls cannot overlap with computation: use calls=nonblocking")
        );
    }
    let (inside, rest): (Computation, Computation) = setting.computation("compute")?.split(overlap);
    let halo =
        Halo { grid, periodic: [periodic; 3], stride: 1, bytes: [bytes; 3], calls, inside, silent: false };

    let (iterations, reduce) = (setting.count("iterations")?, setting.number("reduce")?);
    let mut builder = Builder::default();
    let halo = builder.part(Part::Halo(halo));
    let rest = builder.compute(rest);
    let allreduce = if reduce > 0 { setting.collective(Operation::Allreduce, 8, 0)? } else { Part::Nothing };
    let allreduce = builder.part(allreduce);
    for iteration in 1..=iterations {
        if builder.is_full() {
            break;
        }
        builder.then(halo);
        builder.then(rest);
        if reduce > 0 && iteration.is_multiple_of(reduce) {
            builder.then(allreduce);
        }
    }
    let exchanges = counted(iterations.into(), "halo exchange", "halo exchanges");
    Ok((builder, format!("{exchanges} of {} per face on {grid} processes", Bytes(bytes))))
}

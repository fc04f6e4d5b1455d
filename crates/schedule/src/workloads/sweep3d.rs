//! `sweep3d`: wavefronts over a plane of processes, as in the neutron transport of Sweep3D.
//!
//! An iteration sweeps the domain from each of its eight corners (octants); the two that share a corner of
//! the plane come in succession. A sweep is cut into blocks of planes and angles, so that ranks further down
//! the wave work on earlier blocks: each block is received from upstream, computed and sent downstream with
//! blocking calls. An allreduce after each iteration checks for convergence. Four broadcasts and a barrier
//! come before, two barriers after: 4 broadcasts, 3 barriers and 32 allreduces in all, as in the paper.
//!
//! By default, 16,000 processes send 292 million messages (the paper: more than 289 million): on 128 × 125
//! processes 127 · 125 + 128 · 124 = 31,747 faces are crossed in each of 32 · 8 · 35 blocks, and the
//! collectives send 32 · 14 · 16,000 + 3 · 14 · 16,000 + 4 · 15,999.

use super::Kind;
use super::error::WorkloadError;
use super::parameters::{GRID, IMBALANCE, Parameter, SEED, Setting, parameter};
use super::parts::{Builder, Part};
use super::sweep::Sweep;
use crate::collectives::{Operation, barrier};
use straggler_model::units::counted;

pub(super) const KIND: Kind = Kind {
    name: "sweep3d",
    summary: "pipelined wavefronts from eight corners with blocking calls, an allreduce per iteration",
    parameters: PARAMETERS,
    build,
};

const PARAMETERS: &[Parameter] = &[
    parameter("iterations", "32", "outer iterations, each of eight sweeps and an allreduce"),
    parameter("blocks", "35", "blocks of planes and angles per sweep"),
    parameter("compute", "250us", "computation per block"),
    parameter("bytes", "2400", "size of the face of a block"),
    parameter("broadcasts", "4", "broadcasts at the beginning"),
    parameter("barriers", "3", "one at the beginning, the others at the end"),
    GRID,
    IMBALANCE,
    SEED,
];

/// The corners of the plane in the order of their sweeps. Each differs from the previous one in one
/// dimension, so the wave need not cross the whole plane before the next begins.
const CORNERS: [[bool; 2]; 4] = [[true, true], [true, false], [false, false], [false, true]];

fn build(setting: &Setting<'_>) -> Result<(Builder, String), WorkloadError> {
    let (iterations, blocks) = (setting.count("iterations")?, setting.count("blocks")?);
    let (grid, bytes) = (setting.grid(2)?, setting.bytes("bytes")?);
    let inside = setting.computation("compute")?;
    let mut builder = Builder::default();
    let bcast = builder.part(setting.collective(Operation::Bcast, 8, 0)?);
    let barrier = builder.part(setting.collective(Operation::Barrier, barrier::BYTES, 0)?);
    let allreduce = builder.part(setting.collective(Operation::Allreduce, 8, 0)?);
    let corners = CORNERS
        .map(|backward| builder.part(Part::Sweep(Sweep { grid, backward, bytes: [bytes; 2], inside })));

    let barriers = setting.number("barriers")?;
    builder.times(setting.number("broadcasts")?, bcast);
    builder.times(barriers.min(1), barrier);
    for _ in 0..iterations {
        if builder.is_full() {
            break;
        }
        for corner in corners {
            builder.times(blocks.saturating_mul(2), corner);
        }
        builder.then(allreduce);
    }
    builder.times(barriers.saturating_sub(1), barrier);
    let iterations = counted(iterations.into(), "iteration", "iterations");
    let blocks = counted(blocks.into(), "block", "blocks");
    Ok((builder, format!("{iterations} of eight sweeps in {blocks} on {grid} processes")))
}

//! `pop`: the calls of the Parallel Ocean Program, which is dominated by collectives.
//!
//! 608 allreduces, 575 barriers, 703 broadcasts and some halo exchanges on a plane, each kind
//! spread evenly over the run, with the same computation before each call; that of a halo exchange
//! overlaps its nonblocking messages. The ocean wraps around the globe: the plane is periodic in
//! its first dimension and open in the second.
//!
//! By default 32,768 processes send 625.1 million messages (the paper: more than 625 million). Dissemination takes 15
//! rounds: (608 + 575) · 15 · 32,768 = 581,468,160 messages; broadcasts send 703 · 32,767 = 23,035,201. A
//! halo exchange on 256 × 128 sends 2 · 256 · 128 along the ring and 2 · 256 · 127 across it: 130,560. With
//! 158 of them, 20,628,480, there are 625,131,841.

use super::Kind;
use super::error::WorkloadError;
use super::halo::{Calls, Halo};
use super::parameters::{GRID, IMBALANCE, Parameter, SEED, Setting, parameter};
use super::parts::{Builder, Part, spread};
use crate::collectives::{Operation, barrier};
use straggler_model::units::{counted, grouped};

pub(super) const KIND: Kind = Kind {
    name: "pop",
    summary: "an ocean model: many small allreduces, barriers and broadcasts, few halo exchanges",
    parameters: PARAMETERS,
    build,
};

const PARAMETERS: &[Parameter] = &[
    parameter("iterations", "1", "number of iterations"),
    parameter("allreduces", "608", "allreduces per iteration"),
    parameter("barriers", "575", "barriers per iteration"),
    parameter("broadcasts", "703", "broadcasts per iteration"),
    parameter("halos", "158", "halo exchanges per iteration"),
    parameter("compute", "10us", "computation before each call"),
    parameter("bytes", "8", "size of an allreduce and of a broadcast"),
    parameter("face", "512", "bytes per message to a neighbour"),
    GRID,
    IMBALANCE,
    SEED,
];

fn build(setting: &Setting<'_>) -> Result<(Builder, String), WorkloadError> {
    let iterations = setting.count("iterations")?;
    let bytes = setting.bytes("bytes")?;
    let counts = [
        setting.number("allreduces")?,
        setting.number("barriers")?,
        setting.number("broadcasts")?,
        setting.number("halos")?,
    ];
    let compute = setting.computation("compute")?;
    let mut builder = Builder::default();
    let parts = [
        setting.collective(Operation::Allreduce, bytes, 0)?,
        setting.collective(Operation::Barrier, barrier::BYTES, 0)?,
        setting.collective(Operation::Bcast, bytes, 0)?,
        Part::Halo(Halo {
            grid: setting.grid(2)?,
            periodic: [true, false, false],
            stride: 1,
            bytes: [setting.bytes("face")?; 3],
            calls: Calls::Nonblocking,
            inside: compute,
            silent: false,
        }),
    ];
    let parts = parts.map(|part| builder.part(part));
    let before = builder.compute(compute);
    let order = spread(&counts).ok_or(WorkloadError::TooLong { workload: setting.workload })?;
    for _ in 0..iterations {
        if builder.is_full() {
            break;
        }
        for &kind in &order {
            // A halo exchange contains its computation.
            if kind != 3 {
                builder.then(before);
            }
            builder.then(parts[kind as usize]);
        }
    }
    let [allreduces, barriers, broadcasts, halos] = counts;
    let times = if iterations == 1 { String::new() } else { format!(", {} times", grouped(iterations)) };
    let allreduces = counted(allreduces.into(), "allreduce", "allreduces");
    let barriers = counted(barriers.into(), "barrier", "barriers");
    let broadcasts = counted(broadcasts.into(), "broadcast", "broadcasts");
    let halos = counted(halos.into(), "halo exchange", "halo exchanges");
    Ok((builder, format!("{allreduces}, {barriers}, {broadcasts} and {halos}{times}")))
}

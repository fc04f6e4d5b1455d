//! `amg`: V-cycles of an algebraic multigrid solver on a box of processes, as in AMG2006.
//!
//! Level l of the hierarchy is on the processes whose coordinates are multiples of 2^l, and neighbours are
//! 2^l apart: coarser levels have fewer processes, with more distant partners. A V-cycle exchanges halos
//! going down to the coarsest level and up again, with nonblocking calls that overlap the level's
//! computation; each level has 1/64 of the computation of the next finer one.
//!
//! The setup comes first: allgathers, scans and broadcasts, spread evenly, and a barrier. The
//! allreduces of the convergence checks are spread evenly over the V-cycles. The defaults are the paper's
//! 24 allgathers, 8 scans, 23 broadcasts, 1 barrier and 356 allreduces: three a V-cycle.
//!
//! By default 16,000 processes send 222.16 million messages (the paper: more than 222 million). They are
//! 32 × 25 × 20, so that an exchange on the finest level sends 2 · (31 · 500 + 32 · 480 + 32 · 475) = 92,120
//! messages and one on each of the four coarser ones 11,484, 1,418, 208 and 24. A V-cycle is 12 of the first
//! and 2 of each other, 1,131,708; there are 119. Dissemination takes 14 rounds, and a scan by recursive
//! doubling sends 2 messages for every 1 in the binary ranks, 221,824: the collectives send
//! (356 + 24 + 1) · 224,000 + 23 · 15,999 + 8 · 221,824 = 87,486,569.

use super::Kind;
use super::computation::Computation;
use super::error::WorkloadError;
use super::grid::Grid;
use super::halo::{Calls, Halo};
use super::parameters::{GRID, IMBALANCE, Parameter, SEED, Setting, parameter};
use super::parts::{Builder, Part, spread};
use crate::collectives::Operation;
use straggler_model::Time;
use straggler_model::units::counted;

pub(super) const KIND: Kind = Kind {
    name: "amg",
    summary: "multigrid V-cycles on a box of processes with nonblocking halos, many allreduces",
    parameters: PARAMETERS,
    build,
};

const PARAMETERS: &[Parameter] = &[
    parameter("iterations", "119", "V-cycles"),
    parameter(
        "sweeps",
        "6",
        "halo exchanges of the finest level on the way down and up; coarser levels have one",
    ),
    parameter("levels", "8", "maximum number of levels; a box has one per halving of its longest side"),
    parameter("compute", "120us", "computation per exchange on the finest level; 1/64 of it on the next"),
    parameter("face", "2KiB", "bytes per message to a neighbour on the finest level; 1/4 of it on the next"),
    parameter("allreduces", "356", "allreduces over all V-cycles"),
    parameter("allgathers", "24", "allgathers of the setup"),
    parameter("scans", "8", "scans of the setup"),
    parameter("broadcasts", "23", "broadcasts of the setup"),
    parameter("barriers", "1", "barriers of the setup"),
    GRID,
    IMBALANCE,
    SEED,
];

fn build(setting: &Setting<'_>) -> Result<(Builder, String), WorkloadError> {
    let grid = setting.grid(3)?;
    let (iterations, sweeps) = (setting.count("iterations")?, setting.count("sweeps")?);
    let mut builder = Builder::default();
    setup(setting, &mut builder)?;
    let levels = levels(setting, grid, &mut builder)?;
    let allreduce = collective(setting, "allreduces", Operation::Allreduce)?;
    let allreduce = builder.part(allreduce);
    let too_long = WorkloadError::TooLong { workload: setting.workload };
    // V-cycles and allreduces share the rest of the run evenly.
    let order = spread(&[iterations, setting.number("allreduces")?]);
    for kind in order.ok_or(too_long)? {
        if builder.is_full() {
            break;
        }
        if kind == 1 {
            builder.then(allreduce);
            continue;
        }
        let Some((&finest, coarser)) = levels.split_first() else { continue };
        builder.times(sweeps, finest);
        coarser.iter().chain(coarser.iter().rev()).for_each(|&level| builder.then(level));
        builder.times(sweeps, finest);
    }
    let cycles = counted(iterations.into(), "V-cycle", "V-cycles");
    let levels = counted(levels.len() as u64, "level", "levels");
    Ok((builder, format!("{cycles} over {levels} on {grid} processes")))
}

/// Builds an allreduce of 8 bytes or a barrier, or nothing if its count is 0.
fn collective(
    setting: &Setting<'_>,
    count: &'static str,
    operation: Operation,
) -> Result<Part, WorkloadError> {
    let bytes = operation.bytes(None);
    if setting.number(count)? == 0 { Ok(Part::Nothing) } else { setting.collective(operation, bytes, 0) }
}

fn setup(setting: &Setting<'_>, builder: &mut Builder) -> Result<(), WorkloadError> {
    let kinds = [
        ("allgathers", Operation::Allgather),
        ("scans", Operation::Scan),
        ("broadcasts", Operation::Bcast),
        ("barriers", Operation::Barrier),
    ];
    let (mut parts, mut counts) = (Vec::new(), Vec::new());
    for (count, operation) in kinds {
        parts.push(builder.part(collective(setting, count, operation)?));
        counts.push(setting.number(count)?);
    }
    for kind in spread(&counts).ok_or(WorkloadError::TooLong { workload: setting.workload })? {
        builder.then(parts[kind as usize]);
    }
    Ok(())
}

/// The parts of all levels, finest first.
fn levels(setting: &Setting<'_>, grid: Grid, builder: &mut Builder) -> Result<Vec<u32>, WorkloadError> {
    let (compute, face) = (setting.computation("compute")?, setting.bytes("face")?);
    let longest = (0..3).map(|dimension| grid.extent(dimension)).max().unwrap_or(1);
    let possible = (longest - 1).checked_ilog2().map_or(1, |power| power + 1);
    let count = setting.count("levels")?.min(possible);
    let level = |level: u32| {
        let time = Time(compute.time.ps().checked_shr(6 * level).unwrap_or(0));
        Halo {
            grid,
            periodic: [false; 3],
            stride: 1 << level,
            bytes: [face.checked_shr(2 * level).unwrap_or(0).max(8); 3],
            calls: Calls::Nonblocking,
            inside: Computation { time, ..compute },
            silent: false,
        }
    };
    Ok((0..count).map(|number| builder.part(Part::Halo(level(number)))).collect())
}

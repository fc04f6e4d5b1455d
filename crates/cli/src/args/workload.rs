//! A workload as typed.

use clap::{Args, ValueEnum};
use straggler_schedule::workloads::{Only, Workload};

/// A workload, instead of a collective or a file.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workload")]
pub struct WorkloadOptions {
    /// An application: amg, cycles, halo2d, halo3d, master-worker, overlap, pop, sweep3d, training
    #[arg(long, value_name = "NAME[,PARAMETER=VALUE…]")]
    #[arg(conflicts_with_all = ["collective", "size", "sizes", "cycles", "compute", "root", "reduction_cost"])]
    pub workload: Option<Workload>,
    /// Keep only this kind of communication
    #[arg(long, value_enum, value_name = "KIND")]
    pub only: Option<TypedOnly>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TypedOnly {
    /// Point-to-point messages
    P2p,
    /// Collective operations
    Collectives,
}

impl WorkloadOptions {
    pub fn only(&self) -> Only {
        only(self.only)
    }
}

/// Everything, unless a kind is named.
pub fn only(typed: Option<TypedOnly>) -> Only {
    match typed {
        None => Only::All,
        Some(TypedOnly::P2p) => Only::P2p,
        Some(TypedOnly::Collectives) => Only::Collectives,
    }
}

//! Where replicas run, as typed.

use clap::{Args, ValueEnum};

/// Where replicas run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum TypedDevice {
    /// On GPUs where there are some and the work is large enough to pay for it
    #[default]
    Auto,
    /// On the CPU
    Cpu,
    /// On GPUs; what they cannot run, on the CPU
    Gpu,
}

#[derive(Clone, Debug, Args)]
pub struct DeviceOption {
    /// Where replicas of collectives run; the numbers are the same everywhere
    #[arg(long, value_enum, default_value_t, value_name = "DEVICE")]
    pub device: TypedDevice,
}

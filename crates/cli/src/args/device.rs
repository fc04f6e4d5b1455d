//! Where replicas run, as typed.

use clap::{Args, ValueEnum};

/// Where replicas run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum TypedDevice {
    /// GPUs, if there are any and the work is large enough to benefit
    #[default]
    Auto,
    /// The CPU
    Cpu,
    /// GPUs; the CPU for what they cannot run
    Gpu,
}

#[derive(Clone, Debug, Args)]
pub struct DeviceOption {
    /// Where to run replicas of collectives; the results are the same
    #[arg(long, value_enum, default_value_t, value_name = "DEVICE")]
    pub device: TypedDevice,
}

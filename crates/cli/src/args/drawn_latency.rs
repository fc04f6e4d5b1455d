//! Random latencies of messages, as typed.

use clap::{Args, ValueEnum};
use straggler_analysis::latency::messages::ClassFile;
use straggler_model::network::Meaning;
use straggler_model::units::Bytes;

/// Measured times instead of the network's L and o.
#[derive(Clone, Debug, Default, Args)]
pub struct LatencyOptions {
    /// Draw the latency of each message from measured times: a .lat file, or text with one time per line. CLASS=FILE applies
    /// to one link class of the network (a level, or base)
    #[arg(long, value_name = "[CLASS=]FILE")]
    pub latency_distribution: Vec<ClassFile>,
    /// What the times include: total, from the start of the send to the end of the receive (o_s + L + o_r), or wire, L alone
    /// [default: total]
    #[arg(long, value_enum, value_name = "total|wire", requires = "latency_distribution")]
    pub latency_is: Option<TypedMeaning>,
    /// Message size to take from a .lat file [default: the smallest]
    #[arg(long, value_name = "BYTES", requires = "latency_distribution")]
    pub latency_size: Option<Bytes>,
    /// Also draw o_s and o_r of each message from measured times
    #[arg(long, value_name = "[CLASS=]FILE", requires = "latency_distribution")]
    pub overhead_distribution: Vec<ClassFile>,
}

impl LatencyOptions {
    pub fn is_given(&self) -> bool {
        !self.latency_distribution.is_empty()
    }

    pub fn meaning(&self) -> Meaning {
        match self.latency_is {
            Some(TypedMeaning::Wire) => Meaning::Wire,
            Some(TypedMeaning::Total) | None => Meaning::Total,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TypedMeaning {
    Total,
    Wire,
}

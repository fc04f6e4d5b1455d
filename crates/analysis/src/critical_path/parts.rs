//! The composition of a stretch of time.

use serde::Serialize;
use std::ops::AddAssign;
use straggler_model::Time;

/// Time split by what it was spent on, in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Parts {
    #[serde(rename = "compute_ps")]
    pub compute: u64,
    /// o_s of sends.
    #[serde(rename = "send_overhead_ps")]
    pub send_overhead: u64,
    /// o_r of messages.
    #[serde(rename = "recv_overhead_ps")]
    pub recv_overhead: u64,
    /// L.
    #[serde(rename = "latency_ps")]
    pub latency: u64,
    /// g.
    #[serde(rename = "gap_ps")]
    pub gap: u64,
    /// G times bytes.
    #[serde(rename = "gap_bytes_ps")]
    pub gap_bytes: u64,
    /// O times bytes.
    #[serde(rename = "overhead_bytes_ps")]
    pub overhead_bytes: u64,
    #[serde(rename = "noise_ps")]
    pub noise: u64,
    /// Time rendezvous acknowledgements are under way, A.
    #[serde(rename = "rendezvous_ps")]
    pub rendezvous: u64,
}

impl Parts {
    pub fn total(&self) -> Time {
        Time(self.named().iter().map(|(_, part)| part).sum())
    }

    /// All parts with their display names.
    pub fn named(&self) -> [(&'static str, u64); 9] {
        [
            ("compute", self.compute),
            ("o (send)", self.send_overhead),
            ("o (receive)", self.recv_overhead),
            ("L", self.latency),
            ("g", self.gap),
            ("G · bytes", self.gap_bytes),
            ("O · bytes", self.overhead_bytes),
            ("noise", self.noise),
            ("rendezvous wait", self.rendezvous),
        ]
    }
}

impl AddAssign for Parts {
    fn add_assign(&mut self, other: Parts) {
        self.compute += other.compute;
        self.send_overhead += other.send_overhead;
        self.recv_overhead += other.recv_overhead;
        self.latency += other.latency;
        self.gap += other.gap;
        self.gap_bytes += other.gap_bytes;
        self.overhead_bytes += other.overhead_bytes;
        self.noise += other.noise;
        self.rendezvous += other.rendezvous;
    }
}

/// How often each parameter is on the path: the derivative of the makespan with respect to it, as
/// long as the path stays critical.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Counts {
    #[serde(rename = "L")]
    pub latency: u64,
    #[serde(rename = "o_s")]
    pub send_overhead: u64,
    #[serde(rename = "o_r")]
    pub recv_overhead: u64,
    #[serde(rename = "g")]
    pub gap: u64,
    /// Bytes that pay G.
    #[serde(rename = "G")]
    pub gap_bytes: u64,
    /// Bytes that pay O.
    #[serde(rename = "O")]
    pub overhead_bytes: u64,
    /// Acknowledgements. If A is L, they count as L too.
    #[serde(rename = "A")]
    pub acknowledgements: u64,
}

impl Counts {
    /// For each part of [`Parts::named`], in that order, how often its parameter is on the path,
    /// and in which unit.
    pub fn beside_parts(&self) -> [Option<(u64, Unit)>; 9] {
        [
            None,
            Some((self.send_overhead, Unit::Times)),
            Some((self.recv_overhead, Unit::Times)),
            Some((self.latency, Unit::Times)),
            Some((self.gap, Unit::Times)),
            Some((self.gap_bytes, Unit::Bytes)),
            Some((self.overhead_bytes, Unit::Bytes)),
            None,
            Some((self.acknowledgements, Unit::Times)),
        ]
    }
}

/// The unit in which a parameter is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    Times,
    Bytes,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.latency += other.latency;
        self.send_overhead += other.send_overhead;
        self.recv_overhead += other.recv_overhead;
        self.gap += other.gap;
        self.gap_bytes += other.gap_bytes;
        self.overhead_bytes += other.overhead_bytes;
        self.acknowledgements += other.acknowledgements;
    }
}

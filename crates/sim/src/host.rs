//! The resources of a process: CPUs and NICs, and when each is free again.

use crate::checkpoint::Saved;
use serde::{Deserialize, Serialize};
use straggler_model::Time;
use straggler_model::noise::QuietUntil;

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Cpu {
    pub free: Time,
    /// Until when this CPU is known to have no noise.
    pub quiet: QuietUntil,
}

/// The CPUs and NICs of one process.
pub trait Host: Saved {
    fn new() -> Self;
    fn cpu(&self, cpu: u8) -> &Cpu;
    fn send_free(&self, nic: u8) -> Time;
    fn recv_free(&self, nic: u8) -> Time;
    /// The CPU and the NIC's send side, for a send.
    fn sending(&mut self, cpu: u8, nic: u8) -> (&mut Cpu, &mut Time);
    /// The CPU and the NIC's receive side, for an arriving message.
    fn receiving(&mut self, cpu: u8, nic: u8) -> (&mut Cpu, &mut Time);
    /// The largest free time of the CPUs.
    fn finish(&self) -> Time;
}

/// One CPU, one NIC: half a cache line.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct OneLane {
    cpu: Cpu,
    send_free: Time,
    recv_free: Time,
}

const _: () = assert!(size_of::<OneLane>() == 32);

impl Host for OneLane {
    fn new() -> OneLane {
        OneLane::default()
    }
    #[inline(always)]
    fn cpu(&self, _: u8) -> &Cpu {
        &self.cpu
    }
    #[inline(always)]
    fn send_free(&self, _: u8) -> Time {
        self.send_free
    }
    #[inline(always)]
    fn recv_free(&self, _: u8) -> Time {
        self.recv_free
    }
    #[inline(always)]
    fn sending(&mut self, _: u8, _: u8) -> (&mut Cpu, &mut Time) {
        (&mut self.cpu, &mut self.send_free)
    }
    #[inline(always)]
    fn receiving(&mut self, _: u8, _: u8) -> (&mut Cpu, &mut Time) {
        (&mut self.cpu, &mut self.recv_free)
    }
    #[inline(always)]
    fn finish(&self) -> Time {
        self.cpu.free
    }
}

/// Any number of CPUs and NICs. Only those that were used take memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ManyLanes {
    cpus: Vec<Cpu>,
    /// When each NIC may send again, and receive again.
    nics: Vec<(Time, Time)>,
}

/// A CPU that was never used.
static IDLE: Cpu = Cpu { free: Time::ZERO, quiet: QuietUntil::UNKNOWN };

fn grown<T: Default>(lanes: &mut Vec<T>, lane: u8) -> &mut T {
    let lane = usize::from(lane);
    if lanes.len() <= lane {
        lanes.resize_with(lane + 1, T::default);
    }
    &mut lanes[lane]
}

impl Host for ManyLanes {
    fn new() -> ManyLanes {
        ManyLanes::default()
    }
    fn cpu(&self, cpu: u8) -> &Cpu {
        self.cpus.get(usize::from(cpu)).unwrap_or(&IDLE)
    }
    fn send_free(&self, nic: u8) -> Time {
        self.nics.get(usize::from(nic)).map_or(Time::ZERO, |nic| nic.0)
    }
    fn recv_free(&self, nic: u8) -> Time {
        self.nics.get(usize::from(nic)).map_or(Time::ZERO, |nic| nic.1)
    }
    fn sending(&mut self, cpu: u8, nic: u8) -> (&mut Cpu, &mut Time) {
        (grown(&mut self.cpus, cpu), &mut grown(&mut self.nics, nic).0)
    }
    fn receiving(&mut self, cpu: u8, nic: u8) -> (&mut Cpu, &mut Time) {
        (grown(&mut self.cpus, cpu), &mut grown(&mut self.nics, nic).1)
    }
    fn finish(&self) -> Time {
        self.cpus.iter().map(|cpu| cpu.free).max().unwrap_or(Time::ZERO)
    }
}

//! The resources of a process: CPUs and NICs, and when each is free again.

use crate::checkpoint::Saved;
use serde::{Deserialize, Serialize};
use straggler_model::Time;
use straggler_noise::QuietUntil;

/// A CPU: when it is free, and until when it is quiet.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Cpu {
    pub free: Time,
    /// Until when this CPU is known to have no noise.
    pub quiet: QuietUntil,
}

/// The CPUs and NICs of one process.
pub trait Host: Saved {
    /// Whether there is one CPU and one NIC.
    const ONE_LANE: bool = false;
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
    const ONE_LANE: bool = true;
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

/// Any number of CPUs and NICs. Nearly all processes use one of each, which costs them a comparison; the others take
/// memory only where they are used.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ManyLanes {
    first: OneLane,
    more: Option<Box<MoreLanes>>,
}

/// The CPUs and NICs from the second on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct MoreLanes {
    cpus: Vec<Cpu>,
    /// When each NIC may send again, and receive again.
    nics: Vec<(Time, Time)>,
}

/// A CPU that was never used.
static IDLE: Cpu = Cpu { free: Time::ZERO, quiet: QuietUntil::UNKNOWN };

fn grown<T: Default>(lanes: &mut Vec<T>, lane: u8) -> &mut T {
    let place = usize::from(lane) - 1;
    if lanes.len() <= place {
        lanes.resize_with(place + 1, T::default);
    }
    &mut lanes[place]
}

impl ManyLanes {
    #[cold]
    fn another_cpu(&self, cpu: u8) -> &Cpu {
        self.more.as_ref().and_then(|more| more.cpus.get(usize::from(cpu) - 1)).unwrap_or(&IDLE)
    }

    #[cold]
    fn another_nic(&self, nic: u8) -> (Time, Time) {
        self.more.as_ref().and_then(|more| more.nics.get(usize::from(nic) - 1)).copied().unwrap_or_default()
    }

    /// A CPU, and the two sides of a NIC.
    #[inline(always)]
    fn lane(&mut self, cpu: u8, nic: u8) -> (&mut Cpu, &mut Time, &mut Time) {
        match (cpu, nic) {
            (0, 0) => (&mut self.first.cpu, &mut self.first.send_free, &mut self.first.recv_free),
            _ => self.another_lane(cpu, nic),
        }
    }

    #[cold]
    fn another_lane(&mut self, cpu: u8, nic: u8) -> (&mut Cpu, &mut Time, &mut Time) {
        let more = self.more.get_or_insert_default();
        let first = &mut self.first;
        let cpu = if cpu == 0 { &mut first.cpu } else { grown(&mut more.cpus, cpu) };
        if nic == 0 {
            return (cpu, &mut first.send_free, &mut first.recv_free);
        }
        let (send, receive) = grown(&mut more.nics, nic);
        (cpu, send, receive)
    }
}

impl Host for ManyLanes {
    fn new() -> ManyLanes {
        ManyLanes::default()
    }
    #[inline(always)]
    fn cpu(&self, cpu: u8) -> &Cpu {
        if cpu == 0 { &self.first.cpu } else { self.another_cpu(cpu) }
    }
    #[inline(always)]
    fn send_free(&self, nic: u8) -> Time {
        if nic == 0 { self.first.send_free } else { self.another_nic(nic).0 }
    }
    #[inline(always)]
    fn recv_free(&self, nic: u8) -> Time {
        if nic == 0 { self.first.recv_free } else { self.another_nic(nic).1 }
    }
    #[inline(always)]
    fn sending(&mut self, cpu: u8, nic: u8) -> (&mut Cpu, &mut Time) {
        let (cpu, send, _) = self.lane(cpu, nic);
        (cpu, send)
    }
    #[inline(always)]
    fn receiving(&mut self, cpu: u8, nic: u8) -> (&mut Cpu, &mut Time) {
        let (cpu, _, receive) = self.lane(cpu, nic);
        (cpu, receive)
    }
    fn finish(&self) -> Time {
        let others = self.more.iter().flat_map(|more| &more.cpus);
        others.map(|cpu| cpu.free).fold(self.first.finish(), Time::max)
    }
}

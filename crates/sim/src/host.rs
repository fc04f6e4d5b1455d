//! The resources of a process: CPUs and NICs, and when each is free again.

use straggler_model::Time;
use straggler_model::noise::QuietUntil;

#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu {
    pub free: Time,
    /// Up to when noise is known not to disturb this CPU.
    pub quiet: QuietUntil,
}

/// The CPUs and NICs of one process.
pub trait Host: Send {
    fn new(cpus: usize, nics: usize) -> Self;
    fn cpu(&self, cpu: u8) -> &Cpu;
    fn send_free(&self, nic: u8) -> Time;
    fn recv_free(&self, nic: u8) -> Time;
    /// What a send touches.
    fn sending(&mut self, cpu: u8, nic: u8) -> (&mut Cpu, &mut Time);
    /// What an arriving message touches.
    fn receiving(&mut self, cpu: u8, nic: u8) -> (&mut Cpu, &mut Time);
    /// The largest free time of the CPUs.
    fn finish(&self) -> Time;
}

/// One CPU, one NIC: half a cache line.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneLane {
    cpu: Cpu,
    send_free: Time,
    recv_free: Time,
}

const _: () = assert!(size_of::<OneLane>() == 32);

impl Host for OneLane {
    fn new(_: usize, _: usize) -> OneLane {
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

/// Any number of CPUs and NICs.
#[derive(Clone, Debug)]
pub struct ManyLanes {
    cpus: Box<[Cpu]>,
    /// When each NIC may send, and receive, again.
    nics: Box<[(Time, Time)]>,
}

impl Host for ManyLanes {
    fn new(cpus: usize, nics: usize) -> ManyLanes {
        ManyLanes { cpus: vec![Cpu::default(); cpus].into(), nics: vec![Default::default(); nics].into() }
    }
    fn cpu(&self, cpu: u8) -> &Cpu {
        &self.cpus[usize::from(cpu)]
    }
    fn send_free(&self, nic: u8) -> Time {
        self.nics[usize::from(nic)].0
    }
    fn recv_free(&self, nic: u8) -> Time {
        self.nics[usize::from(nic)].1
    }
    fn sending(&mut self, cpu: u8, nic: u8) -> (&mut Cpu, &mut Time) {
        (&mut self.cpus[usize::from(cpu)], &mut self.nics[usize::from(nic)].0)
    }
    fn receiving(&mut self, cpu: u8, nic: u8) -> (&mut Cpu, &mut Time) {
        (&mut self.cpus[usize::from(cpu)], &mut self.nics[usize::from(nic)].1)
    }
    fn finish(&self) -> Time {
        self.cpus.iter().map(|cpu| cpu.free).max().unwrap_or(Time::ZERO)
    }
}

//! Runs replicas of a task on one device, as many at once as fit into its memory.

use crate::device::{Device, DeviceError, Kernel, Memory};
use crate::injected::Injected;
use crate::layout::{END_OF_TIME, MARKS_OF_WORD, NONE, Plan, SLOTS_OF_GROUP, STATE_BYTES, UNKNOWN};
use crate::task::Task;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use straggler_model::Time;
use straggler_noise::Injection;

/// Which states are neighbours in memory and run in neighbouring threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Layout {
    /// Processes of one replica.
    #[default]
    Processes,
    /// Replicas of one process.
    Replicas,
}

/// Tuning parameters. None of them changes a result.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    pub layout: Layout,
    /// How many rounds are started before the host checks whether all replicas have ended.
    pub rounds: u32,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning { layout: Layout::Processes, rounds: 8 }
    }
}

/// The result of one replica.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ran {
    pub replica: u32,
    /// None if simulated time went beyond what a device can hold, 53 days.
    pub makespan: Option<Time>,
    /// Finish times of all processes, if asked for.
    pub finish: Vec<Time>,
}

/// Why replicas did not run to their end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error("not one replica fits into its memory: {:.1} GiB are needed", *needed as f64 / (1u64 << 30) as f64)]
    NoRoom { needed: u64 },
    #[error("interrupted")]
    Interrupted,
}

/// A task in the memory of a device.
pub struct Loaded<'d> {
    device: &'d dyn Device,
    task: &'d Task,
    tuning: Tuning,
    tables: [Box<dyn Memory>; 6],
}

/// One part in `SPARE` of the free memory is left to others.
const SPARE: u64 = 16;
/// Approximate limit on the messages of a batch, so that a waiting caller sees progress.
const BATCH_MESSAGES: u64 = 4_000_000_000;

impl<'d> Loaded<'d> {
    pub fn new(device: &'d dyn Device, task: &'d Task, tuning: Tuning) -> Result<Loaded<'d>, DeviceError> {
        let tables = &task.tables;
        let arrays: [&[u8]; 6] = [
            bytemuck::cast_slice(&tables.entries),
            bytemuck::cast_slice(&tables.stages_of),
            bytemuck::cast_slice(&tables.slot_from),
            &tables.slot_tariff,
            bytemuck::cast_slice(&tables.tariffs),
            bytemuck::cast_slice(&tables.durations),
        ];
        let mut held = Vec::with_capacity(arrays.len());
        for bytes in arrays {
            // A device cannot reserve 0 bytes.
            held.push(device.hold(if bytes.is_empty() { &[0; 16] } else { bytes })?);
        }
        let tables = held.try_into().unwrap_or_else(|_| unreachable!("six arrays were held"));
        Ok(Loaded { device, task, tuning, tables })
    }

    /// Runs replicas under `noise`. Calls `done` for each as soon as its batch has ended.
    pub fn run(
        &self,
        noise: &Injection,
        replicas: Range<u32>,
        keep_finish: bool,
        stop: &AtomicBool,
        done: &mut dyn FnMut(Ran),
    ) -> Result<(), Failure> {
        let injected = Injected::new(self.device, noise)?;
        let mut next = replicas.start;
        while next < replicas.end {
            let batch = self.batch(self.side_by_side(replicas.end - next)?)?;
            let count = batch.count;
            // Batches of the same size reuse the memory.
            while replicas.end - next >= count {
                batch.run(&injected, next, keep_finish, stop, done)?;
                next += count;
                if next == replicas.end {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Reserves memory for `most` replicas, or for fewer if others have taken memory in the meantime.
    fn batch(&self, most: u32) -> Result<Batch<'_>, DeviceError> {
        match Batch::new(self, most) {
            Err(DeviceError::OutOfMemory { .. }) if most > 1 => self.batch(most / 2),
            batch => batch,
        }
    }

    /// Bytes of device memory for one replica.
    pub fn replica_bytes(&self) -> u64 {
        let slots = self.task.slots();
        // Arrivals, the inbox, the state, the last slot, and two marks.
        let of_process = 8 * (slots.max(1) + slots.div_ceil(SLOTS_OF_GROUP)) + STATE_BYTES + 4 + 2;
        of_process * u64::from(self.task.processes) + 32
    }

    /// How many of `replicas` run at the same time.
    pub fn side_by_side(&self, replicas: u32) -> Result<u32, Failure> {
        let free = self.device.free_bytes()?;
        let needed = self.replica_bytes();
        let room = (free - free / SPARE) / needed;
        if room == 0 {
            return Err(Failure::NoRoom { needed });
        }
        let quick = (BATCH_MESSAGES / self.task.messages.max(1)).max(1);
        let numbered = u64::from(u32::MAX) / u64::from(self.task.processes.max(1));
        let most = room.min(quick).min(numbered);
        Ok(replicas.min(most as u32))
    }
}

impl std::fmt::Debug for Loaded<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded").field("processes", &self.task.processes).finish_non_exhaustive()
    }
}

/// The memory of replicas that run at the same time.
struct Batch<'d> {
    loaded: &'d Loaded<'d>,
    plan: Plan,
    count: u32,
    /// Memory that only the kernel uses.
    _held: Vec<Box<dyn Memory>>,
    /// Holds arrivals during the run, and finish times at its end.
    finish: Box<dyn Memory>,
    goes_on: Box<dyn Memory>,
    latest: Box<dyn Memory>,
    status: Box<dyn Memory>,
}

impl<'d> Batch<'d> {
    fn new(loaded: &'d Loaded<'d>, count: u32) -> Result<Batch<'d>, DeviceError> {
        let (device, task, tuning) = (loaded.device, loaded.task, loaded.tuning);
        let threads = u64::from(task.processes) * u64::from(count);
        let mut held = Vec::new();
        let mut reserve = |bytes: u64| -> Result<u64, DeviceError> {
            let memory = device.reserve(bytes.max(16))?;
            let address = memory.address();
            held.push(memory);
            Ok(address)
        };
        let (by_process, by_replica) = match tuning.layout {
            Layout::Processes => (1, task.processes),
            Layout::Replicas => (count, 1),
        };
        let [entries, stages_of, slot_from, slot_tariff, tariffs, durations] =
            loaded.tables.each_ref().map(|table| table.address());
        let groups = task.slots().div_ceil(SLOTS_OF_GROUP);
        let room = threads.next_multiple_of(MARKS_OF_WORD);
        let (inbox, tops, marks) =
            (reserve(8 * groups * threads)?, reserve(4 * threads)?, reserve(2 * room)?);
        let (states, soonest) = (reserve(STATE_BYTES * threads)?, reserve(24 * u64::from(count))?);
        let finish = device.reserve(8 * task.slots().max(1) * threads.max(2))?;
        let latest = device.reserve(8 * u64::from(count).max(2))?;
        let (goes_on, status) = (device.reserve(16)?, device.reserve(16)?);
        let plan = Plan {
            entries,
            stages_of,
            slot_from,
            slot_tariff,
            tariffs,
            durations,
            arrivals: finish.address(),
            inbox,
            tops,
            states,
            marks,
            goes_on: goes_on.address(),
            soonest,
            latest: latest.address(),
            status: status.address(),
            flight: task.flight.ps(),
            threads,
            room,
            by_process,
            by_replica,
            processes: task.processes,
            replicas: count,
            cycles: task.cycles,
            stages: task.tables.stages,
            slots: task.tables.slots,
            way: task.tables.way as u32,
            tariffs_differ: u32::from(task.tables.tariffs.len() > 1),
            shift: if task.processes.is_power_of_two() { task.processes.ilog2() } else { NONE },
            groups: groups as u32,
            plain: u32::from(groups == 1 && task.cycles == 1 && by_process == 1 && task.tables.is_plain()),
            tariff: task.tables.tariffs.first().copied().unwrap_or_default(),
            ..Plan::default()
        };
        Ok(Batch { loaded, plan, count, _held: held, finish, goes_on, latest, status })
    }

    /// Runs the replicas from `first` on.
    fn run(
        &self,
        noise: &Injected,
        first: u32,
        keep_finish: bool,
        stop: &AtomicBool,
        done: &mut dyn FnMut(Ran),
    ) -> Result<(), Failure> {
        let device = self.loaded.device;
        let mut plan = Plan { first_replica: first, ..self.plan };
        noise.enter(&mut plan);
        plan.plain &= 1 - plan.computation_only;
        device.launch(Kernel::Begin, &plan)?;
        let mut round = 0;
        loop {
            for _ in 0..self.loaded.tuning.rounds {
                device.launch(Kernel::Advance(round), &plan)?;
                round += 1;
            }
            if stop.load(Ordering::Relaxed) {
                return Err(Failure::Interrupted);
            }
            let mut goes_on = [0u32; 3];
            device.read(&*self.goes_on, 0, bytemuck::bytes_of_mut(&mut goes_on))?;
            if goes_on[round as usize % 3] == 0 {
                break;
            }
        }
        let mut out_of_time = 0u32;
        device.read(&*self.status, 0, bytemuck::bytes_of_mut(&mut out_of_time))?;
        device.launch(Kernel::Conclude, &plan)?;
        let mut latest = vec![0u64; self.count as usize];
        device.read(&*self.latest, 0, bytemuck::cast_slice_mut(&mut latest))?;
        if out_of_time == 0 && latest.contains(&UNKNOWN) {
            // Every message has a receive, so all runs end. This is a fault of the device or of this program.
            return Err(DeviceError::Other("the kernel left processes unfinished".into()).into());
        }
        for (index, makespan) in (0..).zip(latest) {
            let makespan = (makespan < END_OF_TIME).then_some(Time(makespan));
            let finish = if keep_finish && makespan.is_some() { self.finish(index)? } else { Vec::new() };
            done(Ran { replica: first + index, makespan, finish });
        }
        Ok(())
    }

    /// The finish times of all processes of a replica of the batch.
    fn finish(&self, index: u32) -> Result<Vec<Time>, DeviceError> {
        let processes = self.plan.processes as usize;
        let mut finish = vec![0u64; processes];
        if self.plan.by_process == 1 {
            let from = 8 * u64::from(index) * processes as u64;
            self.loaded.device.read(&*self.finish, from, bytemuck::cast_slice_mut(&mut finish))?;
        } else {
            let mut all = vec![0u64; processes * self.count as usize];
            self.loaded.device.read(&*self.finish, 0, bytemuck::cast_slice_mut(&mut all))?;
            let own = all.into_iter().skip(index as usize).step_by(self.count as usize);
            finish.iter_mut().zip(own).for_each(|(to, from)| *to = from);
        }
        Ok(finish.into_iter().map(Time).collect())
    }
}

//! Collectives that all processes begin at the same moment.
//!
//! The clocks of all processes are compared with that of the first, using the fastest of many round
//! trips, at the beginning of each cycle and when a comparison has become too old. The first
//! process sets a time for each trial; all wait for it and then call. A trial is not counted if a
//! process was late for it. Recorded are the time from the set moment to the end of each process's
//! call, and to the last of these ends. No timer cost is subtracted: the beginning is a set moment,
//! and only the end is read.

use super::plan::Configuration;
use super::{Kernel, Measured, Members};
use crate::session::Session;
use anyhow::Result;
use std::time::{Duration, Instant};
use straggler_measure::latency::Recorder;
use straggler_model::Time;
use straggler_model::latency::{Bins, Kind, Labels, Series, TimerCost};

pub struct Together<'a> {
    session: &'a Session,
    /// When the measurement must end.
    deadline: Option<Instant>,
    members: &'a Members,
    kernel: Kernel,
    configuration: Configuration,
    clock: Clock,
    /// The offset added to the first process's time to get this process's, in ps.
    offset: i64,
    /// Bound on the offset's error: half of the fastest round trip, plus the change from one comparison to the next.
    error: u64,
    compared: Instant,
    /// Time from one trial to the next, in ps.
    window: u64,
    per_rank: Recorder,
    /// The times of all processes together, on the first one.
    all: Option<Recorder>,
    trials: u64,
    late: u64,
    sent: Vec<u8>,
    received: Vec<u8>,
}

/// This process's time, in ps since it began.
struct Clock {
    recorder: Recorder,
    zero: u64,
    ps_per_tick: f64,
}

impl Clock {
    fn now(&mut self) -> u64 {
        let straggler_measure::latency::Begun(ticks) = self.recorder.begin();
        ((ticks - self.zero) as f64 * self.ps_per_tick) as u64
    }
}

/// Number of round trips by which two clocks are compared.
const ROUND_TRIPS: u32 = 200;
/// The maximum number of trials per appointment and their approximate total length; then there is a
/// check whether to stop.
const BATCH: u64 = 64;
const BATCH_PS: u64 = 200_000_000_000;
/// If none of this many trials counted, the measurement is given up.
const HOPELESS: u64 = 4 * BATCH;
/// Approximate time of the calls before the first trial.
const WARM_UP_PS: u64 = 1_000_000_000_000;
/// With more ranks than this, the file would mostly consist of distributions of single ranks.
const MOST_RANKS: usize = 128;
/// The minimum and the maximum time between the appointment and the first trial.
const LEAD_PS: u64 = 200_000_000;
const LONGEST_LEAD_PS: u64 = 50_000_000_000;

impl<'a> Together<'a> {
    pub fn new(
        session: &'a Session,
        members: &'a Members,
        kernel: Kernel,
        configuration: &Configuration,
        deadline: Option<Instant>,
    ) -> Together<'a> {
        let labels = |kind| Labels {
            kernel: kernel.name().into(),
            kind,
            size: Some(configuration.size).filter(|_| kernel != Kernel::Barrier),
            processes_per_node: Some(configuration.per_node),
            switches: configuration.switches,
            peers: Some(configuration.peers),
            ..Labels::default()
        };
        let distribution = |kind| Recorder::new(&session.timer, labels(kind), Bins::default());
        let mut recorder = Recorder::new(&session.timer, Labels::default(), Bins::default());
        let straggler_measure::latency::Begun(zero) = recorder.begin();
        let clock = Clock { recorder, zero, ps_per_tick: 1e12 / session.timer.ticks_per_second };
        let count = members.ranks.len();
        let each = if kernel == Kernel::Alltoall { count } else { 1 };
        Together {
            session,
            deadline,
            members,
            kernel,
            configuration: *configuration,
            clock,
            offset: 0,
            error: 0,
            compared: Instant::now(),
            window: 0,
            per_rank: distribution(Kind::PerRank),
            all: (members.comm.rank() == 0).then(|| distribution(Kind::AllRanks)),
            trials: 0,
            late: 0,
            sent: vec![0; configuration.size as usize * each],
            received: vec![0; configuration.size as usize * each],
        }
    }

    fn ranks_are_kept(&self) -> bool {
        self.members.ranks.len() <= MOST_RANKS
    }

    fn call(&mut self) {
        let Together { members, kernel, sent, received, .. } = self;
        match kernel {
            Kernel::Barrier => members.comm.barrier(),
            Kernel::Bcast => members.comm.broadcast(sent),
            Kernel::Alltoall => members.comm.all_to_all(sent, received),
            _ => members.comm.largest_bytes(sent, received),
        }
    }

    /// Compares the clocks of all processes with that of the first.
    fn compare_clocks(&mut self) {
        let comm = &self.members.comm;
        let me = comm.rank();
        let mut worst = 0;
        for other in 1..comm.size() {
            if me == 0 {
                let (mut fastest, mut offset) = (u64::MAX, 0);
                for _ in 0..ROUND_TRIPS {
                    let asked = self.clock.now();
                    comm.send_number(other, 0);
                    let theirs = comm.receive_number(other);
                    let answered = self.clock.now();
                    if answered - asked < fastest {
                        fastest = answered - asked;
                        offset = theirs as i64 - (asked + fastest / 2) as i64;
                    }
                }
                comm.send_number(other, offset as u64);
                worst = worst.max(fastest / 2);
            } else if me == other {
                for _ in 0..ROUND_TRIPS {
                    comm.receive_number(0);
                    comm.send_number(0, self.clock.now());
                }
                let offset = comm.receive_number(0) as i64;
                if self.window > 0 {
                    worst = worst.max(offset.abs_diff(self.offset));
                }
                self.offset = offset;
            }
        }
        let of_all = comm.largest(&[worst]);
        self.error = self.error.max(of_all[0]);
        self.compared = Instant::now();
    }

    /// The longest of a few calls, over all processes.
    fn longest_call(&mut self, trials: u64) -> u64 {
        let mut longest = 0;
        for _ in 0..trials {
            self.members.comm.barrier();
            let begun = self.clock.now();
            self.call();
            longest = longest.max(self.clock.now() - begun);
        }
        self.members.comm.largest(&[longest])[0]
    }

    /// Lengthens the time between trials if processes are late, and shortens it if calls take much
    /// less. All processes see the same times, so all adapt alike.
    fn adapt(&mut self, longest: &[u64], late: u64) {
        let mut sorted = longest.to_vec();
        sorted.sort_unstable();
        let most = sorted.get(sorted.len() * 9 / 10).copied().unwrap_or(LATE);
        if late * 10 > longest.len() as u64 {
            self.window = (self.window * 2).min(LONGEST_WINDOW_PS).max(self.window);
        } else if most < self.window / 8 {
            self.window = (self.window / 2).max(SHORTEST_WINDOW_PS);
        }
    }

    /// Whether the measurement must end; the first process decides for all.
    fn is_over(&self) -> bool {
        self.session.stopped() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Number of trials in the next appointment; the same on all processes, since the window is.
    fn at_once(&self) -> u64 {
        (BATCH_PS / self.window.max(1)).clamp(1, BATCH)
    }

    /// Makes the calls at the times set. Returns how long each took, or that this process was late;
    /// empty if the measurement must end.
    fn keep_appointments(&mut self, trials: u64) -> Vec<u64> {
        let start = match self.members.comm.rank() {
            0 if self.is_over() => END,
            0 if self.compared.elapsed() > TRUSTED => COMPARE_AGAIN,
            0 => self.clock.now() + (4 * self.window).clamp(LEAD_PS, LONGEST_LEAD_PS),
            _ => 0,
        };
        let start = self.members.comm.broadcast_number(start);
        // Clocks drift apart: the first process decides when to compare them again.
        if start == COMPARE_AGAIN {
            self.compare_clocks();
            return self.keep_appointments(trials);
        }
        if start == END {
            return Vec::new();
        }
        (0..trials)
            .map(|trial| {
                let at = (start + trial * self.window).saturating_add_signed(self.offset);
                let mut now = self.clock.now();
                let late = now > at;
                while now < at {
                    std::hint::spin_loop();
                    now = self.clock.now();
                }
                self.call();
                let took = self.clock.now().saturating_sub(at);
                if late { LATE } else { took.min(LATE - 1) }
            })
            .collect()
    }
}

impl Together<'_> {
    /// Records the trials for which no process was late.
    fn record(&mut self, own: &[u64]) {
        let longest = self.members.comm.largest(own);
        for (own, longest) in own.iter().zip(&longest).filter(|(_, longest)| **longest != LATE) {
            self.per_rank.record(Time(*own));
            if let Some(all) = &mut self.all {
                all.record(Time(*longest));
            }
        }
        let late = longest.iter().filter(|&&longest| longest == LATE).count() as u64;
        (self.trials, self.late) = (self.trials + longest.len() as u64, self.late + late);
        self.adapt(&longest, late);
    }

    /// Labels a series as recorded: no timer cost was subtracted, and clocks may differ.
    fn as_recorded(&self, series: Series) -> Series {
        let timer = TimerCost { subtracted: None, ..series.timer };
        Series { timer, clock_error: Some(Time(self.error)), ..series }
    }
}

/// How long a comparison of clocks stays valid.
const TRUSTED: Duration = Duration::from_secs(1);
const COMPARE_AGAIN: u64 = u64::MAX;
const END: u64 = u64::MAX - 1;

/// Marks a trial for which a process was late; larger than any time.
const LATE: u64 = u64::MAX;

impl Measured for Together<'_> {
    fn warm_up(&mut self, trials: u64) -> Result<()> {
        self.compare_clocks();
        // The first calls open connections.
        let affordable = (WARM_UP_PS / self.longest_call(1).max(1)).clamp(1, 50);
        self.longest_call(trials.min(affordable));
        self.window = 2 * self.longest_call(trials.clamp(10, 50).min(affordable)) + SHORTEST_WINDOW_PS;
        Ok(())
    }

    fn run(&mut self, trials: u64) -> Result<()> {
        let mut left = trials;
        while left > 0 && self.hopeless().is_none() {
            let next = left.min(self.at_once());
            let own = self.keep_appointments(next);
            if own.is_empty() {
                break;
            }
            self.record(&own);
            left -= next;
        }
        self.per_rank.check_timer();
        Ok(())
    }

    fn hopeless(&self) -> Option<String> {
        (self.trials >= HOPELESS && self.late == self.trials).then(|| {
            format!(
                "A process was late in each of {} trials, so none of them counts: use no more processes than cores, and \
                 bind them.",
                self.trials
            )
        })
    }

    fn batch(&self) -> u64 {
        BATCH
    }

    fn end_cycle(&mut self) {
        for one in [Some(&mut self.per_rank), self.all.as_mut()].into_iter().flatten() {
            one.end_cycle();
        }
        self.compare_clocks();
    }

    /// The times of all ranks together, and those of each rank unless there are too many.
    fn series(&mut self) -> Vec<Series> {
        let together = self.per_rank.so_far();
        let together = self.as_recorded(together);
        let all = self.all.as_mut().map(|all| all.so_far());
        let mut list: Vec<Series> = all.into_iter().map(|all| self.as_recorded(all)).collect();
        let rank = self.members.ranks[self.members.comm.rank() as usize];
        if self.ranks_are_kept() {
            let mut own = together.clone();
            own.labels.rank = Some(rank);
            list.push(own);
        }
        list.push(together.recorded_by(rank));
        list.retain(|series| !series.trials.is_empty());
        list
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.members.comm.rank() == 0 {
            let what = self.configuration;
            notes.push(format!("{what}: clock offsets are known to within {}.", Time(self.error)));
            if !self.ranks_are_kept() {
                notes.push(format!(
                    "{what}: times of all ranks are merged, because there are more than {MOST_RANKS} ranks."
                ));
            }
            if self.late > 0 {
                notes.push(format!(
                    "{what}: {} of {} trials were discarded because a process was late.",
                    self.late, self.trials
                ));
            }
        }
        notes
    }
}

const SHORTEST_WINDOW_PS: u64 = 5_000_000;
/// A tenth of a second. A process that is later than this does not catch up.
const LONGEST_WINDOW_PS: u64 = 100_000_000_000;

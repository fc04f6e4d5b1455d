//! A run that resumes from any of its checkpoints, with other threads or on a cluster, gives the same results.

use crate::tests::runs::any_run;
use crate::tests::{steps, workloads};
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, Cursor, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, Once};
use straggler_model::{Network, Time};
use straggler_sim::checkpoint::{Checkpoints, Position, index};
use straggler_sim::cluster::{Cluster, on_threads};
use straggler_sim::{Control, Outcome, RunError, Simulation, Workload};

/// The bytes written for each part, by window and first block.
type Files = BTreeMap<(u64, u32), Vec<u8>>;

/// Checkpoints in memory.
#[derive(Default)]
struct Memory {
    /// Windows between checkpoints; 0 for none.
    every: u32,
    asked: AtomicU32,
    files: Mutex<Files>,
    whole: Mutex<Vec<Position>>,
    begin: Option<Position>,
}

impl Checkpoints for Memory {
    fn is_due(&self) -> bool {
        self.every > 0 && self.asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(self.every)
    }

    fn write(
        &self,
        window: u64,
        first: u32,
        fill: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut file = Vec::new();
        fill(&mut file)?;
        assert_eq!(self.files.lock().unwrap().insert((window, first), file), None);
        Ok(())
    }

    fn complete(&self, position: &Position) -> io::Result<()> {
        self.whole.lock().unwrap().push(*position);
        Ok(())
    }

    fn position(&self) -> Option<Position> {
        self.begin
    }

    fn read(&self, block: u32) -> io::Result<Vec<u8>> {
        let window = self.begin.unwrap().window;
        for ((_, _), file) in self.files.lock().unwrap().range((window, 0)..=(window, u32::MAX)) {
            let mut file = Cursor::new(file);
            if let Some(record) = index(&mut file)?.into_iter().find(|record| record.block == block) {
                return record.read(&mut file);
            }
        }
        Err(io::ErrorKind::NotFound.into())
    }
}

fn run(
    simulation: &Simulation<'_>,
    workload: &Workload,
    checkpoints: &dyn Checkpoints,
    (threads, cluster): (usize, Option<&dyn Cluster>),
) -> Result<Outcome, RunError> {
    let control = Control::new(threads);
    let mut control = Control { cluster, checkpoints: Some(checkpoints), block_shift: Some(2), ..control };
    Ok(simulation.run(workload, &mut control)?.outcome)
}

fn figures(outcome: &Outcome) -> impl PartialEq + std::fmt::Debug + use<> {
    (outcome.messages, outcome.makespan(), outcome.windows, outcome.stuck.clone())
}

/// Writes a checkpoint every few windows, and resumes from each of them.
fn goes_on(simulation: &Simulation<'_>, workload: &Workload, every: u32) -> Result<(), TestCaseError> {
    let kept = Memory { every, ..Memory::default() };
    let Ok(whole) = run(simulation, workload, &kept, (2, None)) else { return Ok(()) };
    let nothing = Memory::default();
    prop_assert_eq!(figures(&run(simulation, workload, &nothing, (1, None)).unwrap()), figures(&whole));
    let positions = kept.whole.into_inner().unwrap();
    let mut files = kept.files.into_inner().unwrap();
    for position in positions.into_iter().take(5) {
        let from_here = Memory { begin: Some(position), files: Mutex::new(files), ..Memory::default() };
        for threads in [1, 3] {
            let again = run(simulation, workload, &from_here, (threads, None)).unwrap();
            prop_assert_eq!(&again.finish, &whole.finish, "from {:?}", position);
            prop_assert_eq!(figures(&again), figures(&whole), "from {:?}", position);
        }
        let shared =
            on_threads(3, |member| run(simulation, workload, &from_here, (1, Some(member))).unwrap());
        let finish: Vec<Time> = shared.iter().flat_map(|outcome| outcome.finish.clone()).collect();
        prop_assert_eq!(&finish, &whole.finish, "on a cluster, from {:?}", position);
        shared.iter().try_for_each(|outcome| {
            prop_assert_eq!(figures(outcome), figures(&whole));
            Ok(())
        })?;
        files = from_here.files.into_inner().unwrap();
    }
    Ok(())
}

/// A checkpoint with some bytes of a block's state changed, and right checksums.
struct Forged<'a> {
    kept: &'a Memory,
    block: u32,
    changes: &'a [(prop::sample::Index, u8)],
}

impl Checkpoints for Forged<'_> {
    fn is_due(&self) -> bool {
        false
    }
    fn write(&self, _: u64, _: u32, _: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        Ok(())
    }
    fn complete(&self, _: &Position) -> io::Result<()> {
        Ok(())
    }
    fn position(&self) -> Option<Position> {
        self.kept.position()
    }
    fn read(&self, block: u32) -> io::Result<Vec<u8>> {
        let mut state = self.kept.read(block)?;
        if block == self.block {
            for (place, change) in self.changes {
                let place = place.index(state.len());
                state[place] ^= change;
            }
        }
        Ok(state)
    }
}

/// Resumes from checkpoints that somebody has changed.
fn forge(
    simulation: &Simulation<'_>,
    workload: &Workload,
    every: u32,
    changes: &[(prop::sample::Index, u8)],
) {
    note_panics();
    let kept = Memory { every, ..Memory::default() };
    if run(simulation, workload, &kept, (1, None)).is_err() {
        return;
    }
    let positions = kept.whole.into_inner().unwrap();
    let Some(position) = positions.get(positions.len() / 2) else { return };
    let kept = Memory { begin: Some(*position), files: kept.files, ..Memory::default() };
    // One, two or three changes at once.
    for number in 0..changes.len() {
        let changes = &changes[number..changes.len().min(number + 1 + number % 3)];
        let block = number as u32 % position.processes.div_ceil(1 << position.shift);
        let forged = Forged { kept: &kept, block, changes };
        let ended = catch_unwind(AssertUnwindSafe(|| drop(run(simulation, workload, &forged, (1, None)))));
        assert!(
            ended.is_ok() || PANIC.take().is_some_and(|panic| panic.is_only_checked_in_tests()),
            "{changes:?}"
        );
    }
}

/// Where a thread has panicked last, and why.
struct Panic {
    file: String,
    line: usize,
    text: String,
}

thread_local! {
    static PANIC: Cell<Option<Panic>> = const { Cell::new(None) };
}

/// Fills [`PANIC`] from here on.
fn note_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let place = panic.location().map(|at| (at.file().to_string(), at.line() as usize));
            let (file, line) = place.unwrap_or_default();
            PANIC.set(Some(Panic { file, line, text: panic.to_string() }));
            before(panic);
        }));
    });
}

impl Panic {
    /// Whether it comes from an assertion, or a check of arithmetic, that the program does not have: it goes on then.
    fn is_only_checked_in_tests(&self) -> bool {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let source = std::fs::read_to_string(root.join(&self.file)).unwrap_or_default();
        let line = source.lines().nth(self.line.wrapping_sub(1)).unwrap_or_default();
        line.contains("debug_assert")
            || self.text.contains("attempt to ") && self.text.contains(" with overflow")
    }
}

fn change() -> impl Strategy<Value = (prop::sample::Index, u8)> {
    let byte = prop_oneof![Just(0xff), Just(0x80), (0u32..8).prop_map(|bit| 1 << bit), 1u8..];
    (any::<prop::sample::Index>(), byte)
}

proptest! {
    /// They are refused, or run to an end: nothing in them is used before it is checked.
    #[test]
    fn forged_states_do_no_harm(
        run in any_run(),
        every in 1u32..20,
        changes in prop::collection::vec(change(), 12),
    ) {
        forge(&run.simulation(), &run.workload, every, &changes);
    }

    #[test]
    fn forged_states_of_applications_do_no_harm(
        which in 0usize..22,
        every in 1u32..20,
        changes in prop::collection::vec(change(), 12),
    ) {
        let (network, noise) = (workloads::network(), workloads::noise());
        let simulation = Simulation { noise: Some(&noise), ..Simulation::new(&network) };
        forge(&simulation, &workloads::applications().nth(which).unwrap(), every, &changes);
    }

    #[test]
    fn runs_go_on(run in any_run(), every in 1u32..20) {
        goes_on(&run.simulation(), &run.workload, every)?;
    }
}

/// Steps that overlap, and rendezvous.
#[test]
fn applications_go_on() {
    let (network, noise) = (workloads::network(), workloads::noise());
    for workload in workloads::applications() {
        let simulation = Simulation { noise: Some(&noise), ..Simulation::new(&network) };
        goes_on(&simulation, &workload, 3).unwrap();
    }
}

#[test]
fn a_run_has_the_checkpoints_that_it_asks_for() {
    let network = Network::parse("chic").unwrap();
    let workload = Workload::once(steps::collective(0, 50, 8, 0, 1));
    let kept = Memory { every: 1, ..Memory::default() };
    let windows = run(&Simulation::new(&network), &workload, &kept, (1, None)).unwrap().windows;
    assert!(windows > 5);
    // A checkpoint completes only after a window, so there is one for every two windows.
    assert_eq!(kept.whole.into_inner().unwrap().len() as u64, windows / 2);
}

#[test]
fn a_checkpoint_that_cannot_be_written_or_read_is_named() {
    struct Full;
    impl Checkpoints for Full {
        fn is_due(&self) -> bool {
            true
        }
        fn write(
            &self,
            _: u64,
            _: u32,
            _: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
        ) -> io::Result<()> {
            Err(io::Error::other("the disk is full"))
        }
        fn complete(&self, _: &Position) -> io::Result<()> {
            Ok(())
        }
        fn position(&self) -> Option<Position> {
            None
        }
        fn read(&self, _: u32) -> io::Result<Vec<u8>> {
            Err(io::ErrorKind::NotFound.into())
        }
    }
    let network = Network::parse("chic").unwrap();
    let workload = Workload::once(steps::collective(0, 50, 8, 0, 1));
    let error = run(&Simulation::new(&network), &workload, &Full, (1, None)).unwrap_err();
    assert_eq!(error.to_string(), "the checkpoint cannot be written: the disk is full");
    let begin = Position { window: 3, simulated_ps: 0, windows: 3, shift: 2, processes: 50 };
    let nowhere = Memory { begin: Some(begin), ..Memory::default() };
    let error = run(&Simulation::new(&network), &workload, &nowhere, (2, None)).unwrap_err();
    assert!(error.to_string().starts_with("the checkpoint cannot be read: "), "{error}");
}

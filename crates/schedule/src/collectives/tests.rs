//! Every algorithm for all small numbers of processes, all roots and several sizes: the data
//! arrives where it should, and the closed formulas match the steps.

mod counting;
mod limits;
mod rounds;

use super::check::check;
use super::sizes::Sizes;
use super::{Algorithm, Collective, Data, Job, Name, Operation};
use crate::script::materialise;
use crate::validate::validate;
use crate::{Cycles, Message, Step, Steps, Symmetry};
use straggler_model::network::PerByte;
use straggler_model::{Rank, Time};

/// No data, one byte, a size that most numbers of processes divide unevenly, and one with many segments.
const SIZES: [u64; 4] = [0, 1, 13, 200];

/// All algorithms of an operation, with all parameters to test.
fn variants(operation: Operation) -> Vec<Algorithm> {
    let texts = operation.algorithms().iter().flat_map(|name| {
        let parameters: &[&str] = match name {
            Name::Binary | Name::Chain | Name::DoubleTree => &["", ",segment=1", ",segment=7", ",segment=64"],
            Name::Bruck | Name::Dissemination => {
                &["", ",radix=2", ",radix=3", ",radix=4", ",radix=5", ",radix=40"]
            }
            Name::KNomial => &["", ",radix=2", ",radix=3", ",radix=5", ",radix=40"],
            Name::TwoLevel => two_levels(operation),
            _ => &[""],
        };
        parameters.iter().map(move |parameter| format!("{}{parameter}", name.text()))
    });
    texts.map(|text| Algorithm::parse(operation, &text).unwrap()).collect()
}

/// Ranks per node, and pairs of algorithms.
fn two_levels(operation: Operation) -> &'static [&'static str] {
    match operation.uniform() {
        Operation::Barrier => &[
            ",per-node=1",
            ",per-node=2,node=linear,network=dissemination",
            ",per-node=3,node=binomial,network=recursive-doubling",
            ",per-node=5,node=k-nomial,network=linear",
        ],
        Operation::Bcast => &[
            ",per-node=1",
            ",per-node=2,node=binary,network=scatter-allgather",
            ",per-node=3,node=linear,network=binomial",
            ",per-node=5,node=double-tree/segment=7,network=chain/segment=7",
        ],
        Operation::Reduce => &[
            ",per-node=1",
            ",per-node=2,node=binary,network=rabenseifner",
            ",per-node=3,node=linear,network=binomial",
            ",per-node=5,node=rabenseifner,network=chain/segment=7",
        ],
        Operation::Allreduce => &[
            ",per-node=1",
            ",per-node=2,node=binomial,network=ring",
            ",per-node=3,node=rabenseifner,network=recursive-doubling",
            ",per-node=5,node=chain/segment=7,network=dissemination",
        ],
        Operation::Scatter | Operation::Gather => &[
            ",per-node=1",
            ",per-node=2,node=linear,network=binomial",
            ",per-node=3,node=binomial,network=k-nomial/radix=3",
            ",per-node=5,node=k-nomial,network=linear",
        ],
        Operation::Allgather => &[",per-node=1", ",per-node=2,node=linear", ",per-node=3", ",per-node=5"],
        _ => &[],
    }
}

fn sizes(operation: Operation) -> Vec<Sizes> {
    let uniform = SIZES.into_iter().map(Sizes::uniform);
    if operation.is_vector() {
        uniform.chain([Sizes::repeating(&[3, 0, 11, 1]), Sizes::repeating(&[0, 40])]).collect()
    } else {
        uniform.collect()
    }
}

/// All roots up to 17 processes; of more, the first, one in the middle and the last.
fn roots(operation: Operation, processes: u32) -> Vec<u32> {
    match processes {
        _ if !operation.has_root() => vec![0],
        ..=17 => (0..processes).collect(),
        _ => vec![0, processes / 2 + 1, processes - 1],
    }
}

/// Whether the combination is worth testing: some have too many blocks or segments.
fn tried(operation: Operation, algorithm: &Algorithm, job: &Job) -> bool {
    if algorithm.segment.is_some_and(|segment| job.vector() > 30 * segment) {
        return false;
    }
    // Almost no data behaves the same with many processes.
    if job.processes > 17 && job.sizes.largest() <= 1 {
        return false;
    }
    // Tests one uniform size and one list of different sizes.
    operation.data() != Data::BlockForEachPair
        || job.processes <= 17
        || [11, 13].contains(&job.sizes.largest())
}

fn each(most: u32, mut examine: impl FnMut(Operation, &Algorithm, &Job, &Collective)) {
    for operation in Operation::ALL {
        for algorithm in variants(operation) {
            for processes in 1..=most {
                for root in roots(operation, processes) {
                    for sizes in sizes(operation) {
                        let job = Job { processes, root, sizes, reduction: PerByte::from_ps(7) };
                        if tried(operation, &algorithm, &job) {
                            let collective = algorithm.build(operation, &job).unwrap();
                            examine(operation, &algorithm, &job, &collective);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn every_rank_gets_what_the_operation_promises() {
    each(24, |operation, algorithm, job, collective| {
        let proof = check(operation, job, collective)
            .unwrap_or_else(|fault| panic!("{operation}:{algorithm} {job:?}: {fault}"));
        // Without data there are no contributions, and for a barrier counting twice does no harm.
        if operation != Operation::Barrier && job.vector() > 0 {
            let exact = algorithm.is_exact(operation, job.processes);
            assert_eq!(proof.exact, exact, "{operation}:{algorithm} {job:?}");
        }
        assert_eq!(proof.messages, collective.messages(), "{operation}:{algorithm} {job:?}");
    });
}

/// Wraps a collective so that everything but its steps uses the default methods.
#[derive(Debug)]
struct Generic<'a>(&'a Collective);

impl Steps for Generic<'_> {
    fn processes(&self) -> u32 {
        self.0.processes()
    }
    fn stages(&self, rank: Rank) -> u32 {
        self.0.stages(rank)
    }
    fn step(&self, rank: Rank, stage: u32) -> Step {
        self.0.step(rank, stage)
    }
    fn largest_message(&self) -> u64 {
        let steps =
            (0..self.processes()).flat_map(|rank| (0..self.stages(rank)).map(move |stage| (rank, stage)));
        steps.filter_map(|(rank, stage)| self.step(rank, stage).send).map(|m| m.bytes).max().unwrap_or(0)
    }
}

#[test]
fn closed_formulas_count_what_is_there() {
    each(20, |operation, algorithm, job, collective| {
        let generic = Generic(collective);
        assert_eq!(collective.messages(), generic.messages(), "{operation}:{algorithm} {job:?}");
        assert_eq!(
            collective.largest_message(),
            generic.largest_message(),
            "{operation}:{algorithm} {job:?}"
        );
        let overlaps = (0..job.processes).any(|rank| {
            (0..collective.stages(rank)).any(|stage| collective.step(rank, stage).then != Default::default())
        });
        assert!(collective.overlaps() || !overlaps, "{operation}:{algorithm} {job:?}");
    });
}

#[test]
fn symmetries_hold() {
    let mut seen = std::collections::BTreeSet::new();
    each(33, |operation, algorithm, job, collective| {
        let processes = job.processes;
        let moved = |of_first: Message, rank: Rank| {
            let peer = match collective.symmetry() {
                Symmetry::Unknown => unreachable!("nothing is claimed"),
                Symmetry::Shifted => (of_first.peer + rank) % processes,
                Symmetry::Flipped => of_first.peer ^ rank,
            };
            Message { peer, ..of_first }
        };
        if collective.symmetry() == Symmetry::Unknown {
            return;
        }
        seen.insert(format!("{:?}", collective.symmetry()));
        for rank in 0..processes {
            assert_eq!(collective.stages(rank), collective.stages(0), "{operation}:{algorithm} {job:?}");
            for stage in 0..collective.stages(rank) {
                let first = collective.step(0, stage);
                let send = first.send.map(|message| moved(message, rank));
                let recv = first.recv.map(|message| moved(message, rank));
                let expected = Step { send, recv, ..first };
                assert_eq!(collective.step(rank, stage), expected, "{operation}:{algorithm} {job:?}");
            }
        }
    });
    assert_eq!(seen.len(), 2);
}

#[test]
fn schedules_are_valid() {
    each(9, |operation, algorithm, job, collective| {
        let graph = materialise(&Cycles::new(collective, 2, Time::from_ns(5)));
        assert_eq!(validate(&graph), [], "{operation}:{algorithm} {job:?}");
    });
}

#[test]
fn one_process_does_nothing() {
    each(1, |operation, algorithm, _, alone| {
        let counts = (alone.stages(0), alone.messages(), alone.largest_message());
        assert_eq!(counts, (0, 0, 0), "{operation}:{algorithm}");
    });
}

#[test]
fn what_would_overflow_is_refused() {
    use super::CollectiveError::*;
    let build =
        |operation, text: &str, job: &Job| Algorithm::parse(operation, text).unwrap().build(operation, job);
    let huge = Job::new(1 << 31, 1 << 50);
    let rooted = [Operation::Bcast, Operation::Reduce, Operation::Scatter, Operation::Gather];
    for operation in rooted.into_iter().chain([Operation::Barrier]) {
        assert!(matches!(build(operation, "linear", &huge), Err(TooManyProcesses { .. })), "{operation}");
        let wide = build(operation, "k-nomial,radix=4000000000", &huge);
        assert!(matches!(wide, Err(TooManyProcesses { .. })), "{operation}");
        let levels = build(operation, "two-level,per-node=4", &huge);
        assert!(matches!(levels, Err(TooManyProcesses { .. })), "{operation}");
        assert!(build(operation, "binomial", &huge).is_ok(), "{operation}");
        let none = Algorithm { radix: Some(1), ..Algorithm::from(Name::KNomial) };
        assert_eq!(none.build(operation, &Job::new(8, 1)).unwrap_err(), RadixTooSmall { radix: 1 });
    }
    for operation in [Operation::Bcast, Operation::Reduce] {
        for text in ["chain", "double-tree", "binary,segment=1"] {
            assert!(
                matches!(build(operation, text, &huge), Err(TooManySegments { .. })),
                "{operation}:{text}"
            );
        }
        let most = Job::new(1 << 31, 1 << 24);
        for text in ["chain,segment=1", "double-tree,segment=1", "binary,segment=1"] {
            let most = build(operation, text, &most).unwrap();
            let ranks = [0, 1, 2, 3, 1 << 30, (1 << 31) - 1];
            assert!(ranks.into_iter().all(|rank| most.stages(rank) < crate::steps::MOST_STAGES));
        }
    }
    let scatter = build(Operation::Scatter, "binomial", &huge).unwrap();
    assert!((0..3).all(|stage| scatter.step(0, stage).send.is_some()));
    assert!(matches!(build(Operation::Bcast, "scatter-allgather", &huge), Err(TooManyProcesses { .. })));
}

#[test]
fn tags_stay_below_what_is_said() {
    for operation in Operation::ALL {
        for &name in operation.algorithms().iter().filter(|&&name| name != Name::TwoLevel) {
            for processes in 1..14 {
                let job = Job { root: processes / 2, ..Job::new(processes, 1_000) };
                let Ok(collective) = Algorithm::from(name).build(operation, &job) else { continue };
                let ranks = (0..processes)
                    .flat_map(|rank| (0..collective.stages(rank)).map(move |stage| (rank, stage)));
                let steps = ranks.map(|(rank, stage)| collective.step(rank, stage));
                let tags = steps
                    .flat_map(|step| step.send.into_iter().chain(step.recv))
                    .map(|message| message.tag + 1);
                let most = tags.max().unwrap_or(0);
                // A single process sends nothing, but every part of an algorithm still reserves its tag.
                let slack = if processes == 1 { 2 } else { 1 };
                assert!(
                    collective.tags() >= most && collective.tags() <= most + slack,
                    "{operation} {name:?} {processes}"
                );
            }
        }
    }
}

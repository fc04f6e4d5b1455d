//! The largest numbers of processes and sizes: an algorithm rejects them or computes its steps.

use super::super::{CollectiveError, Job, MOST_PROCESSES, Name, Operation};
use crate::Steps;
use crate::steps::MOST_STAGES;
use straggler_model::network::PerByte;

const OPERATIONS: [Operation; 6] = [
    Operation::Allgather,
    Operation::Allreduce,
    Operation::Alltoall,
    Operation::Exscan,
    Operation::ReduceScatter,
    Operation::Scan,
];

#[test]
fn the_largest_numbers_are_refused_or_computed() {
    for operation in OPERATIONS {
        for algorithm in super::variants(operation) {
            for processes in [MOST_STAGES, MOST_STAGES + 1, MOST_PROCESSES - 1, MOST_PROCESSES] {
                for bytes in [8, u64::MAX] {
                    let job = Job { reduction: PerByte::from_ps(7), ..Job::new(processes, bytes) };
                    match algorithm.build(operation, &job) {
                        Err(CollectiveError::TooManyProcesses { limit, .. }) => assert!(limit < processes),
                        Err(CollectiveError::TooManySegments { .. }) => assert!(bytes > 8),
                        built => all_ends(&built.unwrap()),
                    }
                }
            }
        }
    }
}

/// Computes the first and last steps of the first and last ranks.
fn all_ends(steps: &impl Steps) {
    let all = steps.processes();
    assert!(steps.messages() > 0 && steps.largest_message() > 0);
    for rank in [0, 1, all / 2 - 1, all / 2, all - 2, all - 1] {
        let stages = steps.stages(rank);
        assert!((1..MOST_STAGES).contains(&stages));
        for stage in [0, stages / 2, stages - 1] {
            let step = steps.step(rank, stage);
            for message in step.send.into_iter().chain(step.recv) {
                assert!(message.peer < all && message.peer != rank, "{step:?}");
                assert!(message.bytes <= steps.largest_message(), "{step:?}");
            }
        }
    }
}

#[test]
fn algorithms_with_a_stage_for_every_rank_say_how_many_they_can() {
    let refused = |operation: Operation, name: Name| {
        let job = Job::new(MOST_STAGES + 1, 8);
        super::Algorithm::from(name).build(operation, &job).unwrap_err()
    };
    let fault = refused(Operation::Alltoall, Name::Tournament);
    assert_eq!(fault.to_string(), "268435457 processes are too many for tournament: at most 268435456");
    let limit = |fault| matches!(fault, CollectiveError::TooManyProcesses { limit: MOST_STAGES, .. });
    assert!(limit(refused(Operation::Allgather, Name::Ring)));
    assert!(limit(refused(Operation::ReduceScatter, Name::Pairwise)));
}

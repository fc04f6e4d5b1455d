//! OTF2's collectives: their numbers, and the meaning of their byte counts.
//!
//! The format does not define the bytes of a collective. Score-P counts as if every process sent its part
//! to every other, itself included: an allreduce of 8 bytes among 10 processes has sent and received 80
//! (scorep_mpi_coll_inc.c). A trace has the bytes of one part. With MPI_IN_PLACE Score-P leaves out the
//! process itself; that is recognised if the number is not a multiple of the number of processes.

use straggler_trace::{Class, Collective, Function, Start};

/// The operations in the order of their numbers.
const OPERATIONS: [Collective; 17] = [
    Collective::Barrier,
    Collective::Bcast,
    Collective::Gather,
    Collective::Gatherv,
    Collective::Scatter,
    Collective::Scatterv,
    Collective::Allgather,
    Collective::Allgatherv,
    Collective::Alltoall,
    Collective::Alltoallv,
    Collective::Alltoallw,
    Collective::Allreduce,
    Collective::Reduce,
    Collective::ReduceScatter,
    Collective::Scan,
    Collective::Exscan,
    Collective::ReduceScatterBlock,
];

/// The operation that creates a communicator.
pub(super) const CREATE_HANDLE: u8 = 17;

/// The number of an operation.
pub(super) fn number(operation: Collective) -> u8 {
    OPERATIONS.iter().position(|&other| other == operation).unwrap_or_default() as u8
}

/// The blocking function of an operation, by its number.
pub(super) fn blocking(number: u8) -> Option<Function> {
    function(number, Start::Blocking)
}

/// The nonblocking function of an operation, by its number.
pub(super) fn nonblocking(number: u8) -> Option<Function> {
    function(number, Start::Nonblocking)
}

fn function(number: u8, start: Start) -> Option<Function> {
    let operation = *OPERATIONS.get(usize::from(number))?;
    let wanted = Class::Collective(operation, start);
    Function::ALL.iter().copied().find(|function| function.class() == wanted)
}

/// How often a process's part is counted in the bytes sent and received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Factors {
    pub(super) sent: u64,
    pub(super) received: u64,
}

impl Factors {
    /// The factors for rank `me` of `size`. Parts of different sizes are counted as they are.
    pub(super) fn new(operation: Collective, size: u64, me: u64) -> Factors {
        let (sent, received) = match operation {
            Collective::Barrier
            | Collective::Gatherv
            | Collective::Scatterv
            | Collective::Alltoallv
            | Collective::Alltoallw => (1, 1),
            Collective::Bcast | Collective::Scatter | Collective::Allgatherv => (size, 1),
            Collective::Gather | Collective::Reduce | Collective::ReduceScatter => (1, size),
            Collective::Allgather
            | Collective::Alltoall
            | Collective::Allreduce
            | Collective::ReduceScatterBlock => (size, size),
            Collective::Scan => (size.saturating_sub(me), me.saturating_add(1)),
            Collective::Exscan => (size.saturating_sub(me.saturating_add(1)), me),
        };
        Factors { sent, received }
    }

    /// The bytes of one part, sent and received. The first and the last process of an exclusive
    /// scan have only one of the two.
    pub(super) fn parts(self, sent: u64, received: u64) -> (u64, u64) {
        let (sent, received) = (part(sent, self.sent), part(received, self.received));
        (sent.or(received).unwrap_or_default(), received.or(sent).unwrap_or_default())
    }
}

fn part(total: u64, factor: u64) -> Option<u64> {
    match (factor, factor.saturating_sub(1)) {
        (0, _) => None,
        (_, 0) => Some(total),
        (_, others) if !total.is_multiple_of(factor) && total.is_multiple_of(others) => Some(total / others),
        _ => Some(total / factor),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_what_the_factors_made_of_them() {
        for operation in OPERATIONS {
            for size in 1..6 {
                for me in 0..size {
                    let factors = Factors::new(operation, size, me);
                    let (sent, received) = factors.parts(factors.sent * 12, factors.received * 12);
                    if factors != (Factors { sent: 0, received: 0 }) {
                        assert_eq!((sent, received), (12, 12), "{operation:?} {me}/{size}");
                    }
                }
            }
        }
        // In place: nine of ten processes count.
        assert_eq!(Factors::new(Collective::Allreduce, 10, 0).parts(9 * 8, 9 * 8), (8, 8));
    }

    #[test]
    fn numbers_are_found_again() {
        for operation in OPERATIONS {
            let function = blocking(number(operation)).map(Function::class);
            assert_eq!(function, Some(Class::Collective(operation, Start::Blocking)));
        }
        assert_eq!((blocking(17), nonblocking(0)), (None, Some(Function::Ibarrier)));
    }
}

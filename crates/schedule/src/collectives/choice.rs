//! What a user may ask for: `OPERATION[:ALGORITHM]`.

use std::fmt;
use std::str::FromStr;

use straggler_model::Rank;

use super::allreduce::{Dissemination, RecursiveDoubling, Ring};
use super::{Collective, CollectiveError, barrier, broadcast, reduce};

/// An operation and its algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Choice {
    AllreduceDissemination,
    AllreduceRecursiveDoubling,
    AllreduceRing,
    BarrierDissemination,
    BroadcastBinomial,
    ReduceBinomial,
}

impl Choice {
    /// All of them; the first of an operation is its default.
    pub const ALL: [Choice; 6] = [
        Choice::AllreduceDissemination,
        Choice::AllreduceRecursiveDoubling,
        Choice::AllreduceRing,
        Choice::BarrierDissemination,
        Choice::BroadcastBinomial,
        Choice::ReduceBinomial,
    ];

    pub fn operation(self) -> &'static str {
        match self {
            Choice::AllreduceDissemination | Choice::AllreduceRecursiveDoubling | Choice::AllreduceRing => {
                "allreduce"
            }
            Choice::BarrierDissemination => "barrier",
            Choice::BroadcastBinomial => "bcast",
            Choice::ReduceBinomial => "reduce",
        }
    }

    pub fn algorithm(self) -> &'static str {
        match self {
            Choice::AllreduceDissemination | Choice::BarrierDissemination => "dissemination",
            Choice::AllreduceRecursiveDoubling => "recursive-doubling",
            Choice::AllreduceRing => "ring",
            Choice::BroadcastBinomial | Choice::ReduceBinomial => "binomial",
        }
    }

    /// Whether the operation has a root.
    pub fn has_root(self) -> bool {
        matches!(self, Choice::BroadcastBinomial | Choice::ReduceBinomial)
    }

    /// How many bytes to exchange when the user does not say.
    pub fn default_bytes(self) -> u64 {
        if self == Choice::BarrierDissemination { barrier::BYTES } else { 8 }
    }

    /// The collective over `processes` ranks with `bytes` of data. Only a broadcast and a reduction
    /// look at `root`.
    pub fn build(self, processes: u32, bytes: u64, root: Rank) -> Result<Collective, CollectiveError> {
        Ok(match self {
            Choice::AllreduceDissemination => {
                Collective::Dissemination(Dissemination::new(processes, bytes)?)
            }
            Choice::AllreduceRecursiveDoubling => {
                Collective::RecursiveDoubling(RecursiveDoubling::new(processes, bytes)?)
            }
            Choice::AllreduceRing => Collective::Ring(Ring::new(processes, bytes)?),
            Choice::BarrierDissemination => {
                Collective::Dissemination(barrier::dissemination(processes, bytes)?)
            }
            Choice::BroadcastBinomial => {
                Collective::BinomialBroadcast(broadcast::Binomial::new(processes, bytes, root)?)
            }
            Choice::ReduceBinomial => {
                Collective::BinomialReduce(reduce::Binomial::new(processes, bytes, root)?)
            }
        })
    }

    fn of_operation(operation: &str) -> impl Iterator<Item = Choice> + '_ {
        Choice::ALL.into_iter().filter(move |choice| choice.operation() == operation)
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.operation(), self.algorithm())
    }
}

/// The text names no collective; what there is.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnknownCollective {
    #[error("unknown collective operation `{operation}`: known are {known}")]
    Operation { operation: String, known: String },
    #[error("unknown algorithm `{algorithm}` for {operation}: known are {known}")]
    Algorithm { operation: &'static str, algorithm: String, known: String },
}

impl FromStr for Choice {
    type Err = UnknownCollective;

    fn from_str(text: &str) -> Result<Choice, UnknownCollective> {
        let (operation, algorithm) = match text.split_once(':') {
            Some((operation, algorithm)) => (operation, Some(algorithm)),
            None => (text, None),
        };
        let canonical = if operation == "broadcast" { "bcast" } else { operation };
        let Some(default) = Choice::of_operation(canonical).next() else {
            return Err(unknown_operation(operation));
        };
        let Some(algorithm) = algorithm else {
            return Ok(default);
        };
        let found = Choice::of_operation(canonical).find(|choice| choice.algorithm() == algorithm);
        found.ok_or_else(|| unknown_algorithm(default.operation(), algorithm))
    }
}

fn unknown_operation(operation: &str) -> UnknownCollective {
    let mut known: Vec<&str> = Choice::ALL.iter().map(|choice| choice.operation()).collect();
    known.dedup();
    UnknownCollective::Operation { operation: operation.to_string(), known: known.join(", ") }
}

fn unknown_algorithm(operation: &'static str, algorithm: &str) -> UnknownCollective {
    let known: Vec<&str> = Choice::of_operation(operation).map(Choice::algorithm).collect();
    UnknownCollective::Algorithm { operation, algorithm: algorithm.to_string(), known: known.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for choice in Choice::ALL {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
    }

    #[test]
    fn defaults_and_aliases() {
        assert_eq!("allreduce".parse(), Ok(Choice::AllreduceDissemination));
        assert_eq!("barrier".parse(), Ok(Choice::BarrierDissemination));
        assert_eq!("bcast".parse(), Ok(Choice::BroadcastBinomial));
        assert_eq!("broadcast:binomial".parse(), Ok(Choice::BroadcastBinomial));
        assert_eq!("reduce".parse(), Ok(Choice::ReduceBinomial));
    }

    #[test]
    fn what_is_unknown_is_listed() {
        let message = |text: &str| text.parse::<Choice>().unwrap_err().to_string();
        assert_eq!(
            message("gather"),
            "unknown collective operation `gather`: known are allreduce, barrier, bcast, reduce"
        );
        assert_eq!(
            message("allreduce:tree"),
            "unknown algorithm `tree` for allreduce: known are dissemination, recursive-doubling, ring"
        );
        assert_eq!(message("broadcast:"), "unknown algorithm `` for bcast: known are binomial");
    }

    #[test]
    fn parameters_are_checked() {
        let message =
            |choice: Choice, processes, root| choice.build(processes, 8, root).unwrap_err().to_string();
        assert_eq!(message(Choice::AllreduceRing, 0, 0), "a collective operation needs at least one process");
        assert_eq!(
            message(Choice::BroadcastBinomial, 4, 4),
            "root 4 is out of range: there are 4 processes, so it goes from 0 to 3"
        );
        assert_eq!(
            message(Choice::AllreduceRing, 1 << 29, 0),
            "536870912 processes are too many for ring: at most 268435456"
        );
        assert!(Choice::AllreduceDissemination.build(1 << 31, 8, 99).is_ok());
    }
}

//! The lengths of messages, by kind of traffic, in powers of two.

use crate::messages::Ends;
use crate::operations::{Kind, Operations};
use crate::{Class, Collective, Function, Start};
use serde::Serialize;
use std::collections::BTreeMap;

/// Messages of one kind whose lengths lie between two powers of two.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct SizeClass {
    /// `point-to-point`, the blocking form of a collective, or a function of one-sided communication.
    pub kind: &'static str,
    /// Lengths in bytes, both inclusive; 0 has a class of its own.
    #[serde(rename = "least_bytes")]
    pub least: u64,
    #[serde(rename = "most_bytes")]
    pub most: u64,
    pub messages: u64,
    pub bytes: u64,
}

/// The kind of all messages that belong to no collective.
pub const POINT_TO_POINT: &str = "point-to-point";

impl SizeClass {
    /// Counts messages by the bytes sent, and collectives once for every rank that takes part, by
    /// the larger of what it gives and what it gets according to its arguments.
    pub(super) fn new(operations: &[Operations<'_>], ends: &[Ends]) -> Vec<SizeClass> {
        let mut found: BTreeMap<(&'static str, u32), (u64, u64)> = BTreeMap::new();
        let mut add = |kind: &'static str, bytes: u64| {
            let (messages, sum) = found.entry((kind, bucket(bytes))).or_default();
            *messages += 1;
            *sum = sum.saturating_add(bytes);
        };
        ends.iter().flat_map(|rank| &rank.sends).for_each(|sent| add(POINT_TO_POINT, sent.bytes));
        for of_rank in operations {
            for row in of_rank.rows().iter().filter(|row| row.kind == Kind::Collective && !row.failed) {
                let Some(call) = of_rank.call(row.described) else { continue };
                if let Some(kind) = blocking_form(call.function) {
                    add(kind, call.sent.max(call.received));
                }
            }
            let transfers =
                of_rank.traced().calls.iter().filter(|call| call.function.class() == Class::OneSided);
            transfers.for_each(|call| add(call.function.name(), call.sent.max(call.received)));
        }
        let class = |((kind, bucket), (messages, bytes))| {
            let (least, most) = bounds(bucket);
            SizeClass { kind, least, most, messages, bytes }
        };
        let mut list: Vec<SizeClass> = found.into_iter().map(class).collect();
        list.sort_by_key(|class| class.kind != POINT_TO_POINT);
        list
    }
}

/// The name under which all forms of a collective are counted; `None` for barriers, which carry no data.
fn blocking_form(function: Function) -> Option<&'static str> {
    let blocking = match function.class() {
        Class::Collective(Collective::Barrier, _) => return None,
        Class::Collective(kind, _) => Class::Collective(kind, Start::Blocking),
        Class::Neighbor(kind, _) => Class::Neighbor(kind, Start::Blocking),
        _ => return None,
    };
    Function::ALL.iter().find(|function| function.class() == blocking).map(|function| function.name())
}

/// 0 for no bytes, else the number of binary digits.
fn bucket(bytes: u64) -> u32 {
    u64::BITS - bytes.leading_zeros()
}

fn bounds(bucket: u32) -> (u64, u64) {
    match bucket {
        0 => (0, 0),
        _ => (1 << (bucket - 1), u64::MAX >> (u64::BITS - bucket)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_lies_in_its_bounds_and_in_no_other() {
        for bytes in [0, 1, 2, 3, 4, 7, 8, 1023, 1024, 1025, u64::MAX / 2, u64::MAX / 2 + 1, u64::MAX] {
            let holding: Vec<u32> =
                (0..=64).filter(|&bucket| (bounds(bucket).0..=bounds(bucket).1).contains(&bytes)).collect();
            assert_eq!(holding, [bucket(bytes)], "{bytes}");
        }
    }

    #[test]
    fn forms_of_a_collective_are_one_kind() {
        let name = |function| blocking_form(function);
        assert_eq!(name(Function::Iallreduce), Some("MPI_Allreduce"));
        assert_eq!(name(Function::Neighbor_alltoall_init), Some("MPI_Neighbor_alltoall"));
        assert_eq!((name(Function::Ibarrier), name(Function::Send)), (None, None));
    }
}

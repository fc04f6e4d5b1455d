//! The sizes of datatypes.
//!
//! The file has a table of the sizes of all types the library knew at its end. Numbers of derived
//! types are reused after they are freed, so sizes given by a constructor or by MPI_Type_size take
//! precedence over the table.

use super::stream::Record;
use std::collections::HashMap;

#[derive(Debug, Default)]
pub(super) struct Types {
    table: Vec<i32>,
    learnt: HashMap<i32, u64>,
    /// Uses of types with unknown size.
    pub unknown: u64,
}

impl Types {
    pub fn new(table: Vec<i32>) -> Types {
        Types { table, ..Types::default() }
    }

    /// The size of one element.
    pub fn size(&mut self, datatype: i32) -> u64 {
        match self.known(datatype) {
            Some(size) => size,
            None => {
                self.unknown += 1;
                0
            }
        }
    }

    fn known(&self, datatype: i32) -> Option<u64> {
        let listed = || self.table.get(usize::try_from(datatype).ok()?).copied();
        self.learnt.get(&datatype).copied().or_else(|| u64::try_from(listed()?).ok())
    }

    /// Records what a call says about types.
    pub fn learn(&mut self, record: &Record) {
        let (given, made) = (record.number(b'o'), record.number(b'O'));
        if record.name() == "Type_size" {
            self.set(given, record.number(b'z').and_then(|size| u64::try_from(size).ok()));
        } else if record.name() == "Type_match_size" {
            self.set(made, record.number(b'z').and_then(|size| u64::try_from(size).ok()));
        } else if let Some(made) = made {
            let size = self.constructed(record);
            self.learnt.remove(&made);
            self.set(Some(made), size);
        }
    }

    fn set(&mut self, datatype: Option<i32>, size: Option<u64>) {
        if let (Some(datatype), Some(size)) = (datatype, size) {
            self.learnt.insert(datatype, size);
        }
    }

    fn constructed(&self, record: &Record) -> Option<u64> {
        let positive = |value: i32| u64::try_from(value).unwrap_or(0);
        let old = || record.number(b'o').and_then(|old| self.known(old));
        let lengths = || record.list(b'u').map(|lengths| lengths.iter().copied().map(positive));
        let number = |letter| record.number(letter).map(positive);
        match record.name() {
            "Type_dup" | "Type_create_resized" => old(),
            "Type_contiguous" => Some(number(b'b')?.saturating_mul(old()?)),
            "Type_vector" | "Type_hvector" | "Type_create_hvector" | "Type_create_indexed_block" => {
                Some(number(b'b')?.saturating_mul(number(b'z')?).saturating_mul(old()?))
            }
            "Type_indexed" | "Type_hindexed" | "Type_create_hindexed" => {
                Some(lengths()?.fold(0, u64::saturating_add).saturating_mul(old()?))
            }
            "Type_create_subarray" => Some(lengths()?.fold(1, u64::saturating_mul).saturating_mul(old()?)),
            "Type_struct" | "Type_create_struct" => {
                let types = record.list(b'w')?.iter();
                let mut parts =
                    lengths()?.zip(types).map(|(length, old)| Some(length.saturating_mul(self.known(*old)?)));
                parts.try_fold(0, |total: u64, part| Some(total.saturating_add(part?)))
            }
            // The part of a distributed array that one process holds depends on more than the record's lists.
            _ => None,
        }
    }
}

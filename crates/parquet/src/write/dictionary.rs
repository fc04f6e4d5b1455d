//! The distinct values of a column of a group, and the ids of its rows.

use super::Kind;
use super::chunk::present_rows;
use crate::values::{ColumnValues, Strings, Texts, Values};
use std::collections::HashMap;
use std::io;

pub enum Dictionary {
    Integers { kind: Kind, entries: Vec<i64>, small: Vec<u32>, large: HashMap<i64, u32> },
    Texts { pool: Texts, ids: HashMap<Vec<u8>, u32> },
}

/// Integers from [`SMALLEST`] up to this many are looked up in an array: ranks, stages and steps are that small.
const SMALL: usize = 1 << 16;
const SMALLEST: i64 = -1;
/// No id yet.
const NONE: u32 = u32::MAX;

impl Dictionary {
    /// A dictionary of integers or texts.
    pub fn new(kind: Kind) -> io::Result<Dictionary> {
        match kind {
            Kind::I32 | Kind::U32 | Kind::I64 | Kind::U64 => Ok(Dictionary::Integers {
                kind,
                entries: Vec::new(),
                small: vec![NONE; SMALL],
                large: HashMap::new(),
            }),
            Kind::Text => Ok(Dictionary::Texts { pool: Texts::default(), ids: HashMap::new() }),
            Kind::Bool | Kind::F64 => Err(io::Error::other("only integers and texts have dictionaries")),
        }
    }

    /// Appends the ids of the rows that have a value. New values become entries.
    pub fn add(&mut self, values: &ColumnValues, ids: &mut Vec<u32>) -> io::Result<()> {
        let rows = present_rows(values);
        match (self, &values.values) {
            (Dictionary::Integers { entries, small, large, .. }, values) => {
                let mut id = |number: i64| integer_id(number, entries, small, large);
                match values {
                    Values::I32(numbers) => ids.extend(rows.map(|row| id(numbers[row].into()))),
                    Values::I64(numbers) => ids.extend(rows.map(|row| id(numbers[row]))),
                    _ => return Err(io::Error::other("values and dictionary have different types")),
                }
            }
            (Dictionary::Texts { pool, ids: known }, Values::Bytes(strings)) => {
                // By place in the strings' own pool, so that each of its entries is looked up once.
                let mut translated = vec![NONE; strings.pool().len()];
                for row in rows {
                    let slot = translated.get_mut(strings.ids()[row] as usize);
                    let mut none = NONE;
                    let slot = slot.unwrap_or(&mut none);
                    if *slot == NONE {
                        *slot = text_id(strings.get(row), pool, known);
                    }
                    ids.push(*slot);
                }
            }
            _ => return Err(io::Error::other("values and dictionary have different types")),
        }
        Ok(())
    }

    /// The distinct values, by id.
    pub fn entries(self) -> ColumnValues {
        let values = match self {
            Dictionary::Integers { kind: Kind::I32 | Kind::U32, entries, .. } => {
                Values::I32(entries.iter().map(|&entry| entry as i32).collect())
            }
            Dictionary::Integers { entries, .. } => Values::I64(entries),
            Dictionary::Texts { pool, .. } => {
                let ids = (0..pool.len() as u32).collect();
                Values::Bytes(Strings::new(pool, ids))
            }
        };
        values.into()
    }
}

#[inline]
fn integer_id(number: i64, entries: &mut Vec<i64>, small: &mut [u32], large: &mut HashMap<i64, u32>) -> u32 {
    let next = entries.len() as u32;
    let place = usize::try_from(number.wrapping_sub(SMALLEST)).unwrap_or(usize::MAX);
    let id = match small.get_mut(place) {
        Some(id) => id,
        None => large.entry(number).or_insert(NONE),
    };
    if *id == NONE {
        *id = next;
        entries.push(number);
    }
    *id
}

fn text_id(text: &[u8], pool: &mut Texts, known: &mut HashMap<Vec<u8>, u32>) -> u32 {
    if let Some(&id) = known.get(text) {
        return id;
    }
    let id = pool.len() as u32;
    pool.push(text);
    known.insert(text.to_vec(), id);
    id
}

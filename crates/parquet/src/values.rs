//! Some rows of one column.

/// Some rows of one column: a value for each, or none.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnValues {
    /// One for each row. That of a row without a value is 0, false or an empty text.
    pub values: Values,
    /// By row: whether it has a value. Empty if all have one.
    pub present: Vec<bool>,
}

impl ColumnValues {
    pub fn len(&self) -> usize {
        self.values.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a row has a value.
    pub fn is_present(&self, row: usize) -> bool {
        self.present.is_empty() || self.present.get(row) == Some(&true)
    }

    /// The first row without a value.
    pub fn first_missing(&self) -> Option<usize> {
        self.present.iter().position(|present| !present)
    }
}

impl From<Values> for ColumnValues {
    fn from(values: Values) -> ColumnValues {
        ColumnValues { values, present: Vec::new() }
    }
}

/// Values of one type. Unsigned integers have the bits of signed ones. Timestamps of 96 bits become nanoseconds since
/// 1970. Values of a fixed number of bytes are strings.
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    Bool(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Bytes(Strings),
}

impl Values {
    pub fn len(&self) -> usize {
        match self {
            Values::Bool(values) => values.len(),
            Values::I32(values) => values.len(),
            Values::I64(values) => values.len(),
            Values::F32(values) => values.len(),
            Values::F64(values) => values.len(),
            Values::Bytes(strings) => strings.ids.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all values, but keeps the dictionary.
    pub(crate) fn clear(&mut self) {
        match self {
            Values::Bool(values) => values.clear(),
            Values::I32(values) => values.clear(),
            Values::I64(values) => values.clear(),
            Values::F32(values) => values.clear(),
            Values::F64(values) => values.clear(),
            Values::Bytes(strings) => {
                strings.pool.truncate(strings.dictionary);
                strings.ids.clear();
            }
        }
    }

    /// Spreads the values from `first` on: each row that is present gets the next of them.
    pub(crate) fn spread(&mut self, first: usize, present: &[bool]) {
        match self {
            Values::Bool(values) => spread(values, first, present, false),
            Values::I32(values) => spread(values, first, present, 0),
            Values::I64(values) => spread(values, first, present, 0),
            Values::F32(values) => spread(values, first, present, 0.0),
            Values::F64(values) => spread(values, first, present, 0.0),
            Values::Bytes(strings) => spread(&mut strings.ids, first, present, Strings::NONE),
        }
    }
}

/// From the last row to the first, so that no value is overwritten before it has moved.
fn spread<T: Copy>(values: &mut Vec<T>, first: usize, present: &[bool], none: T) {
    let mut from = values.len();
    values.resize(first + present.len(), none);
    for (row, &present) in present.iter().enumerate().rev() {
        if present {
            from -= 1;
            values[first + row] = values[from];
        } else {
            values[first + row] = none;
        }
    }
}

/// Strings of bytes as numbers of a pool, so that those of a dictionary are stored once.
#[derive(Clone, Debug, Default)]
pub struct Strings {
    pub(crate) pool: Texts,
    /// The first strings of the pool are the column's dictionary: their ids mean the same in all rows of a group.
    pub(crate) dictionary: usize,
    pub(crate) ids: Vec<u32>,
}

impl Strings {
    /// The id of a row without a value.
    const NONE: u32 = u32::MAX;

    /// Strings of a pool, each by its place there. A place outside of the pool is an empty string.
    pub fn new(pool: Texts, ids: Vec<u32>) -> Strings {
        Strings { dictionary: pool.len(), pool, ids }
    }

    /// Each row's place in the pool.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    pub fn pool(&self) -> &Texts {
        &self.pool
    }

    /// Ids below this number mean the same strings in all rows of a group.
    pub fn dictionary_len(&self) -> usize {
        self.dictionary
    }

    /// The string of a row; empty if it has none.
    pub fn get(&self, row: usize) -> &[u8] {
        self.ids.get(row).map_or(&[], |&id| self.pool.get(id as usize))
    }
}

impl PartialEq for Strings {
    fn eq(&self, other: &Strings) -> bool {
        self.ids.len() == other.ids.len() && (0..self.ids.len()).all(|row| self.get(row) == other.get(row))
    }
}

impl<T: AsRef<[u8]>> FromIterator<T> for Strings {
    fn from_iter<I: IntoIterator<Item = T>>(strings: I) -> Strings {
        let mut all = Strings::default();
        for string in strings {
            all.ids.push(all.pool.len() as u32);
            all.pool.push(string.as_ref());
        }
        all
    }
}

/// Strings, stored one after the other.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Texts {
    pub(crate) bytes: Vec<u8>,
    pub(crate) ends: Vec<usize>,
}

impl Texts {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The string at a place; empty if there is none.
    pub fn get(&self, place: usize) -> &[u8] {
        let begin = place.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        let (Some(begin), Some(&end)) = (begin, self.ends.get(place)) else { return &[] };
        &self.bytes[begin..end]
    }

    pub fn push(&mut self, string: &[u8]) {
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len());
    }

    fn truncate(&mut self, length: usize) {
        self.ends.truncate(length);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
    }
}

impl<T: AsRef<[u8]>> FromIterator<T> for Texts {
    fn from_iter<I: IntoIterator<Item = T>>(strings: I) -> Texts {
        let mut all = Texts::default();
        strings.into_iter().for_each(|string| all.push(string.as_ref()));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_move_to_their_rows() {
        let mut values = Values::I32(vec![9, 8, 1, 2, 3]);
        values.spread(2, &[false, true, true, false, true, false]);
        assert_eq!(values, Values::I32(vec![9, 8, 0, 1, 2, 0, 3, 0]));
        let mut values = Values::Bytes(["a", "b"].into_iter().collect());
        values.spread(0, &[true, false, true]);
        assert_eq!(values, Values::Bytes(["a", "", "b"].into_iter().collect()));
    }
}

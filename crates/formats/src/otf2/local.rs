//! The definitions of one location: how its numbers and its clock map to the global ones.

use super::bytes::{Cursor, Record, Records};
use super::error::Fault;
use super::ids::local;
use std::collections::HashMap;

const DENSE: u8 = 0;
const SPARSE: u8 = 1;

/// A measured clock offset: what to add to the clock at one moment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Offset {
    pub(super) time: u64,
    pub(super) ticks: i64,
    pub(super) deviation: f64,
}

/// The definitions of one location.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct LocalDefinitions {
    /// By kind of number: the global number for a local one. Numbers without an entry stay as they are.
    mappings: HashMap<u8, HashMap<u64, u64>>,
    /// In order of time, without equal times.
    pub(super) offsets: Vec<Offset>,
}

impl LocalDefinitions {
    pub(super) fn parse(bytes: &[u8], chunk_size: u64) -> Result<LocalDefinitions, Fault> {
        let mut records = Records::of_definitions(bytes, chunk_size)?;
        let mut all = LocalDefinitions::default();
        while let Some(Record { id, offset, mut body, .. }) = records.next()? {
            match id {
                local::MAPPING_TABLE => {
                    let kind = body.u8()?;
                    let table = mapping_table(&mut body)?;
                    all.mappings.insert(kind, table);
                }
                local::CLOCK_OFFSET => all.add_offset(offset, &mut body)?,
                _ => {}
            }
        }
        Ok(all)
    }

    fn add_offset(&mut self, at: u64, body: &mut Cursor<'_>) -> Result<(), Fault> {
        let (time, ticks, deviation) = (body.full_u64()?, body.u64()? as i64, body.f64()?);
        if self.offsets.last().is_some_and(|before| before.time >= time) {
            return Err(Fault::new(at, "a clock offset that is not later than the previous one"));
        }
        self.offsets.push(Offset { time, ticks, deviation });
        Ok(())
    }

    /// The global number for a number of this location.
    pub(super) fn map(&self, kind: u8, number: u32) -> u32 {
        let mapped = self.mappings.get(&kind).and_then(|table| table.get(&number.into()));
        mapped.map_or(number, |&mapped| u32::try_from(mapped).unwrap_or(u32::MAX))
    }

    /// Converts a time of this location to the common clock: the offset is interpolated between two
    /// measurements, extrapolated beyond them, and rounded to whole ticks, ties to even, all as in
    /// libotf2. A single measurement is not used.
    pub(super) fn correct(&self, time: u64) -> Option<u64> {
        let after = self.offsets.partition_point(|offset| offset.time < time);
        let second = after.clamp(1, self.offsets.len().saturating_sub(1).max(1));
        let (Some(from), Some(to)) = (self.offsets.get(second - 1), self.offsets.get(second)) else {
            return Some(time);
        };
        let rise = i128::from(to.ticks) - i128::from(from.ticks);
        let passed = i128::from(time) - i128::from(from.time);
        let span = i128::from(to.time) - i128::from(from.time);
        let change = rounded(rise.checked_mul(passed)?, span);
        let offset = change.checked_add(i128::from(from.ticks))?;
        offset.checked_add(i128::from(time)).and_then(|time| u64::try_from(time).ok())
    }
}

/// A quotient with positive divisor, rounded to the nearest, ties to even.
fn rounded(dividend: i128, divisor: i128) -> i128 {
    let (down, rest) = (dividend.div_euclid(divisor), dividend.rem_euclid(divisor));
    match (rest * 2).cmp(&divisor) {
        std::cmp::Ordering::Less => down,
        std::cmp::Ordering::Equal => down + (down & 1),
        std::cmp::Ordering::Greater => down + 1,
    }
}

fn mapping_table(body: &mut Cursor<'_>) -> Result<HashMap<u64, u64>, Fault> {
    let count = body.u64()?;
    let mode = body.u8()?;
    if !matches!(mode, DENSE | SPARSE) {
        return Err(body.fault(format!("invalid mode {mode} of a mapping table")));
    }
    let room = usize::try_from(count).unwrap_or(usize::MAX).min(body.left());
    let mut table = HashMap::with_capacity(room);
    for place in 0..count {
        let from = if mode == DENSE { place } else { body.u64()? };
        table.insert(from, body.u64()?);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(offsets: &[(u64, i64)]) -> LocalDefinitions {
        let offset = |&(time, ticks): &(u64, i64)| Offset { time, ticks, deviation: 0.0 };
        LocalDefinitions { offsets: offsets.iter().map(offset).collect(), ..LocalDefinitions::default() }
    }

    #[test]
    fn offsets_are_interpolated_and_extrapolated() {
        let clock = with(&[(1000, 0), (2000, 100), (3000, 100)]);
        for (time, expected) in
            [(0, -100 + 100), (1000, 1000), (1500, 1550), (2000, 2100), (2500, 2600), (4000, 4100)]
        {
            assert_eq!(clock.correct(time), u64::try_from(expected).ok().filter(|_| time > 0), "{time}");
        }
        assert_eq!(with(&[(5, 100)]).correct(7), Some(7), "a single offset says nothing of the drift");
        assert_eq!(with(&[]).correct(7), Some(7));
        for last in [i64::MAX, i64::MAX / 2, 0] {
            assert_eq!(with(&[(0, i64::MIN), (1, last)]).correct(u64::MAX), None);
        }
    }

    #[test]
    fn quotients_are_rounded_to_even() {
        for (dividend, divisor, expected) in
            [(1, 2, 0), (3, 2, 2), (-1, 2, 0), (-3, 2, -2), (-5, 4, -1), (7, 4, 2)]
        {
            assert_eq!(rounded(dividend, divisor), expected, "{dividend}/{divisor}");
        }
    }
}

//! The columns of a table and their types. Field numbers and values are those of `parquet.thrift`.

use crate::error::{Fault, fault};
use crate::thrift::{self, Decoder, Wrong};
use std::fmt;

/// Groups within groups. Deeper ones are refused, so that their names cannot grow without limit.
const DEEPEST: usize = 64;

/// The columns that hold values, in the order of the file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schema {
    pub columns: Vec<Column>,
}

/// A column of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// For a nested column, the names from the outermost to the innermost, with dots.
    pub name: String,
    pub kind: ColumnType,
    /// Part of a list, struct or map: it cannot be read.
    pub nested: bool,
}

/// The type of a column, as stored and as meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColumnType {
    pub physical: Physical,
    pub logical: Logical,
    /// Whether values may be missing.
    pub nullable: bool,
}

/// How values are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Physical {
    Bool,
    I32,
    I64,
    /// Timestamps of old writers: nanoseconds of the day, and the day.
    I96,
    F32,
    F64,
    Bytes,
    /// As many bytes for each value.
    Fixed(usize),
}

/// What values mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Logical {
    Plain,
    Text,
    /// An integer that is never negative, with all its bits.
    Unsigned,
    /// Days since 1970.
    Date,
    Time(Unit),
    /// Since 1970.
    Timestamp(Unit),
    Decimal,
    Other,
}

/// The unit of a time column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    Millis,
    Micros,
    Nanos,
}

impl fmt::Display for Physical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Physical::Bool => "BOOLEAN",
            Physical::I32 => "INT32",
            Physical::I64 => "INT64",
            Physical::I96 => "INT96",
            Physical::F32 => "FLOAT",
            Physical::F64 => "DOUBLE",
            Physical::Bytes => "BYTE_ARRAY",
            Physical::Fixed(_) => "FIXED_LEN_BYTE_ARRAY",
        })
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.physical)?;
        match self.logical {
            Logical::Plain | Logical::Other => Ok(()),
            Logical::Text => f.write_str(" (text)"),
            Logical::Unsigned => f.write_str(" (unsigned)"),
            Logical::Date => f.write_str(" (date)"),
            Logical::Time(unit) => write!(f, " (time in {unit})"),
            Logical::Timestamp(unit) => write!(f, " (timestamp in {unit})"),
            Logical::Decimal => f.write_str(" (decimal)"),
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unit::Millis => "ms",
            Unit::Micros => "us",
            Unit::Nanos => "ns",
        })
    }
}

impl Schema {
    /// The place of a column, flat or nested.
    pub fn find(&self, name: &str) -> Option<usize> {
        let named = |column: &Column| {
            column.name == name
                || column.nested && column.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
        };
        self.columns.iter().position(named)
    }

    /// Decodes a list of schema elements: a tree in depth-first order.
    pub(crate) fn decode(input: &mut Decoder<'_>) -> Result<Schema, Fault> {
        let text = |wrong: Wrong| Fault::Borrowed(wrong.text());
        let (kind, length) = input.list().map_err(text)?;
        if kind != thrift::STRUCT || length == 0 {
            return Err("it lists no columns".into());
        }
        let root = Element::decode(input).map_err(text)?;
        // Around the next element: names, and how many more elements each group has.
        let mut around: Vec<(String, i32)> = Vec::new();
        let mut left_at_top = root.children.unwrap_or(0);
        let mut schema = Schema::default();
        for _ in 1..length {
            let element = Element::decode(input).map_err(text)?;
            let left = around.last_mut().map_or(&mut left_at_top, |(_, left)| left);
            *left = left.checked_sub(1).filter(|&left| left >= 0).ok_or("it lists too many columns")?;
            let parent = around.last().map(|(name, _)| name.as_str());
            let name = match parent {
                Some(parent) => format!("{parent}.{}", element.name),
                None => element.name.clone(),
            };
            match element.children {
                Some(children) if children > 0 => {
                    if around.len() == DEEPEST {
                        return Err("its columns are nested too deeply".into());
                    }
                    around.push((name, children));
                }
                _ => {
                    let nested = parent.is_some() || element.repetition == REPEATED;
                    schema.columns.push(Column { kind: element.kind(&name)?, name, nested });
                    while around.last().is_some_and(|(_, left)| *left == 0) {
                        around.pop();
                    }
                }
            }
        }
        match left_at_top == 0 && around.is_empty() {
            true => Ok(schema),
            false => Err("columns are missing".into()),
        }
    }
}

const OPTIONAL: i32 = 1;
const REPEATED: i32 = 2;

/// A column or a group of columns.
#[derive(Default)]
struct Element {
    physical: Option<i32>,
    length: i32,
    repetition: i32,
    name: String,
    children: Option<i32>,
    converted: Option<i32>,
    logical: Option<Logical>,
}

impl Element {
    fn decode(input: &mut Decoder<'_>) -> Result<Element, Wrong> {
        let (mut element, mut last) = (Element::default(), 0);
        while let Some((number, kind)) = input.field(&mut last)? {
            match (number, kind) {
                (1, thrift::I32) => element.physical = Some(input.i32()?),
                (2, thrift::I32) => element.length = input.i32()?,
                (3, thrift::I32) => element.repetition = input.i32()?,
                (4, thrift::BINARY) => element.name = String::from_utf8_lossy(input.binary()?).into_owned(),
                (5, thrift::I32) => element.children = Some(input.i32()?),
                (6, thrift::I32) => element.converted = Some(input.i32()?),
                (10, thrift::STRUCT) => element.logical = logical(input)?,
                _ => input.skip(kind)?,
            }
        }
        Ok(element)
    }

    fn kind(&self, name: &str) -> Result<ColumnType, Fault> {
        let physical = match self.physical {
            Some(0) => Physical::Bool,
            Some(1) => Physical::I32,
            Some(2) => Physical::I64,
            Some(3) => Physical::I96,
            Some(4) => Physical::F32,
            Some(5) => Physical::F64,
            Some(6) => Physical::Bytes,
            Some(7) => match usize::try_from(self.length) {
                Ok(length) if length > 0 => Physical::Fixed(length),
                _ => return Err(fault!("the values of column {name} have {} bytes", self.length)),
            },
            _ => return Err(fault!("column {name} has an unknown type")),
        };
        let logical = self.logical.or(self.converted.and_then(converted)).unwrap_or(Logical::Plain);
        let logical = if physical == Physical::I96 { Logical::Timestamp(Unit::Nanos) } else { logical };
        Ok(ColumnType { physical, logical, nullable: self.repetition == OPTIONAL })
    }
}

/// The older way to tell what values mean.
fn converted(number: i32) -> Option<Logical> {
    Some(match number {
        0 | 4 | 19 => Logical::Text,
        5 => Logical::Decimal,
        6 => Logical::Date,
        7 => Logical::Time(Unit::Millis),
        8 => Logical::Time(Unit::Micros),
        9 => Logical::Timestamp(Unit::Millis),
        10 => Logical::Timestamp(Unit::Micros),
        11..=14 => Logical::Unsigned,
        // Signed integers of 8 to 64 bits.
        15..=18 => return None,
        _ => Logical::Other,
    })
}

/// A union: a struct with one field, whose number is the meaning.
fn logical(input: &mut Decoder<'_>) -> Result<Option<Logical>, Wrong> {
    let (mut found, mut last) = (None, 0);
    while let Some((number, kind)) = input.field(&mut last)? {
        found = match (number, kind) {
            (8, thrift::STRUCT) => Some(Logical::Timestamp(unit(input)?)),
            (7, thrift::STRUCT) => Some(Logical::Time(unit(input)?)),
            (10, thrift::STRUCT) => integer(input)?,
            _ => {
                input.skip(kind)?;
                Some(match number {
                    1 | 4 | 12 => Logical::Text,
                    5 => Logical::Decimal,
                    6 => Logical::Date,
                    _ => Logical::Other,
                })
            }
        };
    }
    Ok(found)
}

/// Of a time or timestamp: whether it is in UTC, and its unit.
fn unit(input: &mut Decoder<'_>) -> Result<Unit, Wrong> {
    let (mut unit, mut last) = (Unit::Millis, 0);
    while let Some((number, kind)) = input.field(&mut last)? {
        if (number, kind) != (2, thrift::STRUCT) {
            input.skip(kind)?;
            continue;
        }
        let mut last = 0;
        while let Some((number, kind)) = input.field(&mut last)? {
            unit = match number {
                2 => Unit::Micros,
                3 => Unit::Nanos,
                _ => Unit::Millis,
            };
            input.skip(kind)?;
        }
    }
    Ok(unit)
}

/// Of an integer: its bits, and whether it is signed.
fn integer(input: &mut Decoder<'_>) -> Result<Option<Logical>, Wrong> {
    let (mut found, mut last) = (None, 0);
    while let Some((number, kind)) = input.field(&mut last)? {
        if (number, kind) == (2, thrift::FALSE) {
            found = Some(Logical::Unsigned);
        }
        input.skip(kind)?;
    }
    Ok(found)
}

//! Values of a study's keys, parsed while the file is read, so that errors have a line and a column.
//!
//! Every value may be a string or the matching TOML type (`size = 8`, `size = "8"`, `size = "8B"`), and keys that
//! span the product take one value or a list.

use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;
use straggler_model::Time;
use straggler_model::network::{Factor, Meaning};
use straggler_model::units;
use straggler_schedule::collectives::Choice;
use straggler_schedule::workloads::{Only, Workload};

/// A value that can be written as text.
pub(super) trait Written: Sized + PartialEq {
    const EXPECTED: &'static str;
    fn read(text: &str) -> Result<Self, String>;
}

/// One value.
#[derive(Clone, Debug)]
pub(super) struct One<T>(pub T);

/// One value or a list of at least one.
#[derive(Clone, Debug)]
pub(super) struct Many<T>(pub Vec<T>);

struct OneVisitor<T>(PhantomData<T>);

macro_rules! visit_scalars {
    ($wrap:expr) => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(T::EXPECTED)
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
            T::read(text.trim()).map($wrap).map_err(E::custom)
        }
        fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
            self.visit_str(&number.to_string())
        }
        fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
            self.visit_str(&number.to_string())
        }
        fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
            self.visit_str(&number.to_string())
        }
        fn visit_bool<E: de::Error>(self, truth: bool) -> Result<Self::Value, E> {
            self.visit_str(&truth.to_string())
        }
    };
}

impl<T: Written> Visitor<'_> for OneVisitor<T> {
    type Value = One<T>;
    visit_scalars!(One);
}

impl<'de, T: Written> Deserialize<'de> for One<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<One<T>, D::Error> {
        deserializer.deserialize_any(OneVisitor(PhantomData))
    }
}

struct ManyVisitor<T>(PhantomData<T>);

impl<'de, T: Written> Visitor<'de> for ManyVisitor<T> {
    type Value = Many<T>;
    visit_scalars!(|value| Many(vec![value]));

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Many<T>, A::Error> {
        let mut values = Vec::new();
        while let Some(One(value)) = list.next_element()? {
            // A value listed twice runs once.
            if !values.contains(&value) {
                values.push(value);
            }
        }
        if values.is_empty() {
            return Err(de::Error::custom(format!("the list is empty: give {}", T::EXPECTED)));
        }
        Ok(Many(values))
    }
}

impl<'de, T: Written> Deserialize<'de> for Many<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Many<T>, D::Error> {
        deserializer.deserialize_any(ManyVisitor(PhantomData))
    }
}

/// Any non-empty text.
impl Written for String {
    const EXPECTED: &'static str = "a text";
    fn read(text: &str) -> Result<String, String> {
        if text.is_empty() { Err("it is empty".into()) } else { Ok(text.into()) }
    }
}

impl Written for u64 {
    const EXPECTED: &'static str = "a whole number";
    fn read(text: &str) -> Result<u64, String> {
        units::count(text).ok_or_else(|| format!("`{text}` is not a whole number from 0 to 2^64 - 1"))
    }
}

impl Written for bool {
    const EXPECTED: &'static str = "true or false";
    fn read(text: &str) -> Result<bool, String> {
        text.parse().map_err(|_| format!("`{text}` is neither true nor false"))
    }
}

impl Written for Meaning {
    const EXPECTED: &'static str = "\"total\" or \"wire\"";
    fn read(text: &str) -> Result<Meaning, String> {
        match text {
            "total" => Ok(Meaning::Total),
            "wire" => Ok(Meaning::Wire),
            _ => Err(format!("`{text}` is neither total (o_s + L + o_r) nor wire (L alone)")),
        }
    }
}

/// A number of at least one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Count(pub u32);

impl Count {
    /// The largest number of replicas or repetitions.
    const MOST: u32 = 100_000_000;
}

impl Written for Count {
    const EXPECTED: &'static str = "a whole number of at least 1";
    fn read(text: &str) -> Result<Count, String> {
        match units::count(text).and_then(|count| u32::try_from(count).ok()) {
            Some(count @ 1..=Count::MOST) => Ok(Count(count)),
            _ => Err(format!("`{text}` is not a whole number from 1 to 100,000,000")),
        }
    }
}

/// `2%` or `0.02`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share(pub f64);

impl Written for Share {
    const EXPECTED: &'static str = "a share such as \"2%\" or 0.02";
    fn read(text: &str) -> Result<Share, String> {
        share(text).map(Share)
    }
}

/// A share above 0: `10%` or `0.1`.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(number) => (number.trim(), 100.0),
        None => (text, 1.0),
    };
    match number.parse::<f64>() {
        // 2 more likely means 2 % than 200 %.
        Ok(value) if unit == 1.0 && value >= 1.0 => {
            Err(format!("`{text}` would be {} %: write {text}% or a share below 1", value * 100.0))
        }
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value / unit),
        _ => Err("give a share above 0, such as 10% or 0.1".into()),
    }
}

/// One number of processes, or a range of them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Processes(pub Vec<u32>);

impl Written for Processes {
    const EXPECTED: &'static str = "a number of processes such as 1024, or a range such as \"2..1048576\"";

    fn read(text: &str) -> Result<Processes, String> {
        let wrong = || {
            format!(
                "`{text}` is not a number of processes: write 1024, \"2..1048576\" for 2, 4, 8 and so on, or \
                 \"4..65536 x4\" for 4, 16, 64 and so on"
            )
        };
        let number = |text: &str| {
            units::count(text).and_then(|count| u32::try_from(count).ok()).filter(|&count| count > 0)
        };
        let Some((first, rest)) = text.split_once("..") else {
            return number(text).map(|count| Processes(vec![count])).ok_or_else(wrong);
        };
        let (last, factor) = rest.split_once(['x', '×']).unwrap_or((rest, "2"));
        let (first, last, factor) = number(first)
            .zip(number(last))
            .zip(number(factor))
            .map(|((a, b), c)| (a, b, c))
            .ok_or_else(wrong)?;
        if factor < 2 || first > last {
            return Err(format!(
                "`{text}` is not a range: FIRST must not exceed LAST, and each number is at least twice the previous one"
            ));
        }
        let next = |&count: &u32| count.checked_mul(factor).filter(|&count| count <= last);
        Ok(Processes(std::iter::successors(Some(first), next).collect()))
    }
}

macro_rules! read_by {
    ($($type:ty, $expected:literal, $read:expr;)*) => {
        $(impl Written for $type {
            const EXPECTED: &'static str = $expected;
            fn read(text: &str) -> Result<$type, String> {
                $read(text).map_err(|fault| fault.to_string())
            }
        })*
    };
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Size(pub u64);

read_by! {
    Time, "a time such as \"1ms\"", units::time;
    Size, "a number of bytes such as 8 or \"1MiB\"", |text| units::bytes(text).map(Size);
    Factor, "a factor such as 10 or 0.1", str::parse::<Factor>;
    Choice, "a collective such as \"allreduce:ring\"", str::parse::<Choice>;
    Workload, "a workload such as \"pop\"", str::parse::<Workload>;
}

impl Written for Only {
    const EXPECTED: &'static str = "\"p2p\" or \"collectives\"";
    fn read(text: &str) -> Result<Only, String> {
        match text {
            "p2p" => Ok(Only::P2p),
            "collectives" => Ok(Only::Collectives),
            _ => Err(format!("`{text}` is not a kind of communication: write \"p2p\" or \"collectives\"")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_processes() {
        let read = |text: &str| Processes::read(text).map(|all| all.0);
        assert_eq!(read("100"), Ok(vec![100]));
        assert_eq!(read("2..16"), Ok(vec![2, 4, 8, 16]));
        assert_eq!(read("4 .. 70 x4"), Ok(vec![4, 16, 64]));
        assert_eq!(read("6..30"), Ok(vec![6, 12, 24]));
        assert_eq!(read("5..5"), Ok(vec![5]));
        assert_eq!(read("1073741824..4294967295"), Ok(vec![1 << 30, 1 << 31]));
        for text in ["0", "", "-4", "8..4", "2..", "2..8 x1", "a..b", "2..8 x", "99999999999"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn counts_are_read_as_people_write_them() {
        for text in ["1000", "1,000", "1e3", "1K"] {
            assert_eq!(Count::read(text), Ok(Count(1000)), "{text}");
            assert_eq!(u64::read(text), Ok(1000), "{text}");
        }
        for text in ["0", "-1", "1.5", "100000001", "2^40"] {
            assert!(Count::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shares_are_read_both_ways() {
        assert_eq!(share("10%"), Ok(0.1));
        assert_eq!(share("0.25"), Ok(0.25));
        for text in ["0", "-1%", "nan", "inf", "", "%"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}

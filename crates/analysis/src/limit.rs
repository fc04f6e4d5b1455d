//! Limits on results, as `--fail-if` takes them: `slowdown[barrier]@1024>50%`, `longest>50us`, `p99>+5%`, `different`.
//!
//! This is the whole grammar: `METRIC`, then `[LABEL]` and `@PROCESSES` if needed, then > or < and a limit. A metric that is
//! true or false has no limit. Each command knows its metrics and their units; what is printed parses back.

use std::fmt;
use std::str::FromStr;
use straggler_model::{Time, units};

/// `slowdown[allreduce]@65536>2x` is about the metric `slowdown` of allreduces on 65,536 processes.
#[derive(Clone, PartialEq, Debug)]
pub struct Limit {
    pub metric: String,
    /// Only results with this text in a label.
    pub label: Option<String>,
    pub processes: Option<u32>,
    /// None for a metric that is true or false.
    pub bound: Option<Bound>,
}

/// The bound of a limit: above or below which value it trips.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bound {
    pub above: bool,
    /// With a sign, the limit is relative to the first file where a command compares files.
    pub sign: Option<Sign>,
    pub value: Value,
}

/// The sign of a limit that is relative to another file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sign {
    Plus,
    Minus,
}

/// A limit in the unit in which it is written.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    Plain(f64),
    /// 50 for `50%`.
    Percent(f64),
    /// 1.5 for `1.5x`.
    Factor(f64),
    Time(Time),
}

/// Why a text is not a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}; write METRIC[LABEL]@PROCESSES, > or <, and a limit: slowdown@1024>50%, longest>50us, p99>+5%")]
pub struct LimitError(&'static str);

impl Limit {
    /// The limit of a metric that needs one.
    pub fn bound(&self) -> Result<Bound, LimitError> {
        self.bound.ok_or(LimitError("there is no > or <"))
    }
}

impl Bound {
    /// A value of the sign of the limit.
    pub fn signed(&self, value: f64) -> f64 {
        if self.sign == Some(Sign::Minus) { -value } else { value }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.metric)?;
        self.label.iter().try_for_each(|label| write!(f, "[{label}]"))?;
        self.processes.iter().try_for_each(|processes| write!(f, "@{processes}"))?;
        self.bound.iter().try_for_each(|bound| write!(f, "{bound}"))
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.above { ">" } else { "<" })?;
        f.write_str(match self.sign {
            Some(Sign::Plus) => "+",
            Some(Sign::Minus) => "-",
            None => "",
        })?;
        match self.value {
            Value::Plain(number) => write!(f, "{number}"),
            Value::Percent(percent) => write!(f, "{percent}%"),
            Value::Factor(factor) => write!(f, "{factor}x"),
            Value::Time(time) => f.write_str(&units::write_time(time)),
        }
    }
}

impl FromStr for Limit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Limit, LimitError> {
        let (metric, rest) = text.split_at(text.find(['[', '@', '>', '<']).unwrap_or(text.len()));
        let metric = metric.trim();
        if metric.is_empty() || metric.contains(']') {
            return Err(LimitError("it does not start with the name of a metric"));
        }
        let (label, rest) = match rest.strip_prefix('[') {
            Some(rest) => rest.split_once(']').map(|(label, rest)| (Some(label.into()), rest)),
            None => Some((None, rest)),
        }
        .ok_or(LimitError("there is a [ without a ]"))?;
        let (place, bound) = rest.split_at(rest.find(['>', '<']).unwrap_or(rest.len()));
        let bound = (!bound.is_empty()).then(|| bound.parse()).transpose()?;
        Ok(Limit { metric: metric.into(), label, processes: processes(place.trim())?, bound })
    }
}

/// `@1024`, or nothing.
fn processes(text: &str) -> Result<Option<u32>, LimitError> {
    if text.is_empty() {
        return Ok(None);
    }
    let number = text.strip_prefix('@').ok_or(LimitError("only @ may follow the label"))?;
    let number = units::count(number).and_then(|number| number.try_into().ok());
    number.map(Some).ok_or(LimitError("the text after @ is not a number of processes"))
}

/// `>50%`, `<-1us`.
impl FromStr for Bound {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Bound, LimitError> {
        let (above, text) = match text.strip_prefix('>') {
            Some(text) => (true, text.trim()),
            None => (false, text.strip_prefix('<').ok_or(LimitError("there is no > or <"))?.trim()),
        };
        let (sign, text) = match text.split_at_checked(1) {
            Some(("+", rest)) => (Some(Sign::Plus), rest),
            Some(("-", rest)) => (Some(Sign::Minus), rest),
            _ => (None, text),
        };
        let value = value(text)
            .ok_or(LimitError("the limit is not a number, a percentage, a factor like 2x or a time"))?;
        match (sign, value) {
            (Some(_), Value::Factor(_)) => Err(LimitError("a factor has no sign: 1.5x is +50%")),
            _ => Ok(Bound { above, sign, value }),
        }
    }
}

fn value(text: &str) -> Option<Value> {
    let number = |text: &str| {
        let text = text.trim();
        let unsigned = text.starts_with(|first: char| first.is_ascii_digit() || first == '.');
        text.parse::<f64>().ok().filter(|number| unsigned && number.is_finite())
    };
    if let Some(percent) = text.strip_suffix('%') {
        return number(percent).map(Value::Percent);
    }
    if let Some(factor) = text.strip_suffix(['x', 'X', '×']) {
        return number(factor).map(Value::Factor);
    }
    number(text)
        .or_else(|| units::count(text).map(|count| count as f64))
        .map(Value::Plain)
        .or_else(|| text.parse().ok().map(Value::Time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bound(text: &str) -> (Option<Sign>, Value) {
        let bound = text.parse::<Limit>().unwrap().bound().unwrap();
        (bound.sign, bound.value)
    }

    #[test]
    fn limits_are_read() {
        let limit: Limit = "slowdown[allreduce]@64Ki>2x".parse().unwrap();
        assert_eq!(limit.metric, "slowdown");
        assert_eq!(limit.label.as_deref(), Some("allreduce"));
        assert_eq!((limit.processes, limit.bound().unwrap().above), (Some(65_536), true));
        let limit: Limit = " longest < 50us ".parse().unwrap();
        assert_eq!((limit.metric.as_str(), limit.bound().unwrap().above), ("longest", false));
        assert_eq!("a[b>c @ d]>1".parse::<Limit>().unwrap().label.as_deref(), Some("b>c @ d"));
        assert_eq!("different".parse::<Limit>().unwrap().bound, None);
        for (text, expected) in [
            ("a>2", (None, Value::Plain(2.0))),
            ("a>1k", (None, Value::Plain(1000.0))),
            ("a>0.5%", (None, Value::Percent(0.5))),
            ("a>2.5x", (None, Value::Factor(2.5))),
            ("a > 2.5 ×", (None, Value::Factor(2.5))),
            ("a>50us", (None, Value::Time(Time::from_ns(50_000)))),
            ("p99>+5%", (Some(Sign::Plus), Value::Percent(5.0))),
            ("p99.9<-1us", (Some(Sign::Minus), Value::Time(Time::from_ns(1_000)))),
        ] {
            assert_eq!(bound(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_limit_is_refused() {
        for (wrong, says) in [
            ("", "the name of a metric"),
            (">2", "the name of a metric"),
            ("a]>1", "the name of a metric"),
            ("a@>2", "the text after @"),
            ("a@x>2", "the text after @"),
            ("a[b>1", "a [ without a ]"),
            ("a[b]c>1", "only @ may follow"),
            ("a>", "the limit is not"),
            ("a>x", "the limit is not"),
            ("a>nan", "the limit is not"),
            ("a>inf", "the limit is not"),
            ("a>x2", "the limit is not"),
            ("a>+-2", "the limit is not"),
            ("a>5parsec", "the limit is not"),
            ("a>+2x", "a factor has no sign"),
        ] {
            let error = wrong.parse::<Limit>().unwrap_err().to_string();
            assert!(error.contains(says), "{wrong}: {error}");
        }
        assert!("a".parse::<Limit>().unwrap().bound().is_err());
    }

    fn any_bound() -> impl Strategy<Value = Bound> {
        let number = || prop_oneof![0.0..1e30, prop::sample::select(vec![0.0, 0.5, 5.0, 1e-9])];
        let value = prop_oneof![
            number().prop_map(Value::Plain),
            number().prop_map(Value::Percent),
            number().prop_map(Value::Factor),
            (0..u64::MAX).prop_map(|ps| Value::Time(Time(ps))),
        ];
        let sign = prop::option::of(prop::sample::select(vec![Sign::Plus, Sign::Minus]));
        (any::<bool>(), sign, value).prop_map(|(above, sign, value)| {
            let sign = sign.filter(|_| !matches!(value, Value::Factor(_)));
            Bound { above, sign, value }
        })
    }

    proptest! {
        #[test]
        fn what_is_printed_is_the_same_limit(
            metric in "[a-z][a-z0-9_.]{0,9}",
            label in prop::option::of("[^\\]]{0,9}"),
            processes in any::<Option<u32>>(),
            bound in prop::option::of(any_bound()),
        ) {
            let limit = Limit { metric, label, processes, bound };
            prop_assert_eq!(limit.to_string().parse(), Ok(limit));
        }
    }
}

//! Noise as written on a command line.
//!
//! ```text
//! none
//! trace.txt                                     a file of detours
//! trace:file=PATH[,length=TIME]
//! trace:files=PREFIX.{rank},count=8[,length=TIME]   process r gets file r mod 8
//! periodic:period=1ms,duration=100us[,phase=TIME]   or rate=1kHz
//! poisson:rate=10Hz,duration=DIST[,events=N | length=TIME]
//! delay:rank=4,at=10us,duration=50us
//! chic                                          a signature that is built in; signature:chic and signature:name=chic mean the same
//! signature:file=PATH                           those of a file; a bare path that ends in .toml means the same
//! ```
//!
//! DIST is a time, `exponential(mean=5us)`, `lognormal(median=5us,sigma=1.2)` (or `mean=`),
//! `uniform(1us,5us)`, `pareto(min=1us,alpha=1.5)` or `quantiles(0=1us,0.5=2us,1=30us)`. Every source may
//! have `ranks=0-1023` or `ranks=5`, and `name=TEXT` (except signatures, whose sources have names already).
//! Sources are added with `+`. After a file, a `+` belongs to its path unless another `KIND:…`, a built-in
//! signature or `none` follows: a path may be `c++/trace.txt`.

mod arguments;
mod durations;

use super::Who;
use super::generate::{DEFAULT_EVENTS, Extent, MAX_EVENTS, Poisson, QuantilesError};
use super::signature::{BuiltIn, UnknownSignature};
use arguments::{Arguments, outside_parentheses};
use std::path::PathBuf;
use std::str::FromStr;
use straggler_model::spelling::{hint, nearest};
use straggler_model::units::{self, UnitError};
use straggler_model::{Rank, Time};

/// Placeholder for the rank in the name of a trace file.
pub(super) const RANK: &str = "{rank}";

/// No source at all.
pub(super) const NONE: &str = "none";

const KINDS: [&str; 6] = [NONE, "periodic", "poisson", "delay", "trace", "signature"];

/// The noise of a run as written, before any file is read or number drawn.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct NoiseSpec {
    pub sources: Vec<SourceSpec>,
}

/// One source as written.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceSpec {
    pub name: String,
    pub who: Who,
    pub shape: Shape,
}

/// What a source does.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    Periodic {
        period: Time,
        duration: Time,
        phase: Time,
    },
    Poisson(Poisson),
    Delay {
        at: Time,
        duration: Time,
    },
    Trace {
        path: String,
        length: Option<Time>,
    },
    /// One file for each of `count` ranks, in turn; `pattern` holds a `{rank}`.
    Traces {
        pattern: String,
        count: u32,
        length: Option<Time>,
    },
    /// Every source of a signature.
    Signature(SignatureOrigin),
}

/// Where a signature is.
#[derive(Clone, Debug, PartialEq)]
pub enum SignatureOrigin {
    BuiltIn(&'static BuiltIn),
    File(String),
}

/// Why a text does not describe noise.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SpecError {
    #[error(
        "the noise is empty: write `none`, a trace file, or a source such as periodic:rate=1kHz,duration=100us"
    )]
    Empty,
    #[error("unknown kind of noise `{kind}` (known: none, periodic, poisson, delay, trace, signature){}", hint(*.nearest))]
    UnknownKind { kind: String, nearest: Option<&'static str> },
    #[error("{place}: `{text}` is not KEY=VALUE")]
    NotAPair { place: String, text: String },
    #[error("{place}: unknown key `{key}` (known: {known}){}", hint(.nearest.as_deref()))]
    UnknownKey { place: String, key: String, known: String, nearest: Option<String> },
    #[error("{place}: {key} is given twice")]
    Repeated { place: String, key: String },
    #[error("{place} lacks {missing}")]
    Missing { place: String, missing: &'static str },
    #[error("{place}: {key}: {fault}")]
    Unit { place: String, key: String, fault: UnitError },
    #[error("{place}: {key}: `{text}` is not {expected}")]
    Bad { place: String, key: String, text: String, expected: &'static str },
    #[error(
        "{place}: duration: `{text}` is not a time or one of exponential(…), lognormal(…), uniform(…), pareto(…), \
         quantiles(…){}", hint(*.nearest)
    )]
    UnknownDistribution { place: String, text: String, nearest: Option<&'static str> },
    #[error("{place}: give either {one} or {other}, not both")]
    Both { place: String, one: &'static str, other: &'static str },
    #[error(
        "periodic: a duration of {duration} every {period} leaves no time for the process: make it shorter than the \
         period"
    )]
    NoTimeLeft { period: Time, duration: Time },
    #[error("periodic: a phase of {phase} lies outside the period of {period}")]
    PhaseOutside { phase: Time, period: Time },
    #[error("`{text}` has an unclosed parenthesis")]
    Unclosed { text: String },
    #[error(transparent)]
    Quantiles(#[from] QuantilesError),
    #[error(transparent)]
    UnknownSignature(#[from] UnknownSignature),
}

impl NoiseSpec {
    /// The files it names.
    pub fn files(&self) -> Vec<PathBuf> {
        let of_shape = |shape: &Shape| match shape {
            Shape::Trace { path, .. } | Shape::Signature(SignatureOrigin::File(path)) => vec![path.into()],
            Shape::Traces { pattern, count, .. } => {
                (0..*count).map(|rank| pattern.replace(RANK, &rank.to_string()).into()).collect()
            }
            _ => Vec::new(),
        };
        self.sources.iter().flat_map(|source| of_shape(&source.shape)).collect()
    }

    /// The trace in one file, or the signature if the name ends in .toml, even if the name looks like another
    /// description.
    pub fn of_file(path: &str) -> NoiseSpec {
        NoiseSpec { sources: vec![bare_path(path)] }
    }

    pub fn is_none(&self) -> bool {
        self.sources.is_empty()
    }
}

impl FromStr for NoiseSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<NoiseSpec, SpecError> {
        if text.trim().is_empty() {
            return Err(SpecError::Empty);
        }
        let mut sources = Vec::new();
        for part in split_sources(text)? {
            sources.extend(parse_source(part.trim())?);
        }
        Ok(NoiseSpec { sources })
    }
}

/// Splits at the plus signs that are not part of a path.
fn split_sources(text: &str) -> Result<Vec<&str>, SpecError> {
    let (mut parts, mut start) = (Vec::new(), 0);
    for plus in outside_parentheses(text, '+')? {
        if starts_source(&text[plus + 1..]) || !may_end_with_path(&text[start..plus]) {
            parts.push(&text[start..plus]);
            start = plus + 1;
        }
    }
    parts.push(&text[start..]);
    Ok(parts)
}

/// Whether `text` starts with `none`, a built-in signature, or a known or misspelt kind of source.
fn starts_source(text: &str) -> bool {
    let first = text.split('+').next().unwrap_or_default().trim();
    let is_kind = |kind: &str, list: &str| KINDS.contains(&kind) || reads_like_kind(kind, list);
    first == NONE
        || BuiltIn::find(first).is_ok()
        || first.split_once(':').is_some_and(|(kind, list)| is_kind(kind.trim(), list))
}

fn may_end_with_path(source: &str) -> bool {
    let kind = source.split(':').next().unwrap_or_default().trim();
    let names_a_file = kind == "trace" || (kind == "signature" && source.contains("file="));
    names_a_file || !(KINDS.contains(&kind) || BuiltIn::find(source).is_ok())
}

/// A path may contain a colon; only `KIND:` with an equals sign after it reads like a source.
fn reads_like_kind(kind: &str, list: &str) -> bool {
    !kind.is_empty() && kind.chars().all(char::is_alphanumeric) && list.contains('=')
}

/// Parses one source; `None` for `none`.
fn parse_source(text: &str) -> Result<Option<SourceSpec>, SpecError> {
    if text.is_empty() {
        return Err(SpecError::Empty);
    }
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    let kind = kind.trim();
    if kind == NONE && rest.is_empty() {
        return Ok(None);
    }
    if KINDS.contains(&kind) {
        return parse_kind(kind, rest, text).map(Some);
    }
    if reads_like_kind(kind, rest) {
        return Err(SpecError::UnknownKind { kind: kind.into(), nearest: nearest(kind, KINDS) });
    }
    if let Ok(built_in) = BuiltIn::find(text) {
        let shape = Shape::Signature(SignatureOrigin::BuiltIn(built_in));
        return Ok(Some(SourceSpec { name: text.into(), who: Who::Everyone, shape }));
    }
    Ok(Some(bare_path(text)))
}

/// Parses a source of a known kind; `list` is the text after the colon.
fn parse_kind(kind: &str, list: &str, text: &str) -> Result<SourceSpec, SpecError> {
    // signature:chic is short for signature:name=chic.
    let positions: &[&str] = if kind == "signature" { &["name"] } else { &[] };
    let mut arguments = Arguments::parse(kind, list, positions)?;
    arguments.refuse_others(keys(kind))?;
    // The `name` of a signature selects it and is not a label.
    let name = if kind == "signature" { None } else { arguments.take("name") };
    let name = name.unwrap_or_else(|| text.to_string());
    let (shape, who) = match kind {
        "periodic" => (periodic(&mut arguments)?, None),
        "poisson" => (poisson(&mut arguments)?, None),
        "delay" => delay(&mut arguments)?,
        "trace" => (trace(&mut arguments)?, None),
        "signature" => (signature(&mut arguments)?, None),
        _ => return Err(SpecError::UnknownKind { kind: text.into(), nearest: None }),
    };
    let who = match who {
        Some(who) => who,
        None => ranks(&mut arguments)?.unwrap_or(Who::Everyone),
    };
    if matches!(shape, Shape::Traces { .. }) && who != Who::Everyone {
        return Err(arguments.both("files", "ranks"));
    }
    arguments.finish()?;
    Ok(SourceSpec { name, who, shape })
}

/// The keys of a kind of source.
fn keys(kind: &str) -> &'static [&'static str] {
    match kind {
        "periodic" => &["name", "period", "rate", "duration", "phase", "ranks"],
        "poisson" => &["name", "period", "rate", "duration", "events", "length", "ranks"],
        "delay" => &["name", "at", "duration", "rank", "ranks"],
        "trace" => &["name", "length", "file", "files", "count", "ranks"],
        "signature" => &["name", "file", "ranks"],
        _ => &[],
    }
}

fn bare_path(text: &str) -> SourceSpec {
    let shape = if text.to_lowercase().ends_with(".toml") {
        Shape::Signature(SignatureOrigin::File(text.into()))
    } else {
        Shape::Trace { path: text.into(), length: None }
    };
    SourceSpec { name: text.into(), who: Who::Everyone, shape }
}

fn periodic(arguments: &mut Arguments) -> Result<Shape, SpecError> {
    let period = arguments.period_or_rate()?;
    let duration = arguments.require_time("duration")?;
    let phase = arguments.time("phase")?.unwrap_or(Time::ZERO);
    if duration >= period {
        return Err(SpecError::NoTimeLeft { period, duration });
    }
    if phase >= period {
        return Err(SpecError::PhaseOutside { phase, period });
    }
    Ok(Shape::Periodic { period, duration, phase })
}

fn poisson(arguments: &mut Arguments) -> Result<Shape, SpecError> {
    let mean_gap = arguments.period_or_rate()?;
    let text = arguments.take("duration").ok_or_else(|| arguments.missing("duration=DIST"))?;
    let durations = durations::parse("poisson", &text)?;
    let extent = match (arguments.take("events"), arguments.time("length")?) {
        (None, None) => Extent::Events(DEFAULT_EVENTS),
        (None, Some(length)) => Extent::Length(length),
        (Some(events), None) => match whole(&events) {
            Some(count @ 1..=MAX_EVENTS) => Extent::Events(count),
            _ => return Err(arguments.bad("events", &events, "a number from 1 to 100,000,000")),
        },
        (Some(_), Some(_)) => return Err(arguments.both("events", "length")),
    };
    Ok(Shape::Poisson(Poisson { mean_gap, durations, extent }))
}

fn delay(arguments: &mut Arguments) -> Result<(Shape, Option<Who>), SpecError> {
    let at = arguments.require_time("at")?;
    let duration = arguments.require_time("duration")?;
    let rank = match arguments.take("rank") {
        Some(text) => match whole(&text) {
            Some(rank) => Some(Who::Ranks(rank, rank)),
            None => return Err(arguments.bad("rank", &text, "a rank")),
        },
        None => None,
    };
    let who = match (rank, ranks(arguments)?) {
        (None, None) => return Err(arguments.missing("rank=RANK or ranks=FIRST-LAST")),
        (Some(_), Some(_)) => return Err(arguments.both("rank", "ranks")),
        (rank, ranks) => rank.or(ranks),
    };
    Ok((Shape::Delay { at, duration }, who))
}

/// A whole number: 1000, 1e3, 1K.
fn whole(text: &str) -> Option<u32> {
    units::count(text).and_then(|number| u32::try_from(number).ok())
}

fn trace(arguments: &mut Arguments) -> Result<Shape, SpecError> {
    let length = arguments.time("length")?;
    match (arguments.take("file"), arguments.take("files")) {
        (Some(path), None) => Ok(Shape::Trace { path, length }),
        (None, Some(pattern)) => {
            if !pattern.contains(RANK) {
                return Err(arguments.bad("files", &pattern, "a path with {rank} in it"));
            }
            let count = arguments.take("count").ok_or_else(|| arguments.missing("count=FILES"))?;
            match count.parse() {
                Ok(count @ 1..=65_536) => Ok(Shape::Traces { pattern, count, length }),
                _ => Err(arguments.bad("count", &count, "a number of files from 1 to 65,536")),
            }
        }
        (Some(_), Some(_)) => Err(arguments.both("file", "files")),
        (None, None) => Err(arguments.missing("file=PATH or files=PREFIX.{rank}")),
    }
}

fn signature(arguments: &mut Arguments) -> Result<Shape, SpecError> {
    match (arguments.take("name"), arguments.take("file")) {
        (Some(name), None) => Ok(Shape::Signature(SignatureOrigin::BuiltIn(BuiltIn::find(&name)?))),
        (None, Some(path)) => Ok(Shape::Signature(SignatureOrigin::File(path))),
        (Some(_), Some(_)) => Err(arguments.both("name", "file")),
        (None, None) => Err(arguments.missing("name=SYSTEM or file=PATH")),
    }
}

fn ranks(arguments: &mut Arguments) -> Result<Option<Who>, SpecError> {
    let Some(text) = arguments.take("ranks") else { return Ok(None) };
    let (first, last) = text.split_once('-').unwrap_or((&text, &text));
    match (first.trim().parse::<Rank>(), last.trim().parse::<Rank>()) {
        (Ok(first), Ok(last)) if first <= last => Ok(Some(Who::Ranks(first, last))),
        _ => Err(arguments.bad("ranks", &text, "a rank or FIRST-LAST")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let spec: NoiseSpec = text.parse().unwrap();
        spec.sources.into_iter().map(|source| source.name).collect()
    }

    #[test]
    fn a_plus_may_belong_to_a_path() {
        assert_eq!(names("c++/n.txt"), ["c++/n.txt"]);
        let file = "trace:file=c++/n.txt";
        assert_eq!(names(file), [file]);
        let spec: NoiseSpec = file.parse().unwrap();
        assert_eq!(spec.sources[0].shape, Shape::Trace { path: "c++/n.txt".into(), length: None });
        let both = "c++/n.txt + trace:file=c++/m.txt+none+delay:rank=1,at=1us,duration=1us";
        assert_eq!(names(both), ["c++/n.txt", "trace:file=c++/m.txt", "delay:rank=1,at=1us,duration=1us"]);
        assert_eq!(names("a+nonesuch.txt"), ["a+nonesuch.txt"]);
    }

    #[test]
    fn signatures_by_name_and_by_file() {
        let shape = |text: &str| text.parse::<NoiseSpec>().unwrap().sources[0].shape.clone();
        let Shape::Signature(SignatureOrigin::BuiltIn(chic)) = shape("signature:name=CHiC") else { panic!() };
        assert_eq!(chic.name, "chic");
        let file = Shape::Signature(SignatureOrigin::File("c++/x.toml".into()));
        assert_eq!(shape("signature:file=c++/x.toml"), file);
        assert_eq!(shape("c++/x.toml"), file);
        assert_eq!(names("signature:name=chic+n.txt"), ["signature:name=chic", "n.txt"]);
        assert_eq!(shape("signature:chic"), shape("signature:name=chic"));
        assert_eq!(shape("CHiC"), shape("signature:name=chic"));
        assert_eq!(names("chic+altix+n.txt"), ["chic", "altix", "n.txt"]);
        assert_eq!(names("n.txt+signature:chic"), ["n.txt", "signature:chic"]);
        let fault = "signature:altx".parse::<NoiseSpec>().unwrap_err().to_string();
        assert!(fault.ends_with("did you mean `altix`?"), "{fault}");
        let fault = "signature:name=altx".parse::<NoiseSpec>().unwrap_err().to_string();
        assert!(fault.ends_with("did you mean `altix`?"), "{fault}");
    }

    #[test]
    fn behind_a_source_without_a_path_every_plus_parts() {
        let periodic = "periodic:period=1ms,duration=1us";
        assert_eq!(names(&format!("none+{periodic}+c++/n.txt")), [periodic, "c++/n.txt"]);
        let fault = "n.txt+perodic:period=1ms,duration=1us".parse::<NoiseSpec>().unwrap_err();
        assert!(matches!(fault, SpecError::UnknownKind { nearest: Some("periodic"), .. }), "{fault}");
    }
}

//! Reads back timelines that [`write`](super::write) wrote, line by line, so that a file of a gigabyte
//! needs only the memory of its timeline. Traces of other programs have other events and are refused.

use super::{REGION, lane_of};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, BufRead};
use straggler_model::{Rank, Time};
use straggler_trace::Function;
use straggler_trace::timeline::{Activity, Arrow, Kind, Lane, Timeline, kind};

/// How the files begin.
pub const BEGINNING: &[u8] = b"{\"displayTimeUnit\":\"ns\",\"otherData\":";
const BEFORE_EVENTS: &str = ",\"traceEvents\":[";

/// Why a file is not a timeline.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("is not a timeline of straggler: only those can be read")]
    Foreign,
    #[error("line {line}: {problem}")]
    Line { line: usize, problem: String },
    #[error("ends in the middle of the timeline")]
    Truncated,
}

/// A timeline and what is known of its run.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    pub timeline: Timeline,
    pub about: Value,
}

#[derive(Deserialize)]
struct Event<'a> {
    ph: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(default, borrow)]
    cat: Cow<'a, str>,
    pid: u32,
    #[serde(default)]
    tid: u32,
    #[serde(default, borrow)]
    ts: Option<&'a RawValue>,
    #[serde(default, borrow)]
    dur: Option<&'a RawValue>,
    #[serde(default)]
    args: Details,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Details {
    peer: Option<u32>,
    tag: u32,
    bytes: u64,
}

/// Reads a whole timeline.
pub fn read(mut input: impl BufRead) -> Result<Run, ReadError> {
    let mut line = String::new();
    input.read_line(&mut line).map_err(no_text)?;
    let about = line.trim_end().strip_prefix(std::str::from_utf8(BEGINNING).unwrap_or_default());
    let about = about.and_then(|rest| rest.strip_suffix(BEFORE_EVENTS)).ok_or(ReadError::Foreign)?;
    let about = serde_json::from_str(about).map_err(|_| ReadError::Foreign)?;
    let functions = Function::ALL.iter().map(|function| (function.name(), *function)).collect();
    let mut reading = Reading { functions, ..Reading::default() };
    for number in 2.. {
        line.clear();
        if input.read_line(&mut line).map_err(no_text)? == 0 {
            return Err(ReadError::Truncated);
        }
        let event = line.trim_end();
        if event == "]}" {
            break;
        }
        let event = event.strip_suffix(',').unwrap_or(event);
        reading.event(event).map_err(|problem| ReadError::Line { line: number, problem })?;
    }
    Ok(Run { timeline: Timeline::join([reading.timeline]), about })
}

fn no_text(fault: io::Error) -> ReadError {
    if fault.kind() == io::ErrorKind::InvalidData { ReadError::Foreign } else { ReadError::Io(fault) }
}

#[derive(Default)]
struct Reading {
    timeline: Timeline,
    /// The start of a message, whose end is the next event.
    sent: Option<(u32, u8, Time)>,
    functions: BTreeMap<&'static str, Function>,
}

impl Reading {
    fn event(&mut self, text: &str) -> Result<(), String> {
        let event: Event<'_> = serde_json::from_str(text).map_err(|fault| format!("no event: {fault}"))?;
        match &*event.ph {
            "M" => Ok(()),
            // Regions are around activities, and not part of a timeline.
            "X" if event.cat == REGION => Ok(()),
            "X" => self.slice(&event),
            "s" | "f" => self.end_of_arrow(&event),
            other => Err(format!("an event of the unknown kind `{other}`")),
        }
    }

    fn slice(&mut self, event: &Event<'_>) -> Result<(), String> {
        let lane = lane_of(event.tid).ok_or_else(|| format!("thread {} is not a lane", event.tid))?;
        let (start, duration) = (time(event.ts, "ts")?, time(event.dur, "dur")?);
        let end = start.checked_add(duration).ok_or("its end is out of range")?;
        let function = self.functions.get(&*event.name).copied();
        let kind = match &*event.name {
            "compute" => Kind::Compute,
            "send" => Kind::Send,
            "receive" => Kind::Receive,
            "gap" => Kind::Gap,
            "wait" => Kind::Wait,
            "collective" => Kind::Collective,
            "other" => Kind::Other,
            "noise" => return self.noise(event.pid, lane, end, duration),
            other => {
                function.and_then(kind).ok_or_else(|| format!("an activity of the unknown kind `{other}`"))?
            }
        };
        let Details { peer, tag, bytes } = event.args;
        let peer = peer.unwrap_or(if kind == Kind::Compute { 0 } else { Rank::MAX });
        let (rank, noise) = (event.pid, Time::ZERO);
        let activity = Activity { rank, lane, kind, function, start, end, noise, bytes, peer, tag };
        self.timeline.activities.push(activity);
        Ok(())
    }

    /// Adds noise to the activity at whose end it lies, which is the one just read.
    fn noise(&mut self, rank: u32, lane: Lane, end: Time, noise: Time) -> Result<(), String> {
        match self.timeline.activities.last_mut() {
            Some(last) if (last.rank, last.lane, last.end) == (rank, lane, end) => {
                last.noise = noise;
                Ok(())
            }
            _ => Err("noise that belongs to no activity".into()),
        }
    }

    fn end_of_arrow(&mut self, event: &Event<'_>) -> Result<(), String> {
        let Some(Lane::Cpu(cpu)) = lane_of(event.tid) else { return Err("a message without CPUs".into()) };
        let time = time(event.ts, "ts")?;
        match (&*event.ph, self.sent.take()) {
            ("s", None) => self.sent = Some((event.pid, cpu, time)),
            ("f", Some((from, from_cpu, sent))) => self.timeline.arrows.push(Arrow {
                from,
                from_cpu,
                to: event.pid,
                to_cpu: cpu,
                sent,
                received: time,
                bytes: event.args.bytes,
                tag: event.args.tag,
            }),
            _ => return Err("one end of a message without the other".into()),
        }
        Ok(())
    }
}

/// Reads microseconds with up to six decimals, exactly.
fn time(value: Option<&RawValue>, name: &str) -> Result<Time, String> {
    let text = value.map(RawValue::get).ok_or_else(|| format!("`{name}` is missing"))?;
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let padded = format!("{decimals:0<6}");
    if !digits(whole) || !digits(&padded) || padded.len() != 6 {
        return Err(format!("`{name}` is {text}, not microseconds with up to six decimals"));
    }
    let (whole, rest) = (whole.parse::<u64>().ok(), padded.parse::<u64>().ok());
    let ps = whole.and_then(|whole| whole.checked_mul(1_000_000)).zip(rest);
    let ps = ps.and_then(|(whole, rest)| whole.checked_add(rest));
    ps.map(Time).ok_or_else(|| format!("`{name}` is out of range"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn activity() -> impl Strategy<Value = Activity> {
        let lane = prop_oneof![
            any::<u8>().prop_map(Lane::Cpu),
            any::<u8>().prop_map(Lane::Send),
            any::<u8>().prop_map(Lane::Receive)
        ];
        let simulated = prop::sample::select(vec![
            Kind::Compute,
            Kind::Send,
            Kind::Receive,
            Kind::Gap,
            Kind::Wait,
            Kind::Collective,
        ]);
        let called = prop::sample::select(Function::ALL).prop_filter_map("a mark", |function| {
            Some((kind(function)?, Some(function))).filter(|_| function != Function::Unknown)
        });
        let kind = prop_oneof![simulated.prop_map(|kind| (kind, None)), called];
        let peer = prop_oneof![any::<u32>(), Just(Rank::MAX)];
        let message = (any::<u64>(), peer, any::<u32>());
        (0..9u32, lane, kind, 0..u64::MAX / 4, 0..u64::MAX / 4, 0.0..1.0f64, message).prop_map(
            |(rank, lane, (kind, function), start, length, noise, (bytes, peer, tag))| {
                let (start, end) = (Time(start), Time(start + length));
                let noise = Time((length as f64 * noise) as u64);
                let (bytes, peer, tag) = if kind == Kind::Compute { (0, 0, 0) } else { (bytes, peer, tag) };
                Activity { rank, lane, kind, function, start, end, noise, bytes, peer, tag }
            },
        )
    }

    fn arrow() -> impl Strategy<Value = Arrow> {
        (any::<[u32; 3]>(), any::<[u8; 2]>(), any::<[u64; 3]>()).prop_map(
            |([from, to, tag], [from_cpu, to_cpu], [sent, received, bytes])| {
                let (sent, received) = (Time(sent), Time(received));
                Arrow { from, from_cpu, to, to_cpu, sent, received, bytes, tag }
            },
        )
    }

    fn written(timeline: &Timeline) -> Vec<u8> {
        let mut text = Vec::new();
        super::super::write(timeline, &json!({"seed": 7, "noise": "a\"]}\n"}), &mut text).unwrap();
        text
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            activities in prop::collection::vec(activity(), 0..8), arrows in prop::collection::vec(arrow(), 0..4)
        ) {
            let timeline = Timeline::join([Timeline { activities, arrows }]);
            let run = read(&written(&timeline)[..]).unwrap();
            prop_assert_eq!(run.timeline, timeline);
            prop_assert_eq!(run.about, json!({"seed": 7, "noise": "a\"]}\n"}));
        }

        #[test]
        fn damage_is_an_error_and_no_panic(
            activities in prop::collection::vec(activity(), 0..4), arrows in prop::collection::vec(arrow(), 0..2),
            cut in any::<prop::sample::Index>(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4)
        ) {
            let mut text = written(&Timeline::join([Timeline { activities, arrows }]));
            prop_assert!(read(&text[..cut.index(text.len() - 3)]).is_err());
            for (index, byte) in changes {
                let at = index.index(text.len());
                text[at] = byte;
            }
            let _ = read(&text[..]);
        }
    }

    #[test]
    fn other_files_are_foreign() {
        for text in ["", "{}", "[]", "\u{0}\u{1}", "{\"traceEvents\":[]}"] {
            assert!(matches!(read(text.as_bytes()), Err(ReadError::Foreign)), "{text}");
        }
        assert!(matches!(read(&b"\xff\xfe"[..]), Err(ReadError::Foreign)));
    }
}

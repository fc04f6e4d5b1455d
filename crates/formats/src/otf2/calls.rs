//! Turns the events of one location into calls: everything between entering and leaving an MPI
//! function belongs to that call.
//!
//! Only the outermost MPI function is a call; records of functions that it calls itself belong to
//! it. Records outside any function (the archive was filtered, or its writer keeps no regions)
//! become calls that take no time.
//!
//! Regions of the user and functions that the compiler instrumented become marks. Functions may be entered millions of
//! times, so short ones in which nothing is recorded are left out. A parameter of a region is a mark within its own:
//! `solve:level:3` inside `solve`.

use super::Options;
use super::bytes::{Record, Records};
use super::definitions::{Context, Definitions, Region};
use super::error::Fault;
use super::events::{self, Event, Value};
use super::ids::{PARADIGM_COMPILER, PARADIGM_UNKNOWN, PARADIGM_USER, event};
use super::local::LocalDefinitions;
use super::volume;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::ops::Range;
use straggler_model::Time;
use straggler_trace::Function;

/// Shorter functions that the compiler instrumented are left out, unless the user says otherwise.
pub(super) const SHORTEST_FUNCTION: Time = Time::from_ns(10_000);

/// Longer names and values of parameters are cut: each occurs in the name of a region.
const LONGEST_PARAMETER: usize = 60;

fn short(text: &str) -> &str {
    text.char_indices().nth(LONGEST_PARAMETER).map_or(text, |(end, _)| &text[..end])
}

/// A call, in ticks of the common clock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct RawCall {
    pub(super) function: Function,
    /// The region, if there is one.
    pub(super) region: Option<u32>,
    /// Index into [`LocationCalls::parameters`], for the mark of a parameter.
    pub(super) parameter: Option<u32>,
    pub(super) site: Site,
    pub(super) enter: u64,
    pub(super) exit: u64,
    facts: Range<usize>,
}

/// Where a call was made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) enum Site {
    #[default]
    Unknown,
    /// In this region.
    Region(u32),
    /// As this calling context says.
    Context(u32),
}

/// What one location did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct LocationCalls {
    /// In order of `enter`.
    pub(super) calls: Vec<RawCall>,
    facts: Vec<Event>,
    /// The time of each fact.
    times: Vec<u64>,
    pub(super) first: Option<u64>,
    last: u64,
    /// Parameters and their values, as "level:3".
    pub(super) parameters: Vec<String>,
    /// The words of the command line.
    pub(super) program: Vec<u32>,
    /// MPI records outside any MPI function.
    pub(super) orphans: u64,
    /// Calls that had not ended when the file ended.
    pub(super) open_at_end: u64,
    /// Events with an earlier time than the one before.
    pub(super) back_in_time: u64,
    /// Regions that were left out because they are short.
    pub(super) short: u64,
}

impl LocationCalls {
    /// The records of a call.
    pub(super) fn facts(&self, call: &RawCall) -> &[Event] {
        self.facts.get(call.facts.clone()).unwrap_or_default()
    }

    /// The times of a call's records.
    pub(super) fn times(&self, call: &RawCall) -> &[u64] {
        self.times.get(call.facts.clone()).unwrap_or_default()
    }

    /// All records of all calls.
    pub(super) fn all_facts(&self) -> &[Event] {
        &self.facts
    }

    pub(super) fn parse(
        bytes: &[u8],
        chunk_size: u64,
        definitions: &Definitions,
        local: &LocalDefinitions,
        options: Options,
    ) -> Result<LocationCalls, Fault> {
        let mut records = Records::of_events(bytes, chunk_size)?;
        let mut reading = Reading {
            definitions,
            options,
            stack: Vec::new(),
            open: None,
            known: HashMap::new(),
            out: Self::default(),
        };
        while let Some(Record { id, offset, time, body }) = records.next()? {
            let time = local.correct(time);
            let time = time.ok_or_else(|| Fault::new(offset, "a time that contradicts the clock offsets"))?;
            let time = reading.out.tick(time);
            if id == event::PROGRAM_BEGIN && reading.out.program.is_empty() {
                reading.out.program = events::command_line(body, local)?;
            }
            let event = Event::read(id, body, local)?;
            reading.take(event, time).map_err(|what| Fault::new(offset, what))?;
        }
        Ok(reading.end())
    }

    fn push(&mut self, fact: Event, time: u64) {
        self.facts.push(fact);
        self.times.push(time);
    }

    /// Returns the time of an event; one that claims to be earlier than the event before it gets that event's time.
    fn tick(&mut self, time: u64) -> u64 {
        self.back_in_time += u64::from(self.first.is_some() && time < self.last);
        self.first.get_or_insert(time);
        self.last = self.last.max(time);
        self.last
    }
}

struct Reading<'a> {
    definitions: &'a Definitions,
    options: Options,
    stack: Vec<Open>,
    /// The open call, and the depth of the stack with its own region on top.
    open: Option<(RawCall, usize)>,
    /// The index of each parameter and value.
    known: HashMap<(u32, Value), u32>,
    out: LocationCalls,
}

/// An open region.
struct Open {
    region: u32,
    /// The number of calls up to its mark, if it has one.
    mark: Option<usize>,
    /// Its parameters, which have marks, too, and the texts of their values.
    parameters: SmallVec<[(u32, u32); 2]>,
}

impl Reading<'_> {
    fn take(&mut self, event: Event, time: u64) -> Result<(), String> {
        match event {
            Event::Enter(region) => {
                let caller = self.stack.last().map_or(Site::Unknown, |open| Site::Region(open.region));
                self.enter(region, caller, time)
            }
            Event::Leave(region) => self.leave(region, time),
            Event::EnterContext(context) => {
                self.enter(self.context(context)?.region, Site::Context(context), time)
            }
            Event::LeaveContext(context) => self.leave(self.context(context)?.region, time),
            Event::Parameter(parameter, value) => {
                self.parameter(parameter, value, time);
                Ok(())
            }
            Event::Other => Ok(()),
            fact => {
                self.fact(fact, time);
                Ok(())
            }
        }
    }

    fn context(&self, number: u32) -> Result<Context, String> {
        let context = self.definitions.contexts.get(&number).copied();
        context.ok_or_else(|| format!("calling context {number} is not defined"))
    }

    fn enter(&mut self, number: u32, site: Site, time: u64) -> Result<(), String> {
        let region = self.definitions.regions.get(&number);
        let region = region.ok_or_else(|| format!("region {number} is not defined"))?;
        let is_marked = self.open.is_none() && self.is_marked(region);
        self.stack.push(Open { region: number, mark: None, parameters: SmallVec::new() });
        match region.function {
            _ if self.open.is_some() => {}
            Some(function) => {
                let call = RawCall { site, ..self.call(function, Some(number), time) };
                self.open = Some((call, self.stack.len()));
            }
            None if is_marked => {
                self.mark(Function::RegionEnter, number, None, time);
                if let Some(open) = self.stack.last_mut() {
                    open.mark = Some(self.out.calls.len());
                }
            }
            None => {}
        }
        Ok(())
    }

    fn leave(&mut self, number: u32, time: u64) -> Result<(), String> {
        let (mark, parameters) = match self.stack.pop() {
            Some(open) if open.region == number => (open.mark, open.parameters),
            Some(open) => return Err(format!("leaves region {number}, but is in region {}", open.region)),
            None => return Err(format!("leaves region {number} without having entered it")),
        };
        match self.open.take() {
            Some((call, depth)) if depth == self.stack.len() + 1 => self.close(call, time),
            Some(open) => self.open = Some(open),
            None if mark.is_some_and(|mark| self.is_short(number, mark, time)) => {
                self.out.calls.pop();
                self.out.short += 1;
            }
            None if mark.is_some() => {
                for (_, text) in parameters.into_iter().rev() {
                    self.mark(Function::RegionLeave, number, Some(text), time);
                }
                self.mark(Function::RegionLeave, number, None, time);
            }
            None => {}
        }
        Ok(())
    }

    /// Marks a parameter of the innermost region. A new value ends the marks of the old one and of those within it.
    fn parameter(&mut self, parameter: u32, value: Value, time: u64) {
        let known = self.definitions.parameters.get(&parameter);
        let (Some(&name), Some(open), None) = (known, self.stack.last_mut(), &self.open) else { return };
        if open.mark.is_none() {
            return;
        }
        let region = open.region;
        let old = open.parameters.iter().position(|&(number, _)| number == parameter);
        let ended: SmallVec<[u32; 2]> = old
            .map_or_else(SmallVec::new, |old| open.parameters.drain(old..).map(|(_, text)| text).collect());
        let (definitions, texts) = (self.definitions, &mut self.out.parameters);
        let text = *self.known.entry((parameter, value)).or_insert_with(|| {
            let name = short(definitions.string(name));
            texts.push(match value {
                Value::Text(text) => format!("{name}:{}", short(definitions.string(text))),
                Value::Int(value) => format!("{name}:{value}"),
                Value::Unsigned(value) => format!("{name}:{value}"),
            });
            texts.len() as u32 - 1
        });
        open.parameters.push((parameter, text));
        for ended in ended.into_iter().rev() {
            self.mark(Function::RegionLeave, region, Some(ended), time);
        }
        self.mark(Function::RegionEnter, region, Some(text), time);
    }

    /// Whether a region becomes marks: it is neither of MPI, nor of another library or the recording tool.
    fn is_marked(&self, region: &Region) -> bool {
        let own = matches!(region.paradigm, PARADIGM_USER | PARADIGM_COMPILER | PARADIGM_UNKNOWN);
        self.options.user_regions && own && region.function.is_none()
    }

    /// Whether a region whose mark was the last call before `mark` is short, and nothing was recorded in it.
    fn is_short(&self, number: u32, mark: usize, time: u64) -> bool {
        let paradigm = self.definitions.regions.get(&number).map(|region| region.paradigm);
        let limit = self.options.shortest_region.unwrap_or(match paradigm {
            Some(PARADIGM_COMPILER) => SHORTEST_FUNCTION,
            _ => Time::ZERO,
        });
        let enter = self.out.calls.last().filter(|_| self.out.calls.len() == mark).map(|call| call.enter);
        let ticks =
            u128::from(limit.ps()) * u128::from(self.definitions.ticks_per_second) / 1_000_000_000_000;
        enter.is_some_and(|enter| u128::from(time.saturating_sub(enter)) < ticks)
    }

    fn call(&self, function: Function, region: Option<u32>, time: u64) -> RawCall {
        let facts = self.out.facts.len()..self.out.facts.len();
        RawCall { function, region, parameter: None, site: Site::Unknown, enter: time, exit: time, facts }
    }

    fn close(&mut self, call: RawCall, time: u64) {
        let facts = call.facts.start..self.out.facts.len();
        self.out.calls.push(RawCall { exit: time, facts, ..call });
    }

    fn mark(&mut self, function: Function, region: u32, parameter: Option<u32>, time: u64) {
        let call = self.call(function, Some(region), time);
        self.out.calls.push(RawCall { parameter, ..call });
    }

    fn fact(&mut self, fact: Event, time: u64) {
        if self.open.is_some() {
            self.out.push(fact, time);
        } else if let Some(function) = function_of(fact) {
            self.out.orphans += 1;
            let call = self.call(function, None, time);
            self.out.push(fact, time);
            self.close(call, time);
        }
    }

    fn end(mut self) -> LocationCalls {
        if let Some((call, _)) = self.open.take() {
            self.out.open_at_end += 1;
            self.close(call, self.out.last);
        }
        self.out
    }
}

/// The function that a record outside any function must come from.
fn function_of(fact: Event) -> Option<Function> {
    match fact {
        Event::Send(_) => Some(Function::Send),
        Event::Isend(..) => Some(Function::Isend),
        Event::IrecvRequest(_) => Some(Function::Irecv),
        Event::Recv(_) => Some(Function::Recv),
        Event::RequestTest(_) => Some(Function::Test),
        Event::CollectiveEnd(collected) => volume::blocking(collected.operation),
        Event::IsendComplete(_)
        | Event::Irecv(..)
        | Event::CollectiveComplete(..)
        | Event::RequestCancelled(_) => Some(Function::Wait),
        _ => None,
    }
}

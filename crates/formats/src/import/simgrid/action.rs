//! One action: its name and the meaning of its parameters.
//!
//! | action | parameters |
//! |---|---|
//! | `init` | one of any kind makes doubles the default datatype, else bytes |
//! | `compute` `sleep` | flops; seconds |
//! | `send` `isend` `recv` `irecv` | peer, tag, count, datatype? |
//! | `wait` `test` | source, destination, tag |
//! | `waitall` `barrier` `finalize` | |
//! | `bcast` | count, root?, datatype? |
//! | `reduce` | count, flops, root?, datatype? |
//! | `allreduce` `scan` `exscan` | count, flops, datatype? |
//! | `alltoall` `allgather` | count sent, count received, datatypes? |
//! | `gather` `scatter` | count sent, count received, root?, datatypes? |
//! | `gatherv` | count sent, counts received, root?, datatypes? |
//! | `scatterv` | counts sent, count received, root?, datatypes? |
//! | `allgatherv` | count sent, counts received, datatype?, displacements? |
//! | `alltoallv` | size, counts sent, size, counts received, datatypes? |
//! | `reducescatter` | counts, flops, datatype? |
//! | `comm_size` `comm_split` `comm_dup` `location` | do nothing |

use super::Key;
use crate::import::arguments::Arguments;
use straggler_model::Rank;
use straggler_trace::Function;
use straggler_trace::call::special;

/// The grammar of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Grammar {
    /// Whether messages have no tags and waits name no request.
    pub old: bool,
}

impl Grammar {
    /// Detects the old grammar by forms that only it has.
    pub fn detect<'a>(actions: impl Iterator<Item = &'a [&'a str]>) -> Grammar {
        let mut actions = actions;
        let old = actions.any(|words| match words {
            [name, parameters @ ..] => match name.to_ascii_lowercase().as_str() {
                "wait" => parameters.is_empty(),
                "send" | "isend" | "recv" | "irecv" => parameters.len() == 2,
                _ => false,
            },
            [] => false,
        });
        Grammar { old }
    }
}

/// What an action does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ActionKind {
    Init,
    Compute,
    Sleep,
    Message(Function),
    /// A wait or a test.
    Wait(Function),
    WaitAll,
    /// A collective, or any other single call without requests.
    Collective(Function),
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Action {
    pub what: ActionKind,
    pub arguments: Arguments,
    /// Work of a computation or reduction, or seconds of a sleep.
    pub flops: f64,
    pub key: Option<Key>,
}

/// Names of actions that do nothing.
const NOTHING: [&str; 4] = ["comm_size", "comm_split", "comm_dup", "location"];

fn named(name: &str) -> Option<ActionKind> {
    Some(match name {
        "init" => ActionKind::Init,
        "compute" => ActionKind::Compute,
        "sleep" => ActionKind::Sleep,
        "send" => ActionKind::Message(Function::Send),
        "isend" => ActionKind::Message(Function::Isend),
        "recv" => ActionKind::Message(Function::Recv),
        "irecv" => ActionKind::Message(Function::Irecv),
        "wait" => ActionKind::Wait(Function::Wait),
        "test" => ActionKind::Wait(Function::Test),
        "waitall" => ActionKind::WaitAll,
        "finalize" => ActionKind::Collective(Function::Finalize),
        "barrier" => ActionKind::Collective(Function::Barrier),
        "bcast" => ActionKind::Collective(Function::Bcast),
        "reduce" => ActionKind::Collective(Function::Reduce),
        "allreduce" => ActionKind::Collective(Function::Allreduce),
        "scan" => ActionKind::Collective(Function::Scan),
        "exscan" => ActionKind::Collective(Function::Exscan),
        "alltoall" => ActionKind::Collective(Function::Alltoall),
        "allgather" => ActionKind::Collective(Function::Allgather),
        "gather" => ActionKind::Collective(Function::Gather),
        "scatter" => ActionKind::Collective(Function::Scatter),
        "gatherv" => ActionKind::Collective(Function::Gatherv),
        "scatterv" => ActionKind::Collective(Function::Scatterv),
        "allgatherv" => ActionKind::Collective(Function::Allgatherv),
        "alltoallv" => ActionKind::Collective(Function::Alltoallv),
        "reducescatter" => ActionKind::Collective(Function::Reduce_scatter),
        _ => return None,
    })
}

/// Whether a word is the name of an action.
pub(super) fn is_name(word: &str) -> bool {
    let name = word.to_ascii_lowercase();
    named(&name).is_some() || NOTHING.contains(&name.as_str())
}

impl Action {
    /// Parses the action of a line; `None` if it does nothing.
    pub fn parse(words: &[&str], grammar: Grammar, ranks: Rank, unit: u64) -> Result<Option<Action>, String> {
        let [name, parameters @ ..] = words else { return Err("an action is missing".into()) };
        let lower = name.to_ascii_lowercase();
        if NOTHING.contains(&lower.as_str()) {
            return Ok(None);
        }
        let what = named(&lower).ok_or_else(|| format!("unknown action '{name}'"))?;
        let parameters = Parameters { name, all: parameters, ranks: ranks as usize, unit };
        let mut action = Action { what, arguments: Arguments::default(), flops: 0.0, key: None };
        match what {
            ActionKind::Init => action.arguments.sent = parameters.all.len() as u64,
            ActionKind::Compute | ActionKind::Sleep => action.flops = parameters.real(0)?,
            ActionKind::Message(function) => action.arguments = parameters.message(function, grammar)?,
            ActionKind::Wait(_) if grammar.old && parameters.all.is_empty() => {}
            ActionKind::Wait(_) => {
                action.key = Some((parameters.rank(0)?, parameters.rank(1)?, parameters.tag(2)?))
            }
            ActionKind::WaitAll => {}
            ActionKind::Collective(function) => {
                (action.arguments, action.flops) = parameters.collective(function)?
            }
        }
        Ok(Some(action))
    }
}

/// The words after the name.
#[derive(Debug)]
struct Parameters<'a> {
    name: &'a str,
    all: &'a [&'a str],
    ranks: usize,
    unit: u64,
}

impl Parameters<'_> {
    fn word(&self, at: usize) -> Result<&str, String> {
        let missing = || format!("{} needs more than its {} parameters", self.name, self.all.len());
        self.all.get(at).copied().ok_or_else(missing)
    }

    /// A number that is not negative.
    fn real(&self, at: usize) -> Result<f64, String> {
        let word = self.word(at)?;
        let value: f64 = word.parse().map_err(|_| format!("'{word}' is not a number"))?;
        if value.is_finite() && value >= 0.0 { Ok(value) } else { Err(format!("'{word}' is not an amount")) }
    }

    /// A number of elements, which may be written as a real number.
    fn count(&self, at: usize) -> Result<u64, String> {
        let word = self.word(at)?;
        match word.parse() {
            Ok(count) => Ok(count),
            Err(_) => Ok(self.real(at)?.round() as u64),
        }
    }

    fn int(&self, at: usize) -> Result<i32, String> {
        let word = self.word(at)?;
        word.parse().map_err(|_| format!("'{word}' is neither a rank nor a tag"))
    }

    /// Parses a rank. SMPI's numbers for any source and MPI_PROC_NULL are −555 and −666.
    fn rank(&self, at: usize) -> Result<i32, String> {
        match self.int(at)? {
            rank @ 0.. if (rank as usize) < self.ranks => Ok(rank),
            -1 | -555 => Ok(special::ANY),
            -666 => Ok(special::NOBODY),
            other => Err(format!("{other} is not a rank of {}", self.ranks)),
        }
    }

    /// Parses a tag. SMPI's number for any tag is −444.
    fn tag(&self, at: usize) -> Result<i32, String> {
        Ok(match self.int(at)? {
            tag if tag < 0 => special::ANY,
            tag => tag,
        })
    }

    /// The root, or rank 0 if none is given.
    fn root(&self, at: usize) -> Result<i32, String> {
        match self.all.get(at) {
            Some(_) => self.rank(at).map(|rank| rank.max(0)),
            None => Ok(0),
        }
    }

    /// Bytes of an element.
    fn size(&self, at: usize) -> Result<u64, String> {
        let Some(word) = self.all.get(at) else { return Ok(self.unit) };
        let id = word.parse::<usize>().ok().and_then(|id| SIZES.get(id));
        id.copied().map(u64::from).ok_or_else(|| format!("'{word}' is not an SMPI datatype"))
    }

    fn counts(&self, from: usize, size: u64) -> Result<Vec<u64>, String> {
        (from..from + self.ranks).map(|at| Ok(self.count(at)?.saturating_mul(size))).collect()
    }

    fn message(&self, function: Function, grammar: Grammar) -> Result<Arguments, String> {
        let (tag, count) = if grammar.old { (0, 1) } else { (self.tag(1)?, 2) };
        let bytes = self.count(count)?.saturating_mul(self.size(count + 1)?);
        let sends = matches!(function, Function::Send | Function::Isend);
        let (sent, received) = if sends { (bytes, 0) } else { (0, bytes) };
        Ok(Arguments { peer: Some(self.rank(0)?), tag: Some(tag), sent, received, ..Arguments::default() })
    }

    /// The arguments of a collective, and the work it does.
    fn collective(&self, function: Function) -> Result<(Arguments, f64), String> {
        let one =
            |root, bytes| Arguments { peer: root, sent: bytes, received: bytes, ..Arguments::default() };
        let amount = |at, kind| Ok::<u64, String>(self.count(at)?.saturating_mul(self.size(kind)?));
        let two = |root, kinds: usize| {
            let (sent, received) = (amount(0, kinds)?, amount(1, kinds + 1)?);
            Ok::<Arguments, String>(Arguments { peer: root, sent, received, ..Arguments::default() })
        };
        Ok(match function {
            Function::Bcast => (one(Some(self.root(1)?), amount(0, 2)?), 0.0),
            Function::Reduce => (one(Some(self.root(2)?), amount(0, 3)?), self.real(1)?),
            Function::Allreduce | Function::Scan | Function::Exscan => {
                (one(None, amount(0, 2)?), self.real(1)?)
            }
            Function::Alltoall | Function::Allgather => (two(None, 2)?, 0.0),
            Function::Gather | Function::Scatter => (two(Some(self.root(2)?), 3)?, 0.0),
            Function::Gatherv | Function::Scatterv | Function::Allgatherv => (self.varying(function)?, 0.0),
            Function::Alltoallv => (self.all_varying()?, 0.0),
            Function::Reduce_scatter => {
                let sent_sizes = self.counts(0, self.size(self.ranks + 1)?)?;
                (Arguments { sent_sizes, ..Arguments::default() }, self.real(self.ranks)?)
            }
            _ => (Arguments::default(), 0.0),
        })
    }

    fn varying(&self, function: Function) -> Result<Arguments, String> {
        let behind = self.ranks + 1;
        match function {
            Function::Scatterv => Ok(Arguments {
                peer: Some(self.root(behind)?),
                sent_sizes: self.counts(0, self.size(behind + 1)?)?,
                received: self.count(self.ranks)?.saturating_mul(self.size(behind + 2)?),
                ..Arguments::default()
            }),
            Function::Gatherv => Ok(Arguments {
                peer: Some(self.root(behind)?),
                sent: self.count(0)?.saturating_mul(self.size(behind + 1)?),
                received_sizes: self.counts(1, self.size(behind + 2)?)?,
                ..Arguments::default()
            }),
            _ => {
                // As many words as ranks are displacements alone. If there are more, or at most
                // two, the first is the datatype.
                let left = self.all.len().saturating_sub(behind);
                let kind = if left > self.ranks || left <= 2 { self.size(behind)? } else { self.unit };
                let (sent, received_sizes) = (self.count(0)?.saturating_mul(kind), self.counts(1, kind)?);
                Ok(Arguments { sent, received_sizes, ..Arguments::default() })
            }
        }
    }

    fn all_varying(&self) -> Result<Arguments, String> {
        let kinds = 2 * self.ranks + 2;
        let both = self.all.len() > kinds + 1;
        let kind = |at| if both { self.size(at) } else { Ok(self.unit) };
        Ok(Arguments {
            sent_sizes: self.counts(1, kind(kinds)?)?,
            received_sizes: self.counts(self.ranks + 2, kind(kinds + 1)?)?,
            ..Arguments::default()
        })
    }
}

/// Sizes in bytes of SMPI's datatypes by their numbers (`smpi_datatype.cpp`): double, int, char,
/// short, long, float, byte, long long, the unsigned ones, long double, wide characters and
/// booleans, those of fixed width, complex, addresses, pairs, Fortran's, bounds, packed, pointers.
#[rustfmt::skip]
const SIZES: [u8; 55] = [
    8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8,
    8, 16, 16, 8, 8, 8, 16, 16, 4, 4, 8, 16, 8, 16, 32, 1, 2, 4, 8, 16, 32, 0, 0, 1, 8,
];

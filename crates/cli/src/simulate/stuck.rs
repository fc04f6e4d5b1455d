//! Why a schedule cannot finish, as text and as JSON.

use crate::kernel::prelude::*;
use std::fmt::Write;
use straggler_schedule::{Operation, OperationKind, graph::ANY};
use straggler_sim::Stuck;
use straggler_sim::outcome::{Blocked, Leftover};

/// Longest list of each kind.
const SHOWN: usize = 8;

/// `stuck` in the JSON object. The lists hold the first few of each kind.
#[derive(Debug, Serialize)]
pub struct StuckAnswer {
    pub unfinished: u64,
    pub blocked: Vec<BlockedAnswer>,
    pub leftover_count: u64,
    pub leftovers: Vec<Leftover>,
    /// Each rank waits for the next, and the last for the first.
    pub cycle: Vec<u32>,
}

#[derive(Debug, Serialize)]
pub struct BlockedAnswer {
    pub rank: u32,
    pub operation: u32,
    pub kind: &'static str,
    pub bytes: u64,
    /// None for a receive from any source.
    pub peer: Option<u32>,
    /// None for a receive with any tag.
    pub tag: Option<u32>,
}

/// Describes which rank waits for which.
pub fn stuck_failure(what: &str, stuck: &Stuck) -> Failure {
    Failure::new(Exit::Stuck, anyhow::Error::msg(what.to_string() + &explain(stuck)))
}

/// The same for `simulate`, which can accept messages that are never received.
pub fn stuck_simulation(stuck: &Stuck) -> Failure {
    let accept = if stuck.unfinished == 0 { ", or accept them with --allow-leftovers" } else { "" };
    Failure::new(Exit::Stuck, anyhow::Error::msg(explain(stuck) + accept))
}

impl StuckAnswer {
    pub fn new(stuck: &Stuck) -> StuckAnswer {
        StuckAnswer {
            unfinished: stuck.unfinished,
            blocked: stuck.blocked.iter().map(BlockedAnswer::new).collect(),
            leftover_count: stuck.leftover_count,
            leftovers: stuck.leftovers.clone(),
            cycle: stuck.cycle.clone(),
        }
    }
}

impl BlockedAnswer {
    fn new(blocked: &Blocked) -> BlockedAnswer {
        let Operation { kind, amount, peer, tag, .. } = blocked.operation;
        let definite = |value: u32| (value != ANY).then_some(value);
        let kind = match kind {
            OperationKind::Send => "rendezvous send",
            OperationKind::Recv => "receive",
            OperationKind::Calc => "computation",
        };
        BlockedAnswer {
            rank: blocked.rank,
            operation: blocked.id,
            kind,
            bytes: amount,
            peer: definite(peer),
            tag: definite(tag),
        }
    }
}

/// The full explanation, on several lines.
pub fn explain(stuck: &Stuck) -> String {
    let mut text = headline(stuck);
    for blocked in stuck.blocked.iter().take(SHOWN) {
        let _ = write!(text, "\n  rank {} waits: {}", blocked.rank, waiting(&blocked.operation));
    }
    if stuck.unfinished > SHOWN as u64 && stuck.blocked.len() > SHOWN {
        let _ = write!(text, "\n  … {} ranks in all", grouped(stuck.unfinished));
    }
    if !stuck.cycle.is_empty() {
        let _ = write!(text, "\n  {}", circle(&stuck.cycle));
    }
    for left in stuck.leftovers.iter().take(SHOWN) {
        let Leftover { from, to, tag, bytes } = left;
        let size = Bytes(*bytes);
        let _ = write!(text, "\n  never received: {size} from rank {from} to rank {to} with tag {tag}");
    }
    if stuck.leftover_count > SHOWN as u64 {
        let _ = write!(text, "\n  … {} messages in all", grouped(stuck.leftover_count));
    }
    text + "\n" + mend(stuck)
}

fn headline(stuck: &Stuck) -> String {
    let left = counted(stuck.leftover_count, "message is", "messages are");
    if stuck.unfinished == 0 {
        return format!("{left} never received:");
    }
    let ranks = counted(stuck.unfinished, "rank never finishes", "ranks never finish");
    match stuck.leftover_count {
        0 => format!("the schedule cannot finish: {ranks}:"),
        _ => format!("the schedule cannot finish: {ranks}, and {left} never received:"),
    }
}

fn waiting(operation: &Operation) -> String {
    let size = Bytes(operation.amount);
    let tag = match operation.tag {
        ANY => "any tag".to_string(),
        tag => format!("tag {tag}"),
    };
    match (operation.kind, operation.peer) {
        (OperationKind::Send, peer) => format!("rendezvous send of {size} to rank {peer}, {tag}"),
        (OperationKind::Recv, ANY) => format!("receive of {size} from any rank, {tag}"),
        (OperationKind::Recv, peer) => format!("receive of {size} from rank {peer}, {tag}"),
        (OperationKind::Calc, _) => "computation".to_string(),
    }
}

/// "rank 0 waits for rank 1, which waits for rank 0".
pub fn circle(cycle: &[u32]) -> String {
    const LONGEST: usize = 10;
    let mut text = format!("rank {} waits for ", cycle[0]);
    for rank in cycle.iter().skip(1).take(LONGEST) {
        let _ = write!(text, "rank {rank}, which waits for ");
    }
    if cycle.len() > LONGEST + 1 {
        let _ =
            write!(text, "… ({} ranks in all), the last of which waits for ", grouped(cycle.len() as u64));
    }
    text + &format!("rank {}", cycle[0])
}

/// A send that blocks is a rendezvous.
fn is_rendezvous(blocked: &Blocked) -> bool {
    blocked.operation.kind == OperationKind::Send
}

fn mend(stuck: &Stuck) -> &'static str {
    if stuck.unfinished == 0 {
        "add the receives"
    } else if !stuck.cycle.is_empty() && stuck.blocked.iter().any(is_rendezvous) {
        "let one of these ranks receive before it sends, or raise S above the size of these messages"
    } else if !stuck.cycle.is_empty() {
        "let one of these ranks send before it receives, or relax one of their dependencies"
    } else {
        "add the missing counterpart, or fix its source, destination or tag (straggler schedule check \
         FILE)"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(rank: u32, peer: u32) -> Blocked {
        Blocked { rank, id: 0, operation: Operation::recv(8, peer, 5) }
    }

    #[test]
    fn a_deadlock_is_told() {
        let stuck = Stuck {
            unfinished: 2,
            blocked: vec![waits(0, 1), waits(1, 0)],
            cycle: vec![0, 1],
            ..Stuck::default()
        };
        assert_eq!(
            explain(&stuck),
            "the schedule cannot finish: 2 ranks never finish:\n  rank 0 waits: receive of 8 B from rank \
             1, tag 5\n  rank 1 waits: receive of 8 B from rank 0, tag 5\n  rank 0 waits for rank 1, \
             which waits for rank 0\nlet one of these ranks send before it receives, or relax one of \
             their dependencies"
        );
    }

    #[test]
    fn leftovers_are_told() {
        let left = Leftover { from: 3, to: 4, tag: 1, bytes: 100 };
        let stuck = Stuck { leftover_count: 1, leftovers: vec![left], ..Stuck::default() };
        assert_eq!(
            explain(&stuck),
            "1 message is never received:\n  never received: 100 B from rank 3 to rank 4 with tag 1\n\
             add the receives"
        );
        let simulated = stuck_simulation(&stuck).error.to_string();
        assert!(
            simulated.ends_with("add the receives, or accept them with --allow-leftovers"),
            "{simulated}"
        );
    }

    #[test]
    fn wildcards_have_words() {
        assert_eq!(waiting(&Operation::recv(8, ANY, ANY)), "receive of 8 B from any rank, any tag");
        assert_eq!(waiting(&Operation::send(100_000, 2, 1)), "rendezvous send of 100 kB to rank 2, tag 1");
    }

    #[test]
    fn a_long_circle_is_cut() {
        let cycle: Vec<u32> = (0..100).collect();
        let text = circle(&cycle);
        assert!(text.ends_with("… (100 ranks in all), the last of which waits for rank 0"), "{text}");
    }
}

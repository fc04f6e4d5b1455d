//! Collectives that do not agree.

use super::named;
use crate::call::{CommId, special};
use crate::collectives::{Sequence, sequences};
use crate::format::assemble::Finding;
use crate::messages::CallPlace;
use crate::trace::{Communicator, Trace};
use crate::{Class, Function};
use std::collections::{BTreeMap, BTreeSet};
use straggler_model::Rank;

pub(super) fn check(
    trace: &Trace,
    incomplete: &BTreeSet<Rank>,
    paused: &BTreeSet<Rank>,
    findings: &mut Vec<Finding>,
) {
    for (comm, sequence) in sequences(trace) {
        let Some(of_comm) = trace.communicators.get(comm.index()) else { continue };
        let all = of_comm.members.iter().chain(&of_comm.remote).copied();
        let members: BTreeSet<Rank> =
            all.filter(|rank| *rank < trace.processes() && !incomplete.contains(rank)).collect();
        for rank in sequence.keys().filter(|rank| !members.contains(rank) && !incomplete.contains(rank)) {
            let what = format!("calls collectives on communicator {comm}, but is not a member of it");
            findings.push(Finding::error(*rank, what));
        }
        let agreement = Agreement { trace, comm, of_comm, sequence: &sequence, members: &members };
        match members.intersection(paused).next() {
            None => agreement.report(findings),
            Some(&rank) => findings.extend(agreement.paused(rank)),
        }
    }
}

/// The properties of a collective on which its members must agree.
type Signature = (Function, i32);

struct Agreement<'a> {
    trace: &'a Trace,
    comm: CommId,
    of_comm: &'a Communicator,
    sequence: &'a Sequence,
    members: &'a BTreeSet<Rank>,
}

impl Agreement<'_> {
    /// Reports ranks that call something else than the others. Such a rank is out of step from
    /// there on, so only its first disagreement is reported.
    fn report(&self, findings: &mut Vec<Finding>) {
        let longest = self.members.iter().map(|&rank| self.calls(rank).len()).max().unwrap_or(0);
        let mut out_of_step: BTreeSet<Rank> = BTreeSet::new();
        for number in 0..longest {
            let mut votes: BTreeMap<Signature, Vec<Rank>> = BTreeMap::new();
            for &rank in self.members.iter().filter(|rank| !out_of_step.contains(rank)) {
                if let Some(signature) = self.signature(rank, number) {
                    votes.entry(signature).or_default().push(rank);
                }
            }
            // The majority counts as right; in a tie, the side with the lowest rank.
            let most =
                votes.values().max_by_key(|ranks| (ranks.len(), std::cmp::Reverse(ranks.first().copied())));
            let Some(&right) = most.and_then(|ranks| ranks.first()) else { continue };
            let mut disagreed = 0;
            for &rank in votes.values().filter(|ranks| !ranks.contains(&right)).flatten() {
                findings.push(self.disagreement(rank, right, number));
                out_of_step.insert(rank);
                disagreed += 1;
            }
            let voted: usize = votes.values().map(Vec::len).sum();
            // Ranks with too few calls are not out of step yet. If none are missing, every member
            // has voted or is out of step.
            if voted + out_of_step.len() >= self.members.len() + disagreed {
                continue;
            }
            for &rank in self.members {
                if !out_of_step.contains(&rank) && self.calls(rank).len() == number {
                    findings.push(self.absence(rank, right, number, longest));
                    out_of_step.insert(rank);
                }
            }
        }
    }

    /// Reports disagreement once if recording was paused, since it is then no fault of the program.
    fn paused(&self, rank: Rank) -> Option<Finding> {
        let mut findings = Vec::new();
        self.report(&mut findings);
        let first = findings.first()?;
        let what = format!(
            "collectives on communicator {} do not agree, as recording was paused on this rank, but not at the same point on \
             the others; first, on rank {}: {}",
            self.comm,
            first.rank.unwrap_or_default(),
            first.what
        );
        Some(Finding::warning(rank, what))
    }

    fn calls(&self, rank: Rank) -> &[u32] {
        self.sequence.get(&rank).map_or(&[], Vec::as_slice)
    }

    fn signature(&self, rank: Rank, number: usize) -> Option<Signature> {
        let call = self.calls(rank).get(number)?;
        let call = self.trace.ranks.get(rank as usize)?.calls.get(*call as usize)?;
        // On intercommunicators the two sides name roots differently; calls that create
        // communicators use the peer otherwise.
        let rooted =
            matches!(call.function.class(), Class::Collective(..)) && !self.of_comm.is_between_groups();
        let root = if rooted { call.peer } else { special::NONE };
        Some((call.function, root))
    }

    fn place(&self, rank: Rank, number: usize) -> CallPlace {
        CallPlace { rank, call: self.calls(rank).get(number).copied().unwrap_or(u32::MAX) }
    }

    fn disagreement(&self, rank: Rank, right: Rank, number: usize) -> Finding {
        let with_root = |rank: Rank| {
            let name = named(self.trace, self.place(rank, number));
            match self.signature(rank, number) {
                Some((_, root)) if root >= 0 => format!("{name} with root {root}"),
                _ => name,
            }
        };
        let what = format!(
            "{} is collective {number} on communicator {}, but rank {right} calls {}",
            with_root(rank),
            self.comm,
            with_root(right)
        );
        Finding::error(rank, what)
    }

    fn absence(&self, rank: Rank, right: Rank, number: usize, longest: usize) -> Finding {
        let what = format!(
            "takes part in {number} of {longest} collectives on communicator {}; the first missing one is {} of rank \
             {right}",
            self.comm,
            named(self.trace, self.place(right, number))
        );
        Finding::error(rank, what)
    }
}

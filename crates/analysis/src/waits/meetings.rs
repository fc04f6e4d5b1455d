//! The calls of all members of each collective.

use straggler_model::{Rank, parallel};
use straggler_trace::collectives::sides;
use straggler_trace::messages::CallPlace;
use straggler_trace::operations::Operations;
use straggler_trace::{Call, Class, CommId, RankTrace, Start, Trace};

/// The collectives on one communicator that members call in the same order: those that they call directly, or the
/// starts of one persistent collective.
pub(super) struct Meetings {
    /// On an intercommunicator, the members of one group and then those of the other.
    pub(super) members: Vec<Rank>,
    /// The size of the first group, if there are two.
    pub(super) first_group: Option<usize>,
    /// One meeting after the other; for each, the call of every member, or its row if it was started.
    entries: Vec<u32>,
    started: bool,
    /// The calls, or rows, of collectives that some members have not called.
    further: Vec<(Rank, u32)>,
    /// Members that lack some of these.
    pub(super) lacking: Vec<Rank>,
}

/// How one member takes part.
pub(super) struct Part<'a> {
    /// The call that entered the collective, and the one that has its arguments.
    pub(super) come: CallPlace,
    pub(super) described: &'a Call,
    /// The call that completed it, if that is another one.
    pub(super) completed: Option<CallPlace>,
}

/// The order that the members of a communicator share, for one rank: communicator, persistent collective (0 for direct
/// calls, else its number from 1), and call or row.
type Ordered = (CommId, u32, u32);

impl Meetings {
    /// For all communicators whose members are all in the trace.
    pub(super) fn new(trace: &Trace, operations: &[Operations<'_>]) -> Vec<Meetings> {
        let sides = sides(&trace.communicators);
        let ranks: Vec<Vec<Ordered>> =
            parallel::map(trace.ranks.len(), |rank| ordered(&operations[rank], &sides));
        let mut series: Vec<(CommId, u32)> = Vec::new();
        for entries in &ranks {
            let new = entries.chunk_by(|one, next| (one.0, one.1) == (next.0, next.1));
            series.extend(new.map(|entries| (entries[0].0, entries[0].1)));
        }
        series.sort_unstable();
        series.dedup();
        let all = series.into_iter().filter_map(|series| Meetings::on(trace, series, &ranks));
        all.filter(|meetings| !meetings.entries.is_empty() || !meetings.further.is_empty()).collect()
    }

    fn on(trace: &Trace, series: (CommId, u32), ranks: &[Vec<Ordered>]) -> Option<Meetings> {
        let comm = trace.communicators.get(series.0.index())?;
        let members = [&comm.members[..], &comm.remote[..]].concat();
        let lists = members.iter().map(|&rank| Some(of_series(ranks.get(rank as usize)?, series)));
        let lists: Vec<&[Ordered]> = lists.collect::<Option<_>>()?;
        let common = lists.iter().map(|list| list.len()).min().unwrap_or(0);
        let entries = (0..common).flat_map(|nth| lists.iter().filter_map(move |list| Some(list.get(nth)?.2)));
        let entries = entries.collect();
        let most = lists.iter().map(|list| list.len()).max().unwrap_or(0);
        let each = || members.iter().copied().zip(&lists);
        let further = each().flat_map(|(rank, list)| list[common..].iter().map(move |entry| (rank, entry.2)));
        let further = further.collect();
        let lacking = each().filter(|(_, list)| list.len() < most).map(|(rank, _)| rank).collect();
        let first_group = comm.is_between_groups().then_some(comm.members.len());
        Some(Meetings { members, first_group, entries, started: series.1 > 0, further, lacking })
    }

    /// The number of collectives.
    pub(super) fn count(&self) -> usize {
        self.entries.len() / self.members.len().max(1)
    }

    /// How members take part in collectives that some members have not called.
    pub(super) fn alone<'a>(&self, operations: &'a [Operations<'_>]) -> impl Iterator<Item = Part<'a>> {
        self.further
            .iter()
            .filter_map(|&(rank, entry)| self.part(rank, entry, operations.get(rank as usize)?))
    }

    /// How each member takes part in one of the collectives; a member is missing if the trace is damaged.
    pub(super) fn nth<'a>(
        &self,
        number: usize,
        operations: &'a [Operations<'_>],
    ) -> impl Iterator<Item = Option<Part<'a>>> {
        let each = self.members.len();
        let entries = &self.entries[number * each..(number + 1) * each];
        let part = |(&rank, &entry)| self.part(rank, entry, operations.get(rank as usize)?);
        self.members.iter().zip(entries).map(part)
    }

    fn part<'a>(&self, rank: Rank, entry: u32, operations: &'a Operations<'_>) -> Option<Part<'a>> {
        let rows = operations.rows();
        let row = if self.started {
            Some(rows.get(entry as usize)?)
        } else {
            rows.get(rows.partition_point(|row| row.begun < entry)).filter(|row| row.begun == entry)
        };
        let begun = row.map_or(entry, |row| row.begun);
        let completed = row.and_then(|row| row.completed()).filter(|&call| call != begun);
        Some(Part {
            come: CallPlace { rank, call: begun },
            described: operations.call(row.map_or(entry, |row| row.described))?,
            completed: completed.map(|call| CallPlace { rank, call }),
        })
    }
}

/// The collectives of a rank, by communicator and series, in order, including calls that create communicators. The
/// sides of an intercommunicator count as one.
fn ordered(operations: &Operations<'_>, sides: &[CommId]) -> Vec<Ordered> {
    let traced = operations.traced();
    let side = |comm: CommId| sides.get(comm.index()).copied().unwrap_or(comm);
    let calls = (0..).zip(&traced.calls).filter(|(_, call)| is_ordered(call.function.class()));
    let mut found: Vec<Ordered> = calls.map(|(number, call)| (side(call.comm), 0, number)).collect();
    if traced.calls.iter().any(is_prepared) {
        let numbers = prepared_numbers(traced, side);
        let rows = (0..).zip(operations.rows()).filter(|(_, row)| row.described != row.begun);
        found.extend(rows.filter_map(|(row, operation)| {
            let at = numbers.binary_search_by_key(&operation.described, |&(call, ..)| call).ok()?;
            let (_, comm, number) = numbers[at];
            Some((comm, number, row))
        }));
    }
    // Stable and nearly sorted: most programs use one communicator for long stretches.
    found.sort_by_key(|&(comm, series, _)| (comm, series));
    found
}

fn is_prepared(call: &Call) -> bool {
    matches!(
        call.function.class(),
        Class::Collective(_, Start::Persistent) | Class::Neighbor(_, Start::Persistent)
    )
}

/// The calls that prepare persistent collectives, with their communicators and their numbers there.
fn prepared_numbers(traced: &RankTrace, side: impl Fn(CommId) -> CommId) -> Vec<(u32, CommId, u32)> {
    let mut numbers: std::collections::BTreeMap<CommId, u32> = Default::default();
    let prepared = (0..).zip(&traced.calls).filter(|(_, call)| is_prepared(call));
    let numbered = prepared.map(|(place, call)| {
        let comm = side(call.comm);
        let number = numbers.entry(comm).or_default();
        *number += 1;
        (place, comm, *number)
    });
    numbered.collect()
}

/// Whether all members of a communicator make such calls in the same order.
pub(crate) fn is_ordered(class: Class) -> bool {
    matches!(class, Class::Collective(..) | Class::Neighbor(..) | Class::NewComm { collective: true })
}

fn of_series(entries: &[Ordered], series: (CommId, u32)) -> &[Ordered] {
    let from = entries.partition_point(|&(comm, number, _)| (comm, number) < series);
    let until = entries.partition_point(|&(comm, number, _)| (comm, number) <= series);
    entries.get(from..until).unwrap_or_default()
}

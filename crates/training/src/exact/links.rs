//! Which workers transfer with each other. A *link* is a set of workers that transfer together: two for a message, all members
//! for a collective. They end it together.

use super::Replays;
use crate::graph::Graph;
use crate::{Job, Kind};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use straggler_model::stats::median;

/// A link is slow if its transfers take this many times the usual time.
pub const STANDS_OUT: f64 = 1.3;
/// The fast links define what is usual if at least one link in this many is fast.
const USUAL: usize = 3;

/// By link: indices of steps, and the durations of its transfers there.
pub type BySteps = BTreeMap<usize, Vec<(usize, Vec<i64>)>>;

/// The entry of a group without a link.
const NO_LINK: u32 = u32::MAX;

/// The links of a job.
#[derive(Debug, Default)]
pub struct Links {
    /// By link: indices of its workers, ascending.
    pub members: Vec<Vec<u32>>,
    /// Links by group and column, one table for each shape and number of columns; [`NO_LINK`] for none.
    tables: Vec<Vec<u32>>,
    /// By step: the index of its table.
    of_step: Vec<usize>,
}

impl Links {
    pub fn new(job: &Job) -> Links {
        let mut links = Links::default();
        let mut known: HashMap<Vec<u32>, u32> = HashMap::new();
        let mut tables: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        for (step, of) in job.steps.iter().enumerate() {
            let table = *tables.entry((of.shape, of.columns)).or_insert_with(|| {
                links.tables.push(table(job, step, &mut known));
                links.tables.len() - 1
            });
            links.of_step.push(table);
        }
        links.members = vec![Vec::new(); known.len()];
        known.into_iter().for_each(|(members, link)| links.members[link as usize] = members);
        links
    }

    /// The link that an operation of a column uses. `None` if no other worker takes part, or if a member was not recorded: then
    /// the duration only shows the wait for that member.
    pub fn link(&self, job: &Job, step: usize, op: usize, column: usize) -> Option<usize> {
        let group = job.shape(step).graph.group(op)? as usize;
        let columns = job.steps[step].columns as usize;
        let link = self.tables[self.of_step[step]][group * columns + column];
        (link != NO_LINK).then_some(link as usize)
    }
}

impl Replays<'_> {
    /// The durations of the transfers of a kind, by link. Empty for links that the kind does not use.
    pub fn transfers(&self, kind: usize) -> Vec<Vec<i64>> {
        let mut takes = vec![Vec::new(); self.links.members.len()];
        for step in 0..self.job.steps.len() {
            self.transfers_in(step, kind, |link, time| takes[link].push(time));
        }
        takes
    }

    /// The durations of the transfers of a kind on some links, by link and index of the step. Steps without transfers are absent.
    pub fn transfers_by_step(&self, kind: usize, some: &BTreeSet<usize>) -> BySteps {
        let mut by_step: BySteps = some.iter().map(|&link| (link, Vec::new())).collect();
        for step in (0..self.job.steps.len()).filter(|_| !some.is_empty()) {
            self.transfers_in(step, kind, |link, time| {
                let Some(steps) = by_step.get_mut(&link) else { return };
                if steps.last().is_none_or(|(last, _)| *last != step) {
                    steps.push((step, Vec::new()));
                }
                if let Some((_, takes)) = steps.last_mut() {
                    takes.push(time);
                }
            });
        }
        by_step
    }

    /// Calls `visit` with the link and duration of every transfer of a kind in a step.
    fn transfers_in(&self, step: usize, kind: usize, mut visit: impl FnMut(usize, i64)) {
        let columns = self.job.steps[step].columns as usize;
        for place in self.by_kind.places(self.job, step, kind) {
            for column in 0..columns {
                if let Some(link) = self.links.link(self.job, step, place, column) {
                    visit(link, self.times[step].steady()[place * columns + column]);
                }
            }
        }
    }
}

/// By kind: how many workers take part in a transfer, recorded or not; at least two.
fn all_of(job: &Job) -> Vec<usize> {
    if !job.is_table() {
        return vec![2; job.kinds.len()];
    }
    let all = |kind: &Kind| match kind {
        kind if kind.is_of_stage() => job.workers.len() / job.stages(),
        Kind::OptimizerClipMainGrad => job.workers.len(),
        _ => 2,
    };
    Kind::ALL.iter().map(|kind| all(kind).max(2)).collect()
}

/// The links of a step, by group and column.
fn table(job: &Job, step: usize, known: &mut HashMap<Vec<u32>, u32>) -> Vec<u32> {
    let graph: &Graph = &job.shape(step).graph;
    let columns = job.steps[step].columns as usize;
    let all_of = all_of(job);
    let mut table = Vec::with_capacity(graph.groups.len() * columns);
    for group in 0..graph.groups.len() {
        let ops = graph.groups.get(group);
        let least = ops.first().map_or(2, |&op| all_of[job.shape(step).ops[op as usize].kind as usize]);
        let mut link = |columns: std::ops::Range<usize>| {
            let all = columns.flat_map(|column| ops.iter().map(move |&op| (op as usize, column)));
            let mut members: Vec<u32> = all.map(|(op, column)| job.worker(step, column, op) as u32).collect();
            members.sort_unstable();
            members.dedup();
            if members.len() < least {
                return NO_LINK;
            }
            let next = known.len() as u32;
            *known.entry(members).or_insert(next)
        };
        match graph.wide[group] {
            true => {
                let of_all = link(0..columns);
                table.resize(table.len() + columns, of_all);
            }
            false => table.extend((0..columns).map(|column| link(column..column + 1))),
        }
    }
    table
}

/// The usual duration of a transfer, if so many links are slow that the median of all transfers is slow, too: links form two
/// distinct groups, at least a third of them is fast, and at least half of all transfers use the slow ones.
pub fn usual_of_fast_links(transfers: &mut [Vec<i64>]) -> Option<i64> {
    let mut medians: Vec<(i64, usize)> = transfers
        .iter_mut()
        .enumerate()
        .filter(|(_, takes)| !takes.is_empty())
        .map(|(link, takes)| (median(takes), link))
        .collect();
    medians.sort_unstable();
    let apart = |fast: usize| medians[fast].0 as f64 / medians[fast - 1].0.max(1) as f64;
    let fast = (1..medians.len()).max_by(|&a, &b| apart(a).total_cmp(&apart(b)).then(b.cmp(&a)))?;
    let count = |links: &[(i64, usize)]| links.iter().map(|&(_, link)| transfers[link].len()).sum::<usize>();
    let (fast_ones, slow_ones) = medians.split_at(fast);
    let is_it = apart(fast) >= STANDS_OUT
        && USUAL * fast >= medians.len()
        && count(slow_ones) >= count(fast_ones)
        && fast_ones[0].0 > 0;
    let mut all: Vec<i64> = fast_ones.iter().flat_map(|&(_, link)| transfers[link].iter().copied()).collect();
    is_it.then(|| median(&mut all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_links_do_not_become_the_usual() {
        let usual = |links: &[&[i64]]| {
            usual_of_fast_links(&mut links.iter().map(|takes| takes.to_vec()).collect::<Vec<_>>())
        };
        assert_eq!(usual(&[&[10, 11, 12], &[200, 210, 220]]), Some(11));
        assert_eq!(usual(&[&[200, 210], &[10, 11, 12], &[190, 180]]), Some(11));
        // One fast link of four is an exception; one slow link of three does not move the median; no distinct groups; no data.
        assert_eq!(usual(&[&[10], &[200], &[200], &[200]]), None);
        assert_eq!(usual(&[&[10], &[10], &[200]]), None);
        assert_eq!(usual(&[&[10], &[11], &[12], &[13]]), None);
        assert_eq!(usual(&[&[], &[0], &[0]]), None);
        assert_eq!(usual(&[]), None);
    }
}

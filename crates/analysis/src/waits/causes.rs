//! Root causes: what made ranks late, so that others waited for them.
//!
//! The delay costs of Böhme, Geimer, Wolf and Arnold (Identifying the root causes of wait states in large-scale
//! parallel applications, ICPP 2010). Two ranks are in step when one has waited for the other, or both have waited for
//! a third in the same collective. The delay of the late rank is what it has done since then, by activity, in excess
//! of the waiting rank. The cost of a wait, its time, is divided in proportion among this delay and the waits of the
//! late rank since then. Ranks may do the same work between other calls, so if the late rank has waited, its delay is at
//! most what it did in all beyond the waiting rank. The share of an earlier wait is passed on to the causes of that wait,
//! as indirect cost. So in the end all waiting is charged to something that a rank did.
//!
//! Waits are processed from the last to the first. A late rank waited before it was late, so the cost of a wait is
//! complete when its turn comes.

mod in_step;

use super::WaitStates;
use super::activities::{Activities, Activity};
use super::late::{Late, Lates};
use super::locations::locate;
use in_step::{InStep, Step};
use rayon::prelude::*;
use straggler_model::{Rank, Time, parallel};
use straggler_trace::Trace;
use straggler_trace::sites::SiteId;

/// An activity of a rank, and how long others waited because of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Cause {
    pub rank: Rank,
    pub activity: Activity,
    /// Seconds that others waited for this rank.
    pub direct: f64,
    /// Seconds that others waited for ranks that had waited because of it.
    pub indirect: f64,
    /// Where in the program it does that, if the trace has call sites: the calls before and after a computation, or the
    /// call.
    pub sites: Vec<SiteId>,
}

impl Cause {
    pub fn total(&self) -> f64 {
        self.direct + self.indirect
    }
}

/// What a wait is charged to.
#[derive(Clone, Copy, Debug, Default)]
struct Due {
    /// Earlier waits of the late rank, by position in the list.
    from: u32,
    to: u32,
    /// Number of entries for what it did in excess of the waiting rank.
    excess: u32,
    /// Both together, in picoseconds.
    sum: f64,
}

/// The activities that made others wait, the longest time first. The costs add up to all waits that have a cause.
pub fn root_causes(trace: &Trace, states: &WaitStates, activities: &Activities) -> Vec<Cause> {
    let lates = Lates::new(trace, &states.waits);
    let waits = &lates.list;
    let in_step = InStep::new(trace, waits);
    let search = Search { sums: sums(waits), lates: &lates, in_step, activities };
    let found: Vec<Chunk> = parallel::map(waits.len().div_ceil(CHUNK), |number| {
        let from = number * CHUNK;
        search.dues(from, &waits[from..waits.len().min(from + CHUNK)])
    });
    let costs = spread(waits, &search, &found);
    let mut causes = causes(activities, costs);
    locate(trace, activities, &mut causes);
    causes
}

const CHUNK: usize = 4096;

/// The charges of consecutive waits, and the excess of all of them in order, by activity of the late rank.
type Chunk = (Vec<Due>, Vec<(u32, f64)>);

/// Prefix sums of the wait times.
fn sums(waits: &[Late]) -> Vec<u64> {
    let mut sum = 0u64;
    let after = waits.iter().map(|wait| {
        sum = sum.saturating_add(wait.time.ps());
        sum
    });
    std::iter::once(0).chain(after).collect()
}

struct Search<'a> {
    lates: &'a Lates,
    sums: Vec<u64>,
    in_step: InStep,
    activities: &'a Activities,
}

/// The time by activity that one rank has in excess of another.
struct Difference {
    times: Vec<u64>,
    touched: Vec<u32>,
}

impl Search<'_> {
    fn dues(&self, first: usize, waits: &[Late]) -> Chunk {
        let mut difference = Difference { times: vec![0; self.activities.names.len()], touched: Vec::new() };
        let mut excess = Vec::new();
        let dues =
            (first..).zip(waits).map(|(number, wait)| self.due(number, wait, &mut difference, &mut excess));
        (dues.collect(), excess)
    }

    fn due(
        &self,
        number: usize,
        wait: &Late,
        difference: &mut Difference,
        excess: &mut Vec<(u32, f64)>,
    ) -> Due {
        let step = self.in_step.before(&self.lates.list, number);
        let before = excess.len();
        let (mut sum, in_all) = self.excess(wait, step, difference, excess);
        let range = self.earlier(number, wait, step);
        let waited = self.sums[range.end].saturating_sub(self.sums[range.start]) as f64;
        if waited > 0.0 && in_all <= 0.0 {
            excess.truncate(before);
            sum = 0.0;
        } else if waited > 0.0 && in_all < sum {
            excess[before..].iter_mut().for_each(|(_, time)| *time *= in_all / sum);
            sum = in_all;
        }
        let mut due = Due { from: range.start as u32, to: range.end as u32, excess: 0, sum: sum + waited };
        if due.sum <= 0.0 {
            // Only if clocks disagree: charge its last activity.
            let late = self.activities.ranks.get(wait.cause.rank as usize);
            let last = late.and_then(|late| late.steps.get(wait.cause.call as usize));
            excess.extend(last.map(|last| (last.before_is, 1.0)));
            due.sum = 1.0;
        }
        due.excess = (excess.len() - before) as u32;
        due
    }

    /// What the late rank did in excess of the waiting rank since they were in step: the sum over what it did more of, and
    /// that of all that it did.
    fn excess(
        &self,
        wait: &Late,
        step: Option<Step>,
        difference: &mut Difference,
        excess: &mut Vec<(u32, f64)>,
    ) -> (f64, f64) {
        let of_rank = |rank: Rank| self.activities.ranks.get(rank as usize);
        let (Some(late), Some(waiting)) = (of_rank(wait.cause.rank), of_rank(wait.place.rank)) else {
            return (0.0, 0.0);
        };
        let (mut sum, mut in_all) = (0.0, 0.0);
        let Difference { times, touched } = difference;
        late.add(step.map(|step| step.late_call), wait.cause.call as usize, &mut |own, time| {
            let all = late.activities[own as usize] as usize;
            if times[all] == 0 {
                touched.push(own);
            }
            times[all] = times[all].saturating_add(time);
            in_all += time as f64;
        });
        waiting.add(step.map(|step| step.waiting_call), wait.place.call as usize, &mut |own, time| {
            let all = waiting.activities[own as usize] as usize;
            times[all] = times[all].saturating_sub(time);
            in_all -= time as f64;
        });
        for own in touched.drain(..) {
            let time = std::mem::take(&mut times[late.activities[own as usize] as usize]);
            if time > 0 {
                excess.push((own, time as f64));
                sum += time as f64;
            }
        }
        (sum, in_all)
    }

    /// The waits of the late rank since the two were in step. Waits whose cost has already been spread are left out;
    /// they occur only if clocks disagree.
    fn earlier(&self, number: usize, wait: &Late, step: Option<Step>) -> std::ops::Range<usize> {
        let from = step.map_or(0, |step| step.late_call + u32::from(step.late_waited));
        let range = self.lates.between(wait.cause.rank, from, wait.cause.call);
        let key = |at: usize| (self.lates.list[at].end, at);
        let until = range.clone().rev().find(|&at| key(at) < key(number));
        range.start..until.map_or(range.start, |at| at + 1)
    }
}

/// Costs of each rank by activity: direct and indirect, in picoseconds.
type Costs = Vec<Vec<[f64; 2]>>;

fn spread(waits: &[Late], search: &Search<'_>, found: &[Chunk]) -> Costs {
    let ranks = &search.activities.ranks;
    let mut costs: Costs = ranks.iter().map(|rank| vec![[0.0; 2]; rank.activities.len()]).collect();
    // The cost passed on to each wait, as a share of its time: the sum over all ranges that contain it.
    let mut passed = vec![0.0; ranks.len()];
    let (mut begins, mut ends) = (vec![0.0; waits.len()], vec![0.0; waits.len()]);
    let excess_of = excess_starts(found);
    for number in last_to_first(waits) {
        let wait = &waits[number];
        let (of_chunk, excess) = &found[number / CHUNK];
        let due = of_chunk[number % CHUNK];
        let share: &mut f64 = &mut passed[wait.place.rank as usize];
        *share += ends[number];
        let (direct, indirect) = (wait.time.ps() as f64, share.max(0.0) * wait.time.ps() as f64);
        *share -= begins[number];
        if due.to > due.from {
            let more = (direct + indirect) / due.sum;
            ends[due.to as usize - 1] += more;
            begins[due.from as usize] += more;
        }
        let from = excess_of[number] as usize;
        for &(activity, time) in &excess[from..from + due.excess as usize] {
            let part = time / due.sum;
            let cost = &mut costs[wait.cause.rank as usize][activity as usize];
            *cost = [cost[0] + direct * part, cost[1] + indirect * part];
        }
    }
    costs
}

/// Where the excess of each wait starts in the list of its chunk.
fn excess_starts(found: &[Chunk]) -> Vec<u32> {
    let of_chunk = |(dues, _): &Chunk| {
        let mut next = 0;
        let start = |due: &Due| {
            let from = next;
            next += due.excess;
            from
        };
        dues.iter().map(start).collect::<Vec<u32>>()
    };
    found.iter().flat_map(of_chunk).collect()
}

fn last_to_first(waits: &[Late]) -> impl Iterator<Item = usize> {
    let mut order: Vec<(Time, u32)> = (0..).zip(waits).map(|(number, wait)| (wait.end, number)).collect();
    order.par_sort_unstable();
    order.into_iter().rev().map(|(_, number)| number as usize)
}

fn causes(activities: &Activities, costs: Costs) -> Vec<Cause> {
    let mut list = Vec::new();
    for ((rank, doings), costs) in (0..).zip(&activities.ranks).zip(costs) {
        for (&activity, [direct, indirect]) in doings.activities.iter().zip(costs) {
            if direct + indirect > 0.0 {
                let activity = activities.names[activity as usize].clone();
                let [direct, indirect] = [direct, indirect].map(|cost| cost * 1e-12);
                list.push(Cause { rank, activity, direct, indirect, sites: Vec::new() });
            }
        }
    }
    list.sort_by(|one, other| other.total().total_cmp(&one.total()));
    list
}

//! The critical path of a traced run: what determined its length.
//!
//! The path goes back from the end of the run along one rank until that rank waited for another, and continues on the
//! other one from the time that ended the wait. So it never waits, and its parts add up to the run. Making anything
//! off the path faster gains nothing.

use super::WaitStates;
use super::activities::{Activities, Activity};
use super::late::Lates;
use super::times::polls;
use straggler_model::{Rank, Time, parallel};
use straggler_trace::{Class, Trace};

/// The chain of activities that determined the length of a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CriticalPath {
    /// From the first call of the run to the end of the last.
    pub length: Time,
    /// From the start of the run to its end.
    pub stretches: Vec<Stretch>,
    /// The activities on it, by rank and activity, the longest first.
    pub parts: Vec<PathPart>,
    /// The same over all ranks.
    pub activities: Vec<PathActivity>,
}

/// A part of the path that lies on one rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretch {
    pub rank: Rank,
    pub start: Time,
    pub end: Time,
}

/// The time that one activity of one rank spends on the critical path.
#[derive(Clone, PartialEq, Debug)]
pub struct PathPart {
    pub rank: Rank,
    pub activity: Activity,
    pub time: Time,
}

/// The time that an activity spends on the critical path, over all ranks.
#[derive(Clone, PartialEq, Debug)]
pub struct PathActivity {
    pub activity: Activity,
    /// Time on the path.
    pub time: Time,
    /// The mean time that a rank spends on it, in seconds.
    pub mean: f64,
}

impl PathActivity {
    /// Seconds by which the run would be shorter if this activity were spread evenly over the ranks.
    pub fn imbalance(&self) -> f64 {
        (self.time.seconds() - self.mean).max(0.0)
    }
}

impl CriticalPath {
    pub fn new(trace: &Trace, states: &WaitStates, activities: &Activities) -> CriticalPath {
        let times = activities.ranks.iter().map(|rank| vec![Time::ZERO; rank.activities.len()]).collect();
        let lates = Lates::new(trace, &states.waits);
        let ends = Ends::new(trace);
        let mut walk = Walk { trace, activities, lates, times, stretches: Vec::new() };
        walk.back(&ends);
        let Walk { mut stretches, times, .. } = walk;
        stretches.reverse();
        CriticalPath {
            length: ends.end.since(ends.begin),
            stretches,
            activities: together(activities, &times),
            parts: parts(activities, &times),
        }
    }

    /// The time on each rank that the path visits, the longest first.
    pub fn ranks(&self) -> Vec<(Rank, Time)> {
        let mut ranks: Vec<(Rank, Time)> =
            self.stretches.iter().map(|stretch| (stretch.rank, stretch.end.since(stretch.start))).collect();
        ranks.sort_unstable();
        ranks.dedup_by(|next, sum| {
            let same = next.0 == sum.0;
            sum.1 += if same { next.1 } else { Time::ZERO };
            same
        });
        ranks.sort_by_key(|&(rank, time)| (std::cmp::Reverse(time), rank));
        ranks
    }
}

struct Walk<'a> {
    trace: &'a Trace,
    activities: &'a Activities,
    lates: Lates,
    /// By rank, then by its activities.
    times: Vec<Vec<Time>>,
    stretches: Vec<Stretch>,
}

impl Walk<'_> {
    fn back(&mut self, &Ends { begin, end, last }: &Ends) {
        let Some(mut rank) = last else { return };
        let mut now = end;
        let mut call = u32::MAX;
        // No wait is visited twice, even if clocks disagree.
        let mut unseen = vec![usize::MAX; self.trace.ranks.len()];
        loop {
            let waits = self.lates.between(rank, 0, call);
            let waits = waits.start..waits.end.min(unseen[rank as usize]).max(waits.start);
            let last = waits.rev().find(|&at| self.lates.list[at].end <= now);
            let wait = last.map(|at| self.lates.list[at]);
            let from = wait.map_or(begin, |wait| wait.end.max(begin));
            self.charge(rank, call, from, now);
            if from < now {
                self.stretches.push(Stretch { rank, start: from, end: now });
            }
            let (Some(wait), Some(at)) = (wait, last) else { return };
            unseen[rank as usize] = at;
            (rank, call, now) = (wait.cause.rank, wait.cause.call, from);
        }
    }

    /// Adds what a rank did from one time to another, all before a call.
    fn charge(&mut self, rank: Rank, call: u32, from: Time, to: Time) {
        let rank = rank as usize;
        let (calls, steps) = (&self.trace.ranks[rank].calls, &self.activities.ranks[rank].steps);
        let times = &mut self.times[rank];
        let mut now = to;
        let mut charge = |activity: u32, until: Time, most: Time| {
            let time = now.since(until.max(from)).min(most);
            times[activity as usize] += time;
            now = now - time;
            now > from
        };
        let count = calls.len().min(call as usize);
        for (number, call) in calls[..count].iter().enumerate().rev() {
            let step = steps[number];
            let after = steps.get(number + 1).map_or(step.inside_is, |next| next.before_is);
            if !charge(after, call.exit, Time::NEVER) {
                return;
            }
            // Between the polls of one record there is computation.
            let length = call.exit.since(call.enter);
            let inside = polls(&self.trace.ranks[rank], call).map_or(length, |_| step.inside);
            if !charge(step.inside_is, call.enter, inside) || !charge(step.before_is, call.enter, Time::NEVER)
            {
                return;
            }
        }
        let first = steps.first().map_or(0, |step| step.before_is);
        charge(first, from, Time::NEVER);
    }
}

/// When a run began and ended.
#[derive(Default)]
struct Ends {
    begin: Time,
    end: Time,
    /// The rank that determined the end: the last to enter MPI_Finalize, which all ranks wait for, else the last to
    /// end.
    last: Option<Rank>,
}

impl Ends {
    fn new(trace: &Trace) -> Ends {
        // For each rank: its first enter, its last exit, and when it entered MPI_Finalize.
        let of_rank = |rank: usize| {
            let traced = &trace.ranks[rank];
            let first = traced.calls.first()?.enter;
            let end = traced.calls.iter().map(|call| call.exit).max()?;
            let finalize = traced.calls.iter().rfind(|call| call.function.class() == Class::Finalize);
            Some((first, end, finalize.map(|call| call.enter), rank as Rank))
        };
        let ranks: Vec<(Time, Time, Option<Time>, Rank)> = parallel::flat_map(trace.ranks.len(), of_rank);
        let all_finalize = ranks.iter().all(|rank| rank.2.is_some());
        let late =
            |rank: &&(Time, Time, Option<Time>, Rank)| if all_finalize { rank.2 } else { Some(rank.1) };
        Ends {
            begin: ranks.iter().map(|rank| rank.0).min().unwrap_or_default(),
            end: ranks.iter().map(|rank| rank.1).max().unwrap_or_default(),
            last: ranks.iter().max_by_key(late).map(|rank| rank.3),
        }
    }
}

fn parts(activities: &Activities, times: &[Vec<Time>]) -> Vec<PathPart> {
    let mut parts = Vec::new();
    for ((rank, doings), times) in (0..).zip(&activities.ranks).zip(times) {
        for (&activity, &time) in doings.activities.iter().zip(times) {
            if time > Time::ZERO {
                parts.push(PathPart { rank, activity: activities.names[activity as usize].clone(), time });
            }
        }
    }
    parts.sort_by_key(|part| (std::cmp::Reverse(part.time), part.rank));
    parts
}

fn together(activities: &Activities, times: &[Vec<Time>]) -> Vec<PathActivity> {
    let mut sums = vec![Time::ZERO; activities.names.len()];
    for (doings, times) in activities.ranks.iter().zip(times) {
        for (&activity, &time) in doings.activities.iter().zip(times) {
            sums[activity as usize] += time;
        }
    }
    let ranks = activities.ranks.iter().filter(|rank| !rank.steps.is_empty()).count().max(1) as f64;
    let all = activities.names.iter().zip(sums).zip(activities.totals());
    let one = |((activity, time), total): ((&Activity, Time), f64)| PathActivity {
        activity: activity.clone(),
        time,
        mean: total * 1e-12 / ranks,
    };
    let mut list: Vec<PathActivity> = all.map(one).filter(|one| one.time > Time::ZERO).collect();
    list.sort_by(|one, other| (other.time, &one.activity).cmp(&(one.time, &other.activity)));
    list
}

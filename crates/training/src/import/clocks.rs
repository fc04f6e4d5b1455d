//! Compares the clocks of ranks by the ends of collectives. No rank has the result of an all-reduce before all have sent, so all
//! end within a few microseconds of each other.

use super::matching::{Matched, Member};
use super::recorded::Recorded;
use super::words;
use crate::clocks::{Ends, Jump, Offsets};
use std::collections::BTreeSet;

/// Clocks further apart than this do not share an epoch.
const APART_PS: i128 = 30 * 86_400 * 1_000_000_000_000;

/// The shift of each worker that aligns the clocks, and findings about them.
#[derive(Debug)]
pub struct Clocks {
    pub shift_ps: Vec<i64>,
    /// Clocks that jump during the recording.
    jumps: Vec<Jump>,
    pub notes: Vec<String>,
    /// Says that the clocks agree.
    pub remark: Option<String>,
}

impl Clocks {
    /// The shift of a worker in a step, with the parts before and after a jump aligned separately.
    pub fn shift_in(&self, worker: usize, step: i64) -> i64 {
        let jumped = self.jumps.iter().find(|jump| jump.worker == worker);
        let ahead = jumped.map_or(0, |jump| if step < jump.first_after { jump.before } else { jump.after });
        self.shift_ps[worker].saturating_sub(ahead)
    }

    /// The steps in which no clock can have jumped. `None` if there are none, or if no clock jumps.
    pub fn steps_apart(&self, steps: &[i64]) -> Option<Vec<i64>> {
        let jumps: BTreeSet<i64> =
            self.jumps.iter().flat_map(|jump| [jump.last_before, jump.first_after]).collect();
        let kept: Vec<i64> = steps.iter().copied().filter(|step| !jumps.contains(step)).collect();
        (!kept.is_empty() && !jumps.is_empty()).then_some(kept)
    }

    /// A sentence about clocks that jump and what was done about it. `left_out` has the steps left out.
    pub fn jumps_note(&self, workers: &[Recorded], left_out: Option<&[i64]>) -> Option<String> {
        let told = |jump: &Jump| {
            let rank = rank(workers, jump.worker);
            format!("rank {rank} by {} at step {}", words::time(jump.by()), jump.first_after)
        };
        let jumps: Vec<String> = self.jumps.iter().map(told).collect();
        let done = match left_out {
            Some(steps) => format!(
                "Steps before and after a jump were aligned separately. Left out, because a clock may jump within them: {}.",
                words::named("step", steps)
            ),
            None => "Waiting times of these ranks are not reliable.".into(),
        };
        (!jumps.is_empty())
            .then(|| format!("Clocks jump during the recording: {}. {done}", words::list(&jumps)))
    }
}

pub fn align(workers: &[Recorded], matched: &Matched) -> Clocks {
    let (recorded, apart) = recorded_shift(workers);
    let end = |member: &Member| {
        let op = &workers[member.worker as usize].ops[member.op as usize];
        op.start_ps.saturating_add(op.duration_ps).saturating_add(recorded[member.worker as usize])
    };
    // A group has collectives of several kinds, and not all of them end together.
    let comparable = |member: &Member| {
        let worker = &workers[member.worker as usize];
        let meeting = worker.ops[member.op as usize].meeting;
        let channel = meeting.and_then(|meeting| worker.channels.get(meeting.channel as usize));
        worker.has_clock && channel.is_some_and(|channel| channel.ends_together)
    };
    let usable =
        |set: &&super::matching::Set| set.members.len() > 1 && matched.members(set).iter().all(comparable);
    let mut dated: Vec<(Ends, i64)> = (matched.sets.iter().filter(usable))
        .map(|set| {
            let ends = matched.members(set).iter().map(|member| (member.worker, end(member)));
            (ends.collect(), set.step)
        })
        .collect();
    dated.sort_by_key(|(ends, _)| ends.iter().map(|&(_, end)| end).max());
    let (meetings, steps): (Vec<Ends>, Vec<i64>) = dated.into_iter().unzip();
    let offsets = Offsets::new(&meetings, workers.len());
    let rank_of = |worker: usize| rank(workers, worker);
    let alone: Vec<u32> = offsets.alone.iter().map(|&worker| rank_of(worker)).collect();
    let mut notes = Vec::new();
    if apart {
        notes.push(
            "The clocks of the files are more than 30 days apart: only times within a file were used.".into(),
        );
    }
    let mut remark = None;
    if !meetings.is_empty() {
        let found = offsets.found(&meetings, ["collective", "collectives"], rank_of);
        match offsets.agree {
            true => remark = Some(found),
            false => notes.push(found),
        }
    }
    if workers.len() > 1 && !alone.is_empty() && workers.iter().any(|worker| worker.has_clock) {
        notes.push(format!(
            "The clock of {} could not be compared: no collective with the others was recorded. Its times are used \
             as they are.",
            words::named("rank", &alone)
        ));
    }
    let shift_ps =
        recorded.iter().zip(&offsets.offset).map(|(&shift, &offset)| shift.saturating_sub(offset)).collect();
    Clocks { shift_ps, jumps: offsets.jumps(&meetings, &steps), notes, remark }
}

fn rank(workers: &[Recorded], worker: usize) -> u32 {
    workers[worker].rank.unwrap_or(worker as u32)
}

/// The shifts that bring the times of all files to the same epoch, according to the files, and whether the files are
/// too far apart for this.
fn recorded_shift(workers: &[Recorded]) -> (Vec<i64>, bool) {
    let first = workers.iter().map(|worker| worker.origin_ps).min().unwrap_or(0);
    let apart = workers.iter().any(|worker| worker.origin_ps - first > APART_PS);
    let shift = |worker: &Recorded| if apart { 0 } else { (worker.origin_ps - first) as i64 };
    (workers.iter().map(shift).collect(), apart)
}

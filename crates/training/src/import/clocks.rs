//! Clocks of ranks, compared by the ends of collectives: nobody has the result of an all-reduce before all have sent,
//! so all ranks end together, but for a few microseconds.

use super::matching::{Matched, Member};
use super::recorded::Recorded;
use super::words;
use crate::clocks::{Ends, Offsets};

/// Clocks further apart than this were not set to the same time at all.
const APART_PS: i128 = 30 * 86_400 * 1_000_000_000_000;
/// What is added to the times of each worker, so that all count alike, and what was found.
#[derive(Debug)]
pub struct Clocks {
    pub shift_ps: Vec<i64>,
    pub notes: Vec<String>,
    /// That they agree.
    pub remark: Option<String>,
}

pub fn align(workers: &[Recorded], matched: &Matched) -> Clocks {
    let (recorded, apart) = recorded_shift(workers);
    let end = |member: &Member| {
        let op = &workers[member.worker as usize].ops[member.op as usize];
        op.start_ps.saturating_add(op.duration_ps).saturating_add(recorded[member.worker as usize])
    };
    // A group has collectives of all kinds, and not all end together.
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
    let offsets = Offsets::of(&meetings, workers.len());
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
        notes.extend(offsets.jumps(&meetings, &steps, rank_of));
    }
    if workers.len() > 1 && !alone.is_empty() && workers.iter().any(|worker| worker.has_clock) {
        notes.push(format!(
            "The clock of {} could not be compared: no collective with the others was recorded. Its times are used \
             as they are.",
            words::of("rank", &alone)
        ));
    }
    let shift_ps =
        recorded.iter().zip(&offsets.offset).map(|(&shift, &offset)| shift.saturating_sub(offset)).collect();
    Clocks { shift_ps, notes, remark }
}

fn rank(workers: &[Recorded], worker: usize) -> u32 {
    workers[worker].rank.unwrap_or(worker as u32)
}

/// What brings the times of all files to the same epoch, as they were recorded.
fn recorded_shift(workers: &[Recorded]) -> (Vec<i64>, bool) {
    let first = workers.iter().map(|worker| worker.origin_ps).min().unwrap_or(0);
    let apart = workers.iter().any(|worker| worker.origin_ps - first > APART_PS);
    let shift = |worker: &Recorded| if apart { 0 } else { (worker.origin_ps - first) as i64 };
    (workers.iter().map(shift).collect(), apart)
}

//! Checks by the sequence numbers of collectives whether files belong to one job.
//!
//! A process group numbers its collectives through the whole job, so equal numbers are the same collective, whatever its step
//! number. A rank that has no number in common with the others was recorded in another run, or at another time: it is left out.
//! If a rank has the same numbers in different steps, its steps are renumbered.

use super::recorded::Recorded;
use super::{ImportError, words};
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

/// Steps are renumbered if at least this percentage of the collectives agree on the difference.
const AGREE_PERCENT: usize = 90;

/// A collective of a numbered group: the index of its group, and its number.
type Collective = (u32, u64);

/// Evidence of which files belong together.
struct Evidence {
    /// By worker: its collectives with their steps, sorted.
    collectives: Vec<Vec<(Collective, i64)>>,
    /// By worker: its numbered groups, and those whose collectives can only be matched by order.
    numbered: Vec<Vec<u32>>,
    by_order: Vec<Vec<u32>>,
}

impl Evidence {
    fn new(workers: &[Recorded]) -> Evidence {
        let mut keys: HashMap<&str, u32> = HashMap::new();
        let mut evidence = Evidence { collectives: Vec::new(), numbered: Vec::new(), by_order: Vec::new() };
        for worker in workers {
            let (mut numbered, mut by_order) = (Vec::new(), Vec::new());
            let mut places = Vec::with_capacity(worker.channels.len());
            for channel in &worker.channels {
                let next = keys.len() as u32;
                let place = *keys.entry(&channel.key).or_insert(next);
                places.push(place);
                if channel.numbered { numbered.push(place) } else { by_order.push(place) }
            }
            let of = |op: &super::recorded::RecordedOp| {
                let meeting = op.meeting?;
                let channel = meeting.channel as usize;
                let is_numbered = worker.channels.get(channel)?.numbered;
                is_numbered.then_some(((places[channel], meeting.number), op.step))
            };
            let mut collectives: Vec<(Collective, i64)> = worker.ops.iter().filter_map(of).collect();
            collectives.sort_unstable();
            collectives.dedup_by_key(|(collective, _)| *collective);
            evidence.collectives.push(collectives);
            evidence.numbered.push(numbered);
            evidence.by_order.push(by_order);
        }
        evidence
    }

    /// By worker: the number of its connected component. Workers with a collective or an unnumbered group in common are
    /// connected.
    fn connected(&self) -> Vec<usize> {
        let mut same: Vec<usize> = (0..self.collectives.len()).collect();
        let (mut collectives, mut groups) = (HashMap::new(), HashMap::new());
        for worker in 0..same.len() {
            for (collective, _) in &self.collectives[worker] {
                join(&mut same, *collectives.entry(*collective).or_insert(worker), worker);
            }
            for group in &self.by_order[worker] {
                join(&mut same, *groups.entry(*group).or_insert(worker), worker);
            }
        }
        (0..same.len()).map(|worker| root(&mut same, worker)).collect()
    }
}

fn root(same: &mut [usize], mut of: usize) -> usize {
    while same[of] != of {
        same[of] = same[same[of]];
        of = same[of];
    }
    of
}

fn join(same: &mut [usize], one: usize, other: usize) {
    let (one, other) = (root(same, one), root(same, other));
    same[one.max(other)] = one.min(other);
}

/// Removes ranks that have no collective in common with the others although they are in the same group, and adds a note. Workers
/// are in order of rank.
pub fn without_strangers(workers: &mut Vec<Recorded>, notes: &mut Vec<String>) -> Result<(), ImportError> {
    let evidence = Evidence::new(workers);
    let part = evidence.connected();
    let mut sizes = vec![0usize; workers.len()];
    part.iter().for_each(|&part| sizes[part] += 1);
    let Some(most) = sizes.iter().copied().max() else { return Ok(()) };
    let job = sizes.iter().position(|&size| size == most).unwrap_or(0);
    let is_known = |worker: usize| part[worker] == job;
    let groups: std::collections::HashSet<u32> = (0..workers.len())
        .filter(|&worker| is_known(worker))
        .flat_map(|worker| evidence.numbered[worker].clone())
        .collect();
    // A rank in none of their groups may still belong to the job, such as a stage whose messages were not recorded.
    let is_strange = |worker: usize| {
        !is_known(worker) && evidence.numbered[worker].iter().any(|group| groups.contains(group))
    };
    let strange: Vec<usize> = (0..workers.len()).filter(|&worker| is_strange(worker)).collect();
    let (Some(&first), Some(one)) = (strange.first(), (0..workers.len()).find(|&worker| is_known(worker)))
    else {
        return Ok(());
    };
    if 2 * strange.len() >= workers.len() {
        return Err(ImportError::TwoJobs {
            first: workers[one].path.clone(),
            second: workers[first].path.clone(),
            why: "their collectives have no sequence number in common. Or were they recorded at different times?".into(),
        });
    }
    let ranks: Vec<u32> = strange.iter().filter_map(|&worker| workers[worker].rank).collect();
    notes.push(format!(
        "Left out: {} ({}). No collective there has the sequence number of one of the other ranks: {} recorded at another \
         time, or in another run. What {} did is unknown.",
        words::named("rank", &ranks),
        words::list(&strange.iter().map(|&worker| workers[worker].name()).collect::<Vec<_>>()),
        words::plural(ranks.len(), "the file was", "the files were"),
        words::plural(ranks.len(), "this rank", "these ranks")
    ));
    let mut place = 0..;
    workers.retain(|_| place.next().is_none_or(|place| strange.binary_search(&place).is_err()));
    Ok(())
}

/// Renumbers the steps of ranks whose step numbers differ from those of the others, and adds a note.
pub fn same_steps(workers: &mut [Recorded], notes: &mut Vec<String>) {
    let ahead = steps_ahead(&Evidence::new(workers).collectives);
    let mut told = Vec::new();
    for (worker, by) in workers.iter_mut().zip(ahead).filter(|(_, by)| *by != 0) {
        let renumbered = |step: &mut i64| *step = step.saturating_sub(by);
        worker.steps.iter_mut().for_each(renumbered);
        worker.left_out.iter_mut().for_each(|(step, _)| renumbered(step));
        worker.ops.iter_mut().for_each(|op| renumbered(&mut op.step));
        worker.table.iter_mut().flatten().for_each(|op| renumbered(&mut op.step));
        told.push(format!("rank {} by {}", worker.rank.unwrap_or(0), by.saturating_neg()));
    }
    if !told.is_empty() {
        notes.push(format!(
            "Step numbers were shifted, because collectives with the same sequence number are in steps with different numbers: \
             {}.",
            words::list(&told)
        ));
    }
}

/// By worker: how much larger its step numbers are than those of most workers with the same collectives.
fn steps_ahead(collectives: &[Vec<(Collective, i64)>]) -> Vec<i64> {
    let mut with: HashMap<Collective, Vec<usize>> = HashMap::new();
    for (worker, of) in collectives.iter().enumerate() {
        of.iter().for_each(|(collective, _)| with.entry(*collective).or_default().push(worker));
    }
    let mut ahead: Vec<Option<i64>> = vec![None; collectives.len()];
    let mut steps: HashMap<Collective, i64> = HashMap::new();
    for first in 0..collectives.len() {
        let mut members = Vec::new();
        let mut next = BTreeSet::from([first]);
        while let Some(worker) = next.pop_first() {
            if ahead[worker].is_some() {
                continue;
            }
            let by = difference(&collectives[worker], &steps);
            ahead[worker] = Some(by);
            members.push(worker);
            for &(collective, step) in &collectives[worker] {
                steps.entry(collective).or_insert_with(|| {
                    next.extend(&with[&collective]);
                    step.saturating_sub(by)
                });
            }
        }
        let usual = most_common(members.iter().filter_map(|&worker| ahead[worker]));
        members.iter().for_each(|&worker| ahead[worker] = ahead[worker].map(|by| by.saturating_sub(usual)));
    }
    ahead.into_iter().map(|by| by.unwrap_or(0)).collect()
}

/// How far the steps of a worker are ahead of the known ones. 0 if its collectives do not agree, or none is known.
fn difference(of: &[(Collective, i64)], steps: &HashMap<Collective, i64>) -> i64 {
    let shared =
        of.iter().filter_map(|(collective, step)| Some(step.saturating_sub(*steps.get(collective)?)));
    let differences: Vec<i64> = shared.collect();
    let usual = most_common(differences.iter().copied());
    let agree = differences.iter().filter(|&&by| by == usual).count();
    if 100 * agree >= AGREE_PERCENT * differences.len() { usual } else { 0 }
}

/// The most frequent number; ties go to the first.
fn most_common(numbers: impl Iterator<Item = i64>) -> i64 {
    let mut counts: HashMap<i64, (usize, usize)> = HashMap::new();
    for (place, number) in numbers.enumerate() {
        counts.entry(number).or_insert((0, place)).0 += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, (count, place))| (*count, Reverse(*place)));
    most.map_or(0, |(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_those_of_most_workers() {
        let worker = |ahead: i64, numbers: std::ops::Range<u64>| -> Vec<(Collective, i64)> {
            numbers.map(|number| ((0, number), number as i64 / 2 + ahead)).collect()
        };
        let all = |ahead: [i64; 3]| ahead.map(|by| worker(by, 0..20)).to_vec();
        assert_eq!(steps_ahead(&all([0, 0, 0])), [0, 0, 0]);
        assert_eq!(steps_ahead(&all([0, 1, 0])), [0, 1, 0]);
        // The majority wins over the first.
        assert_eq!(steps_ahead(&all([-1, 0, 0])), [-1, 0, 0]);
        // Connected through a third worker; and of two, the first wins.
        assert_eq!(steps_ahead(&[worker(0, 0..10), worker(3, 15..30), worker(0, 5..20)]), [0, 3, 0]);
        assert_eq!(steps_ahead(&[worker(0, 0..10), worker(1, 0..10)]), [0, 1]);
        assert_eq!(steps_ahead(&[worker(0, 0..10), worker(1, 50..60)]), [0, 0]);
        // Numbers at the ends of the range.
        let far = |step: i64| vec![((0, 0), step)];
        assert_eq!(steps_ahead(&[far(i64::MAX), far(i64::MIN), far(i64::MAX)]), [0, i64::MIN, 0]);
        // Collectives that do not agree are ignored.
        let mixed = (0..20).map(|number| ((0, number), (number / 2 + number % 2) as i64)).collect();
        assert_eq!(steps_ahead(&[worker(0, 0..20), mixed]), [0, 0]);
    }
}

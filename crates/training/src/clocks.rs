//! Compares the clocks of workers by the ends of their common operations. No worker has the result of an all-reduce before all
//! have sent, so all end within a few microseconds of each other.

use crate::words;
use straggler_model::stats::median;

/// A clock jumps if it moves by more than this and by more than ten times the residual.
const JUMP_PS: i64 = 1_000_000_000;
const ROUNDS: usize = 20;

/// The ends of one collective, or of a send and its receive: pairs of a worker and a time in picoseconds.
pub type Ends = Vec<(u32, i64)>;

/// How far clocks are ahead, in picoseconds.
#[derive(Debug)]
pub struct Offsets {
    /// Indexed by worker.
    pub offset: Vec<i64>,
    /// Workers that no chain of meetings connects with the first.
    pub alone: Vec<usize>,
    /// Whether clocks need no correction.
    pub agree: bool,
}

impl Offsets {
    /// Computes offsets from meetings in chronological order.
    pub fn new(meetings: &[Ends], workers: usize) -> Offsets {
        let mut offset: Vec<Option<i64>> = vec![None; workers];
        spread(meetings, &mut offset);
        let alone = (0..workers).filter(|&worker| offset[worker].is_none()).collect();
        let mut offset: Vec<i64> = offset.into_iter().map(|offset| offset.unwrap_or(0)).collect();
        let agree = agree(meetings, workers);
        match agree {
            true => offset.fill(0),
            false => refine(meetings, &mut offset),
        }
        Offsets { offset, alone, agree }
    }

    /// The worker with the largest offset.
    pub fn furthest(&self) -> usize {
        (0..self.offset.len()).max_by_key(|&worker| self.offset[worker].saturating_abs()).unwrap_or(0)
    }

    /// The median and the maximum deviation of ends after alignment.
    pub fn residual(&self, meetings: &[Ends]) -> (i64, i64) {
        let mut distances = Vec::new();
        residuals(meetings, &self.offset, &mut |_, residual| distances.push(residual.saturating_abs()));
        let largest = distances.iter().copied().max().unwrap_or(0);
        (median(&mut distances), largest)
    }

    /// A sentence about the offsets. `called` is the word for a meeting, singular and plural.
    pub fn found(&self, meetings: &[Ends], called: [&str; 2], rank: impl Fn(usize) -> u32) -> String {
        let (middle, largest) = self.residual(meetings);
        let furthest = self.furthest();
        if self.agree && middle > JUMP_PS {
            return format!(
                "The ends of {} {} scatter by {} (median) and {} (maximum), and no rank is always ahead or behind: they do not show \
                 how far clocks differ, and times are used as recorded.",
                meetings.len(),
                words::plural(meetings.len(), called[0], called[1]),
                words::time(middle),
                words::time(largest)
            );
        }
        if self.agree {
            let within = |ps: i64| match ps {
                0 => "exactly".to_string(),
                _ => format!("to within {}", words::time(ps)),
            };
            let within = match largest > JUMP_PS.max(middle.saturating_mul(10)) {
                true => format!("{} (median) and {} (maximum)", within(middle), within(largest)),
                false => within(largest),
            };
            return format!(
                "Clocks agree {within} at the ends of {} {}: times are used as recorded.",
                meetings.len(),
                words::plural(meetings.len(), called[0], called[1])
            );
        }
        format!(
            "Clocks were aligned on the ends of {} {}: the largest offset is {} (rank {}); after alignment, ends deviate from \
             their median by {} (median) and {} (maximum).",
            meetings.len(),
            words::plural(meetings.len(), called[0], called[1]),
            words::time(self.offset[furthest]),
            rank(furthest),
            words::time(middle),
            words::time(largest)
        )
    }

    /// Clocks that moved relative to the others between the first and the last third of the meetings. `steps` has the step of
    /// each meeting.
    pub fn jumps(&self, meetings: &[Ends], steps: &[i64]) -> Vec<Jump> {
        let mut of_worker: Vec<Vec<(i64, i64)>> = vec![Vec::new(); self.offset.len()];
        let mut distances = Vec::new();
        for (meeting, step) in meetings.iter().zip(steps) {
            residuals(std::slice::from_ref(meeting), &self.offset, &mut |worker, residual| {
                of_worker[worker as usize].push((*step, residual));
                distances.push(residual.saturating_abs());
            });
        }
        let residual = median(&mut distances);
        let is_far = |jump: &Jump| {
            let by = jump.by().saturating_abs();
            by > JUMP_PS && by > residual.saturating_mul(10)
        };
        let found = of_worker.iter().enumerate().filter_map(|(worker, values)| moved(worker, values));
        found.filter(is_far).collect()
    }
}

/// A permanent jump of a clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Jump {
    pub worker: usize,
    /// The step of the last meeting before the jump, and that of the first one after it.
    pub last_before: i64,
    pub first_after: i64,
    /// How far the clock is ahead before and after it, in addition to its offset.
    pub before: i64,
    pub after: i64,
}

impl Jump {
    pub fn by(&self) -> i64 {
        self.after.saturating_sub(self.before)
    }
}

/// Finds the jump of a worker in its steps and residuals, which are in chronological order.
fn moved(worker: usize, values: &[(i64, i64)]) -> Option<Jump> {
    let third = values.len() / 3;
    let of =
        |part: &[(i64, i64)]| quartiles(&part.iter().map(|(_, residual)| *residual).collect::<Vec<i64>>());
    let (first, last) = (of(&values[..third])?, of(&values[values.len() - third..])?);
    // If the quartile ranges overlap, the ends scatter too much to show a jump.
    let apart = first.2 < last.0 || last.2 < first.0;
    let by = last.1.saturating_sub(first.1);
    let is_before = |(_, residual): &(i64, i64)| {
        residual.saturating_sub(first.1).saturating_abs() <= by.saturating_abs() / 2
    };
    let before = values.iter().rposition(is_before)?;
    let (last_before, first_after) = (values[before].0, values.get(before + 1).filter(|_| apart)?.0);
    Some(Jump { worker, last_before, first_after, before: first.1, after: last.1 })
}

/// The lower quartile, the median and the upper quartile.
fn quartiles(values: &[i64]) -> Option<(i64, i64, i64)> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let quarter = sorted.len().checked_sub(1)? / 4;
    let (low, high) = (sorted[quarter], sorted[sorted.len() - 1 - quarter]);
    Some((low, median(&mut sorted), high))
}

/// Whether clocks need no correction: none is ahead or behind in nine of ten meetings. A slow link makes a rank end late in some
/// meetings, a wrong clock in all.
fn agree(meetings: &[Ends], workers: usize) -> bool {
    let mut distances: Vec<Vec<i64>> = vec![Vec::new(); workers];
    residuals(meetings, &vec![0; workers], &mut |worker, residual| distances[worker as usize].push(residual));
    distances.iter().all(|values| {
        let ahead = values.iter().filter(|&&value| value > 0).count();
        let behind = values.iter().filter(|&&value| value < 0).count();
        values.is_empty() || ahead.max(behind) * 10 < values.len() * 9
    })
}

/// Computes initial offsets: those of workers that meet the first one, then those of workers that meet these, and so
/// on.
fn spread(meetings: &[Ends], offset: &mut [Option<i64>]) {
    let Some(&(first, _)) = meetings.iter().flatten().min_by_key(|&&(worker, _)| worker) else { return };
    offset[first as usize] = Some(0);
    loop {
        let mut differences: Vec<Vec<i64>> = vec![Vec::new(); offset.len()];
        for ends in meetings {
            let known =
                ends.iter().filter_map(|&(worker, end)| Some(end.saturating_sub(offset[worker as usize]?)));
            let mut known: Vec<i64> = known.collect();
            if known.is_empty() {
                continue;
            }
            let reference = median(&mut known);
            for &(worker, end) in ends.iter().filter(|&&(worker, _)| offset[worker as usize].is_none()) {
                differences[worker as usize].push(end.saturating_sub(reference));
            }
        }
        let mut grown = false;
        for (offset, values) in offset.iter_mut().zip(&mut differences) {
            if offset.is_none() && !values.is_empty() {
                *offset = Some(median(values));
                grown = true;
            }
        }
        if !grown {
            return;
        }
    }
}

/// Shifts every clock by the median of its distance to the others, until no shift reaches a nanosecond.
fn refine(meetings: &[Ends], offset: &mut [i64]) {
    for _ in 0..ROUNDS {
        let mut differences: Vec<Vec<i64>> = vec![Vec::new(); offset.len()];
        residuals(meetings, offset, &mut |worker, residual| differences[worker as usize].push(residual));
        let mut largest = 0;
        for (offset, values) in offset.iter_mut().zip(&mut differences) {
            let moved = median(values);
            *offset = offset.saturating_add(moved);
            largest = largest.max(moved.saturating_abs());
        }
        if largest < 1000 {
            return;
        }
    }
}

/// Calls `each` with the distance of every end to the median of its collective, in chronological order.
fn residuals(meetings: &[Ends], offset: &[i64], each: &mut dyn FnMut(u32, i64)) {
    for ends in meetings {
        let aligned = |&(worker, end): &(u32, i64)| end.saturating_sub(offset[worker as usize]);
        let reference = median(&mut ends.iter().map(aligned).collect::<Vec<i64>>());
        ends.iter().for_each(|of| each(of.0, aligned(of).saturating_sub(reference)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarters() {
        assert_eq!(quartiles(&[]), None);
        assert_eq!(quartiles(&[7]), Some((7, 7, 7)));
        assert_eq!(quartiles(&[9, 1, 5, 3, 7]), Some((3, 5, 7)));
    }

    #[test]
    fn clocks_agree_unless_a_rank_is_always_off() {
        let ends = |late: &[i64]| -> Vec<Ends> {
            (1000..).zip(late).map(|(end, late)| vec![(0, end), (1, end + late), (2, end)]).collect()
        };
        assert!(agree(&ends(&[0, 500, 500, 500]), 3));
        assert!(agree(&ends(&[-3, 2, -1, 1]), 3));
        assert!(!agree(&ends(&[5, 4, 6, 5]), 3));
        assert!(agree(&[], 3));
    }

    #[test]
    fn agreement_is_stated_with_its_exceptions() {
        let found = |late: &[i64]| {
            let meetings: Vec<Ends> =
                (1000..).zip(late).map(|(end, late)| vec![(0, end), (1, end + late), (2, end)]).collect();
            Offsets::new(&meetings, 3).found(&meetings, ["collective", "collectives"], |worker| worker as u32)
        };
        assert!(found(&[0, 0]).starts_with("Clocks agree exactly at the ends of 2 collectives"));
        assert!(found(&[0, 20_000]).starts_with("Clocks agree to within 20.0 ns at"));
        let far = found(&[0, 20_000, -JUMP_PS * 50, 20_000]);
        let scattered: Vec<Ends> = [[0, 90, 180], [180, 0, 90], [90, 180, 0]]
            .map(|ends| (0..).zip(ends.map(|end| end * JUMP_PS)).collect())
            .into();
        let says =
            Offsets::new(&scattered, 3).found(&scattered, ["collective", "collectives"], |of| of as u32);
        assert!(
            says.starts_with("The ends of 3 collectives scatter by 90.0 ms (median) and 90.0 ms (max"),
            "{says}"
        );
        assert!(far.starts_with("Clocks agree exactly (median) and to within 50.0 ms (maximum) at"), "{far}");
    }

    /// Ranks 0 and 2 never meet; rank 1 meets both.
    #[test]
    fn offsets_spread_over_ranks_that_meet_others() {
        let meetings = vec![vec![(0, 100_000), (1, 1_100_000)], vec![(1, 2_000_000), (2, 7_000_000)]];
        let mut offset = vec![None; 4];
        spread(&meetings, &mut offset);
        assert_eq!(offset, [Some(0), Some(1_000_000), Some(6_000_000), None]);
    }
}

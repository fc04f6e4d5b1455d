//! Fits counts of interruptions to numbers of detours.
//!
//! Detours of one class (their lengths differ by less than a factor of two) are fitted together. If `n[i]` of
//! them lie in slice `i`, where source `j` counted `c[i][j]`, the shares `x[j]` between 0 and 1 minimise the
//! squares of `n[i] - Σ x[j]·c[i][j]`: `x[j]` is how often the source causes such a detour.

use super::{Guess, Guesses};
use std::collections::BTreeMap;
use straggler_model::Time;

/// With fewer, any rare interrupt explains them by chance.
const FEWEST_DETOURS: usize = 8;
/// A mixture that leaves more than this share of the squares explains nothing.
const MOST_LEFT: f64 = 0.5;
/// Interrupts and softirqs do not take longer; threads and hypervisors do.
const LONGEST: Time = Time(500_000_000);
const ROUNDS: usize = 200;

/// Names the remaining detours by counts; `done` is a source already dealt with.
pub(super) fn counts(work: &mut Guesses<'_>, done: Option<u32>) {
    let columns = columns(work, done);
    for members in classes(work).values() {
        if members.iter().map(Vec::len).sum::<usize>() < FEWEST_DETOURS {
            continue;
        }
        let numbers: Vec<f64> = members.iter().map(|members| members.len() as f64).collect();
        let shares = non_negative(&numbers, &columns);
        if left_over(&numbers, &columns, &shares) <= MOST_LEFT {
            hand_out(work, members, &columns, &shares);
        }
    }
}

/// Counts of one name, slice by slice.
struct Column {
    name: u32,
    counts: Vec<f64>,
}

fn columns(work: &Guesses<'_>, done: Option<u32>) -> Vec<Column> {
    let mut columns: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (number, slice) in work.slices.iter().enumerate() {
        for &(name, count) in slice.counts.iter().filter(|(name, _)| Some(*name) != done) {
            columns.entry(name).or_insert_with(|| vec![0.0; work.slices.len()])[number] += count as f64;
        }
    }
    columns.into_iter().map(|(name, counts)| Column { name, counts }).collect()
}

/// Unnamed detours by the power of two of their length, then by slice.
fn classes(work: &Guesses<'_>) -> BTreeMap<u32, Vec<Vec<usize>>> {
    let mut classes: BTreeMap<u32, Vec<Vec<usize>>> = BTreeMap::new();
    for (number, members) in work.members.iter().enumerate() {
        let open = work.open(members).into_iter();
        for index in open.filter(|&index| work.detours[index].duration <= LONGEST) {
            let class = work.detours[index].duration.ps().max(1).ilog2();
            let slices = classes.entry(class).or_insert_with(|| vec![Vec::new(); work.slices.len()]);
            slices[number].push(index);
        }
    }
    classes
}

/// Bounded least squares by coordinate descent: sets each share in turn to its optimum, given the others.
fn non_negative(numbers: &[f64], columns: &[Column]) -> Vec<f64> {
    let mut shares = vec![0.0; columns.len()];
    let mut rest = numbers.to_vec();
    let squares: Vec<f64> = columns.iter().map(|column| dot(&column.counts, &column.counts)).collect();
    for _ in 0..ROUNDS {
        let mut moved = 0.0f64;
        for (index, column) in columns.iter().enumerate().filter(|&(index, _)| squares[index] > 0.0) {
            let best = shares[index] + dot(&rest, &column.counts) / squares[index];
            let step = best.clamp(0.0, 1.0) - shares[index];
            shares[index] += step;
            rest.iter_mut().zip(&column.counts).for_each(|(rest, count)| *rest -= step * count);
            moved = moved.max(step.abs());
        }
        if moved < 1e-9 {
            break;
        }
    }
    shares
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

fn left_over(numbers: &[f64], columns: &[Column], shares: &[f64]) -> f64 {
    let mut rest = numbers.to_vec();
    for (column, share) in columns.iter().zip(shares) {
        rest.iter_mut().zip(&column.counts).for_each(|(rest, count)| *rest -= share * count);
    }
    dot(&rest, &rest) / dot(numbers, numbers)
}

/// Assigns to each source, in every slice, the number of detours it should have caused; fractions carry over.
fn hand_out(work: &mut Guesses<'_>, members: &[Vec<usize>], columns: &[Column], shares: &[f64]) {
    let mut owed = vec![0.0; columns.len()];
    for (slice, members) in members.iter().enumerate() {
        let mut members = members.iter();
        let expected = |index: usize| shares[index] * columns[index].counts[slice];
        let mut order: Vec<usize> = (0..columns.len()).filter(|&index| expected(index) > 0.0).collect();
        order.sort_by(|&left, &right| expected(right).total_cmp(&expected(left)).then(left.cmp(&right)));
        for index in order {
            owed[index] += expected(index);
            while owed[index] >= 0.5 {
                let Some(&detour) = members.next() else {
                    // The slice had fewer than expected; do not take more from the next instead.
                    owed[index] = owed[index].min(0.5);
                    break;
                };
                owed[index] -= 1.0;
                work.guesses[detour] = Guess::Counted(columns[index].name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn column(counts: &[f64]) -> Column {
        Column { name: 0, counts: counts.to_vec() }
    }

    #[test]
    fn a_mixture_is_taken_apart() {
        let columns = [column(&[1.0, 2.0, 3.0, 4.0]), column(&[4.0, 0.0, 4.0, 0.0]), column(&[1.0; 4])];
        let numbers = [3.0, 2.0, 5.0, 4.0];
        let shares = non_negative(&numbers, &columns);
        // 1 × the first, half of the second, none of the third.
        let expected = [1.0, 0.5, 0.0];
        assert!(
            shares.iter().zip(expected).all(|(share, expected)| (share - expected).abs() < 1e-3),
            "{shares:?}"
        );
        assert!(left_over(&numbers, &columns, &shares) < 1e-6);
    }

    proptest! {
        /// At the optimum no share can be moved within its bounds without making the squares larger.
        #[test]
        fn shares_are_optimal(
            numbers in prop::collection::vec(0.0..20.0f64, 6),
            counts in prop::collection::vec(prop::collection::vec(0..20u32, 6), 1..4),
        ) {
            let columns: Vec<Column> =
                counts.iter().map(|row| column(&row.iter().map(|&count| f64::from(count)).collect::<Vec<_>>())).collect();
            let shares = non_negative(&numbers, &columns);
            let squares = |shares: &[f64]| left_over(&numbers, &columns, shares);
            let best = squares(&shares);
            for index in 0..shares.len() {
                for step in [-0.05, 0.05] {
                    let mut other = shares.clone();
                    other[index] = (other[index] + step).clamp(0.0, 1.0);
                    prop_assert!(best <= squares(&other) + 1e-6);
                }
            }
        }
    }
}

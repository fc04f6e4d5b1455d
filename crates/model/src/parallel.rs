//! Loops that use all threads. Results come in order, so the number of threads changes none.
//!
//! Rayon's own iterators are compiled anew for every closure they run, a thousand lines at a time. These functions give
//! each thread a few ranges to loop over, and Rayon sees one closure only.

use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Ranges for each thread: enough to even out those that take longer.
const RANGES_PER_THREAD: usize = 16;

/// What `work` returns for ranges that are together `0..count`.
pub fn ranges<R: Send>(count: usize, work: impl Fn(Range<usize>) -> R + Sync) -> Vec<R> {
    let parts = count.min(RANGES_PER_THREAD * rayon::current_num_threads());
    let results: Vec<Mutex<Option<R>>> = (0..parts).map(|_| Mutex::new(None)).collect();
    each(parts, &|part| {
        let done = work(count * part / parts..count * (part + 1) / parts);
        *results[part].lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
    });
    let results = results.into_iter();
    results.filter_map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

/// The one loop that Rayon runs.
fn each(count: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().with_max_len(1).for_each(work);
}

/// What `work` returns for pieces of a list.
pub fn pieces<T: Sync, R: Send>(items: &[T], work: impl Fn(&[T]) -> R + Sync) -> Vec<R> {
    ranges(items.len(), |range| work(&items[range]))
}

/// What `work` returns for each of `0..count`.
pub fn map<R: Send>(count: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    map_with(count, || (), |(), at| work(at))
}

/// Like [`map`]; `work` may use again what a call before it left in its memory.
pub fn map_with<S, R: Send>(
    count: usize,
    memory: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> R + Sync,
) -> Vec<R> {
    joined(ranges(count, |range| {
        let mut memory = memory();
        let mut results = Vec::with_capacity(range.len());
        for at in range {
            results.push(work(&mut memory, at));
        }
        results
    }))
}

/// What `work` returns for each item of a list.
pub fn map_list<'a, T: Sync, R: Send>(items: &'a [T], work: impl Fn(&'a T) -> R + Sync) -> Vec<R> {
    map(items.len(), |at| work(&items[at]))
}

/// What `work` returns for each item of a list and its place there. Each item is freed as soon as it is used.
pub fn map_owned<T: Send, R: Send>(items: Vec<T>, work: impl Fn(usize, T) -> R + Sync) -> Vec<R> {
    let items: Vec<Mutex<Option<T>>> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
    let taken = |at: usize| items[at].lock().unwrap_or_else(PoisonError::into_inner).take();
    flat_map(items.len(), |at| taken(at).map(|item| work(at, item)))
}

/// All that `work` returns for each of `0..count`, in one list.
pub fn flat_map<I: IntoIterator<Item: Send>>(count: usize, work: impl Fn(usize) -> I + Sync) -> Vec<I::Item> {
    joined(ranges(count, |range| {
        let mut results = Vec::new();
        for at in range {
            results.extend(work(at));
        }
        results
    }))
}

/// All items of all lists.
fn joined<R>(lists: Vec<Vec<R>>) -> Vec<R> {
    let mut all = Vec::with_capacity(lists.iter().map(Vec::len).sum());
    for mut list in lists {
        all.append(&mut list);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_on_any_number_of_threads() {
        for threads in [1, 2, 7] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                for count in [0, 1, 5, 111, 1000] {
                    let squares: Vec<usize> = (0..count).map(|at| at * at).collect();
                    assert_eq!(map(count, |at| at * at), squares);
                    assert_eq!(map_list(&squares, |square| square + 1), map(count, |at| at * at + 1));
                    assert_eq!(
                        map_owned(squares.clone(), |at, square| square - at),
                        map(count, |at| at * at - at)
                    );
                    assert_eq!(pieces(&squares, |some| some.to_vec()).concat(), squares);
                    let doubled: Vec<usize> = squares.iter().flat_map(|&square| [square, square]).collect();
                    assert_eq!(flat_map(count, |at| [at * at; 2]), doubled);
                    // The memory of a range only sees the range.
                    let seen = map_with(count, Vec::new, |seen: &mut Vec<usize>, at| {
                        seen.push(at);
                        seen.iter().rev().zip((0..=at).rev()).all(|(&a, b)| a == b)
                    });
                    assert!(seen.into_iter().all(|in_order| in_order));
                }
            });
        }
    }
}

//! Samples of a node's noise for statistical tests: lost time per window, and durations of detours.

use super::Node;
use straggler_model::Time;

/// A measurement is cut into this many windows.
pub const WINDOWS: usize = 100;

/// Most durations of one node.
const DURATIONS: usize = 2000;

/// Most values of all other nodes together.
const OF_OTHERS: usize = 20_000;

/// The share of its cores' time that the node lost in each window, in order of time.
pub fn lost_by_window(node: &Node) -> Vec<f64> {
    let width = node.length().ps() / WINDOWS as u64;
    if width == 0 {
        return Vec::new();
    }
    let mut lost = vec![0.0; WINDOWS];
    for core in &node.cores {
        for detour in &core.detours {
            add(&mut lost, width, detour.start.ps(), detour.end().ps());
        }
    }
    let all = width as f64 * node.cores.len() as f64;
    lost.into_iter().map(|lost| lost / all).collect()
}

/// Adds the time from `from` to `end` to the windows it overlaps; time beyond the last window is dropped.
pub fn add(windows: &mut [f64], width: u64, mut from: u64, end: u64) {
    let mut window = (from / width) as usize;
    while from < end {
        let Some(sum) = windows.get_mut(window) else { break };
        let border = (window as u64 + 1).saturating_mul(width).min(end);
        *sum += (border - from) as f64;
        from = border;
        window += 1;
    }
}

/// Durations of detours in ps: all of them, or every second, third, … in order of time.
pub fn durations(node: &Node) -> Vec<f64> {
    let all: Vec<Time> =
        node.cores.iter().flat_map(|core| &core.detours).map(|detour| detour.duration).collect();
    thinned(&all, DURATIONS).map(|duration| duration.ps() as f64).collect()
}

/// A sample from all nodes but one.
pub fn of_others(samples: &[Vec<f64>], node: usize) -> Vec<f64> {
    let each = (OF_OTHERS / samples.len().max(2)).max(10);
    let others = samples.iter().enumerate().filter(|&(other, _)| other != node);
    others.flat_map(|(_, sample)| thinned(sample, each)).collect()
}

/// At most about this many values, evenly spaced.
fn thinned<T: Copy>(values: &[T], most: usize) -> impl Iterator<Item = T> {
    values.iter().copied().step_by(values.len().div_ceil(most).max(1))
}

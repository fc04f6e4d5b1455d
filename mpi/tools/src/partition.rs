//! Partitions communicating processes with METIS (G. Karypis, V. Kumar, "A fast and high quality
//! multilevel scheme for partitioning irregular graphs", SIAM J. Sci. Comput. 20(1), 1998).

use metis::{Graph, Idx};
use straggler::on_cluster::Traffic;

/// Assigns every process to one of the given number of parts.
pub fn by_metis(traffic: &Traffic, parts: u32) -> Option<Vec<u32>> {
    let all = traffic.messages.values().sum();
    let mut neighbours: Vec<Vec<(Idx, Idx)>> = vec![Vec::new(); traffic.work.len()];
    for (&(one, other), &messages) in &traffic.messages {
        let weight = scaled(messages, all);
        neighbours[one as usize].push((Idx::try_from(other).ok()?, weight));
        neighbours[other as usize].push((Idx::try_from(one).ok()?, weight));
    }
    let total = traffic.work.iter().sum();
    let work: Vec<Idx> = traffic.work.iter().map(|&work| scaled(work, total)).collect();
    let mut starts: Vec<Idx> = vec![0];
    let (mut ends, mut weights) = (Vec::new(), Vec::new());
    for list in &neighbours {
        ends.extend(list.iter().map(|&(to, _)| to));
        weights.extend(list.iter().map(|&(_, weight)| weight));
        starts.push(Idx::try_from(ends.len()).ok()?);
    }
    let mut found = vec![0; work.len()];
    let graph = Graph::new(1, Idx::try_from(parts).ok()?, &starts, &ends).ok()?;
    graph.set_vwgt(&work).set_adjwgt(&weights).part_kway(&mut found).ok()?;
    found.into_iter().map(|part| u32::try_from(part).ok()).collect()
}

/// Scales a part of a total so that METIS can add the parts up with its 32-bit numbers.
fn scaled(part: u64, total: u64) -> Idx {
    const MOST: u64 = 1 << 28;
    let scaled = if total <= MOST { part } else { (part as f64 / total as f64 * MOST as f64) as u64 };
    scaled.max(1) as Idx
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_talks_to_each_other_stays_together() {
        // Two rings, of the even and of the odd processes, and one message between them.
        let ring = |first: u32| (0..8).map(move |step| (first + 2 * step, first + 2 * ((step + 1) % 8)));
        let pairs = ring(0).chain(ring(1)).map(|(one, other)| ((one.min(other), one.max(other)), 100));
        let traffic = Traffic { work: vec![10; 16], messages: pairs.chain([((0, 1), 1)]).collect() };
        let found = by_metis(&traffic, 2).unwrap();
        assert!((0..16).all(|one| found[one] == found[one % 2]) && found[0] != found[1], "{found:?}");
    }

    #[test]
    fn large_numbers_fit() {
        assert_eq!((scaled(0, 10), scaled(7, 10), scaled(u64::MAX, u64::MAX)), (1, 7, 1 << 28));
    }
}

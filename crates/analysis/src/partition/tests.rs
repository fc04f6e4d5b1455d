use super::*;
use straggler_model::philox::Stream;

fn traffic(work: Vec<u64>, pairs: impl IntoIterator<Item = ((u32, u32), u64)>) -> Traffic {
    let mut messages = BTreeMap::new();
    for ((one, other), count) in pairs.into_iter().filter(|((one, other), _)| one != other) {
        *messages.entry((one.min(other), one.max(other))).or_default() += count;
    }
    Traffic { work, messages }
}

/// The work of the largest part over the mean.
fn balance(traffic: &Traffic, found: &[u32], parts: u32) -> f64 {
    let mut work = vec![0; parts as usize];
    found.iter().zip(&traffic.work).for_each(|(&part, own)| work[part as usize] += own);
    let mean = work.iter().sum::<u64>() as f64 / f64::from(parts);
    work.into_iter().max().unwrap_or(0) as f64 / mean
}

/// A torus of `width` times `width`, in which every block exchanges with four others.
fn torus(width: u32) -> Traffic {
    let at = |x: u32, y: u32| y % width * width + x % width;
    let edges = (0..width * width).flat_map(|block| {
        let (x, y) = (block % width, block / width);
        [((block, at(x + 1, y)), 1), ((block, at(x, y + 1)), 1)]
    });
    traffic(vec![1; (width * width) as usize], edges)
}

/// Every block exchanges with some others, drawn at random from all, or from those nearby.
fn random(blocks: u32, degree: u32, reach: u32, seed: u64) -> Traffic {
    let mut stream = Stream::new(seed, 0, 0, 0);
    let mut draw = |below: u32| stream.below(u64::from(below)) as u32;
    let mut edges = Vec::new();
    for block in 0..blocks {
        for _ in 0..degree {
            edges.push(((block, (block + 1 + draw(reach)) % blocks), 1 + u64::from(draw(9))));
        }
    }
    let work = (0..blocks).map(|_| 10 + u64::from(draw(20))).collect();
    traffic(work, edges)
}

#[test]
fn what_talks_to_each_other_stays_together() {
    // Two rings, of the even and of the odd processes, and one message between them.
    let ring = |first: u32| (0..8).map(move |step| (first + 2 * step, first + 2 * ((step + 1) % 8)));
    let pairs = ring(0).chain(ring(1)).map(|pair| (pair, 100));
    let traffic = traffic(vec![10; 16], pairs.chain([((0, 1), 1)]));
    let found = divide(&traffic, 2);
    assert!((0..16).all(|one| found[one] == found[one % 2]) && found[0] != found[1], "{found:?}");
}

#[test]
fn a_torus_is_cut_into_tiles() {
    for (parts, most) in [(2, 128), (4, 256), (16, 560)] {
        let torus = torus(64);
        let found = divide(&torus, parts);
        // Two straight lines of 64 for halves; 16 tiles of 16 by 16 have 32 · 16 = 512 crossing edges.
        assert!(cut(&torus, &found) <= most, "{parts} parts: {}", cut(&torus, &found));
        assert!(balance(&torus, &found, parts) <= 1.05, "{parts} parts: {}", balance(&torus, &found, parts));
    }
}

#[test]
fn random_graphs_are_cut_no_worse_than_ranges() {
    for seed in 0..20 {
        let (blocks, parts) = (50 + 37 * seed as u32, 2 + seed as u32 % 7);
        for reach in [blocks - 1, blocks / 10, 4] {
            let traffic = random(blocks, 4, reach, seed);
            let found = divide(&traffic, parts);
            let (own, other) = (cut(&traffic, &found), cut(&traffic, &ranges(found.len(), parts)));
            let plain = ranges(found.len(), parts);
            if balance(&traffic, &plain, parts) <= balance(&traffic, &found, parts) {
                assert!(own <= other, "seed {seed}, reach {reach}: {own} instead of {other}");
            }
            // A block cannot be divided.
            let granularity = 30.0 * f64::from(parts) / traffic.work.iter().sum::<u64>() as f64;
            let off = balance(&traffic, &found, parts);
            assert!(off <= 1.05 + granularity, "seed {seed}, reach {reach}, {parts} parts: {off}");
            assert_eq!(found, divide(&traffic, parts));
        }
    }
}

#[test]
fn odd_cases_are_divided() {
    assert!(divide(&Traffic::default(), 3).is_empty());
    assert_eq!(divide(&traffic(vec![5], []), 4).len(), 1);
    let apart = traffic(vec![1; 12], []);
    assert_eq!(balance(&apart, &divide(&apart, 4), 4), 1.0);
    // Work and messages near the largest numbers.
    let large = traffic(vec![u64::MAX / 8; 4], [((0, 2), 1 << 60), ((1, 3), 1 << 60), ((0, 1), 1)]);
    let found = divide(&large, 2);
    assert!(found[0] == found[2] && found[1] == found[3] && found[0] != found[1], "{found:?}");
    // One block has most of the work.
    let heavy = traffic(vec![1000, 1, 1, 1, 1, 1], (1..6).map(|other| ((0, other), 1)));
    assert!(divide(&heavy, 3).iter().all(|&part| part < 3));
}

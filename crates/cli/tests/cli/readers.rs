//! Changed files of every kind that straggler reads: the same readers and seeds as those of the fuzz targets in `fuzz`.

#[path = "../../../../fuzz/readers.rs"]
mod fuzzed;

use fuzzed::{READERS, Reader, Seed};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Changes of each reader's seeds.
const ROUNDS: u64 = 200;

/// No reader may ask for more than this at once, in kilobytes: all seeds are small.
const MOST_MEMORY: u64 = 2 << 20;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// Some bytes changed, inserted, repeated or removed.
fn changed(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    const SPECIAL: &[u8] = b"\x00\x01\x7f\x80\xff09-.,;:\"\\[]{}<>=\n\t ";
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        let end = (at + 1 + random.below(40)).min(bytes.len());
        match random.below(9) {
            _ if bytes.is_empty() => return bytes,
            0 | 1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at] = SPECIAL[random.below(SPECIAL.len())],
            3 => bytes[at] = random.next() as u8,
            4 => bytes[at..end].iter_mut().take(8).for_each(|byte| *byte = 0xff),
            5 => drop(bytes.splice(at..at, random.next().to_le_bytes())),
            6 => drop(bytes.drain(at..end)),
            7 => {
                let again = bytes[at..end].repeat(1 + random.below(8));
                drop(bytes.splice(at..at, again));
            }
            _ => bytes.truncate(at),
        }
    }
    bytes
}

/// The most memory that this process has asked for so far, in kilobytes; 0 where the system does not tell.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmPeak:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn try_one(reader: &Reader, seed: &Seed, number: u64) {
    let before = peak();
    let read = || {
        let mut random = Random(number);
        reader.read_changed(seed, &mut |bytes| changed(bytes, &mut random));
    };
    let ended = catch_unwind(AssertUnwindSafe(read));
    let about = format!("{}: {} with change {number}", reader.name, seed.name.display());
    assert!(ended.is_ok(), "{about} makes it panic");
    let asked = peak() - before;
    assert!(asked < MOST_MEMORY, "{about} makes it ask for {} MiB", asked >> 10);
}

#[test]
fn changed_files_are_read_or_refused() {
    for reader in READERS {
        let seeds = reader.seeds();
        for number in 0..ROUNDS {
            try_one(reader, &seeds[number as usize % seeds.len()], number);
        }
    }
}

/// Every reader has a fuzz target.
#[test]
fn fuzz_targets_are_those_of_the_readers() {
    let manifest = include_str!("../../../../fuzz/Cargo.toml");
    let targets: Vec<&str> = manifest
        .lines()
        .skip_while(|line| *line != "[[bin]]")
        .filter_map(|line| line.strip_prefix("name = "))
        .collect();
    let names: Vec<String> = READERS.iter().map(|reader| format!("{:?}", reader.name)).collect();
    assert_eq!(targets, names);
}

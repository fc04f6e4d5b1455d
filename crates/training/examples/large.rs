//! Times the analysis of a synthetic job: `large DP PP MICROBATCHES STEPS`.
use std::time::Instant;
use straggler_training::synthetic::{Fault, Synthetic, What, rows};
use straggler_training::{derive, exact};

fn main() {
    let number = |place: usize| std::env::args().nth(place).and_then(|text| text.parse().ok()).unwrap_or(4);
    let fault = Fault { dp_rank: 1, stage: 1, from_step: 2, what: What::Slow(1.5) };
    let (dp, pp, microbatches, steps) = (number(1), number(2), number(3), number(4));
    let rows = rows(&Synthetic { dp, pp, microbatches, steps, faults: vec![fault], ..Synthetic::default() });
    let (count, begin) = (rows.len(), Instant::now());
    let job = derive::job(rows, "synthetic").expect("a job");
    let derived = begin.elapsed();
    let replays = exact::Replays::new(&job).expect("times");
    let answers = exact::analyse(&replays, None);
    println!(
        "{count} rows, {} workers: derived {derived:?}, analysed {:?}",
        answers.workers.len(),
        begin.elapsed() - derived
    );
    println!("S = {}: {}", answers.s, answers.causes.first().map_or("nothing", |cause| &cause.says));
}

//! Times the analysis of a synthetic job: `large DP PP MICROBATCHES STEPS [GC]`. With GC, one data-parallel rank in GC collects garbage, in
//! every third step.
use std::time::Instant;
use straggler_training::synthetic::{Fault, Synthetic, What, rows};
use straggler_training::{Kind, Row, derive, exact};

fn main() {
    let number = |place: usize| std::env::args().nth(place).and_then(|text| text.parse().ok()).unwrap_or(4);
    let fault = Fault { dp_rank: 1, stage: 1, from_step: 2, what: What::Slow(1.5) };
    let (dp, pp, microbatches, steps) = (number(1), number(2), number(3), number(4));
    let mut rows =
        rows(&Synthetic { dp, pp, microbatches, steps, faults: vec![fault], ..Synthetic::default() });
    if let Some(every) = std::env::args().nth(5).and_then(|text| text.parse::<u32>().ok()) {
        let is_last = |row: &&Row| row.kind == Kind::BackwardCompute && row.seq + 1 == microbatches;
        let collects = |row: &&Row| row.dp_rank % every == 1 && row.step % 3 == 1 && row.stage == 0;
        let found: Vec<Row> = rows.iter().filter(is_last).filter(collects).copied().collect();
        // Within another operation, somewhere in the step.
        rows.extend(found.iter().map(|row| {
            let start = row.start * f64::from(row.dp_rank % 7 + 1) / 8.0;
            Row {
                kind: Kind::Gc,
                seq: 1,
                start,
                duration: 0.02,
                chunk: -1,
                model_chunk: -1,
                microbatch: -1,
                ..*row
            }
        }));
    }
    let (count, begin, busy) = (rows.len(), Instant::now(), cpu_seconds());
    let job = derive::job(rows, "synthetic").expect("a job");
    let (derived, busy_derived) = (begin.elapsed(), cpu_seconds());
    let replays = exact::Replays::new(&job).expect("times");
    let answers = exact::analyse(&replays, None);
    println!(
        "{count} rows, {} workers: derived {derived:?}, analysed {:?}; processor time {:.1} s and {:.1} s",
        answers.workers.len(),
        begin.elapsed() - derived,
        busy_derived - busy,
        cpu_seconds() - busy_derived
    );
    println!("S = {}: {}", answers.s, answers.causes.first().map_or("nothing", |cause| &cause.says));
}

/// What all threads of the process have used, as Linux counts it; 0 elsewhere. On a busy machine this says more than the clock.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |place: usize| fields.get(place).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

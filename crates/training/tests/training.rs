//! Jobs whose causes are known, tables and profiles of every kind, and the published analysis.

mod changes;
mod clocks;
mod exact;
mod extremes;
mod hosts;
mod import;
mod in_turn;
mod interleaved;
mod kineto;
mod links;
mod missing;
mod public_jobs;
mod published;
mod tables;
mod together;
mod traced;
mod whatif;

use straggler_training::exact::{Answers, Replays, analyse};
use straggler_training::synthetic::{Defect, Fault, Synthetic, rows};
use straggler_training::{Job, Row, derive};

fn job_of(rows: Vec<Row>) -> Job {
    derive::job(rows, "synthetic").unwrap()
}

fn job(of: &Synthetic) -> Job {
    job_of(rows(of))
}

fn answers(job: &Job) -> Answers {
    analyse(&Replays::new(job).unwrap(), None)
}

fn answers_of_rows(rows: Vec<Row>) -> Answers {
    answers(&job_of(rows))
}

fn answers_of(of: &Synthetic) -> Answers {
    answers(&job(of))
}

fn fault(dp_rank: u32, stage: u32, from_step: u32, what: Defect) -> Fault {
    Fault { dp_rank, stage, from_step, what }
}

//! What slows a training job down:
//! `cargo run -p straggler-training --example causes -- fixtures/training/slow-worker.csv`.

use straggler_training::exact::{Replays, analyse};
use straggler_training::{phrases, read_job};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<_> = std::env::args_os().skip(1).map(Into::into).collect();
    let job = read_job(&paths)?;
    let answers = analyse(&Replays::new(&job)?, None);
    println!("{:.1} % longer than with typical workers", 100.0 * (answers.s - 1.0));
    for cause in &answers.causes {
        println!("{}", phrases::evidence(cause).join(" "));
    }
    Ok(())
}

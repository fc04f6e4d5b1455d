//! Which ranks of a traced program wait: `cargo run -p straggler-analysis --example waits -- fixtures/traces/halo`.

use straggler_analysis::waits::WaitStates;
use straggler_trace::format::directory;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "fixtures/traces/halo".into());
    let (trace, _) = directory::open(folder.as_ref())?;
    for (rank, times) in WaitStates::new(&trace).ranks.iter().enumerate() {
        println!("rank {rank} waits {} of {}", times.waiting, times.run);
    }
    Ok(())
}

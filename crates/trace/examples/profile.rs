//! How long the ranks of a trace are in MPI: `cargo run -p straggler-trace --example profile -- fixtures/traces/halo`.

use straggler_trace::format::directory;
use straggler_trace::profile::Profile;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "fixtures/traces/halo".into());
    let (trace, findings) = directory::open(folder.as_ref())?;
    println!("{} ranks, {} findings", trace.ranks.len(), findings.len());
    for (rank, profile) in Profile::new(&trace).ranks.iter().enumerate() {
        println!("rank {rank}: {} in MPI, {:.1} %", profile.mpi, 100.0 * profile.mpi_share());
    }
    Ok(())
}

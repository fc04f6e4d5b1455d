//! An allreduce as a GOAL schedule: `cargo run -p straggler-schedule --example goal -- 16 1024`.

use straggler_schedule::Cycles;
use straggler_schedule::collectives::{Job, Operation};
use straggler_schedule::goal::{Format, stream};
use straggler_schedule::workloads::choose_default;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let processes = arguments.next().map_or(Ok(4), |count| count.parse())?;
    let bytes = arguments.next().map_or(Ok(8), |count| count.parse())?;
    let job = Job::new(processes, bytes);
    let steps = choose_default(Operation::Allreduce, &job).build(Operation::Allreduce, &job)?;
    stream::write(&Cycles::once(steps), Format::Text, std::io::stdout().lock())?;
    Ok(())
}

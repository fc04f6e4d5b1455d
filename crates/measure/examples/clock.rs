//! The clock that measurements read on this machine: `cargo run -p straggler-measure --example clock`.

use straggler_measure::timer;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock = timer::examine()?;
    println!("{}: {:.6} GHz ± {:.3} ppm", clock.name, clock.ticks_per_second / 1e9, clock.rate_error_ppm);
    println!("A reading takes {} ps.", clock.overhead_ps);
    if let Some(why) = clock.not_invariant {
        println!("Its rate may change: {why}");
    }
    Ok(())
}

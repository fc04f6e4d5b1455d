//! The share of time that noise takes from each process of a run, by its description:
//! `cargo run -p straggler-noise --example share -- 'periodic:rate=250Hz,duration=4us'`.

use straggler_noise::NoiseSpec;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::env::args().nth(1).unwrap_or_else(|| "chic".into());
    let noise: NoiseSpec = text.parse()?;
    for source in noise.load(1)?.sources {
        println!("{}: {:.4} % of the time", source.name, 100.0 * source.share());
    }
    Ok(())
}

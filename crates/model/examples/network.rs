//! What a message costs on a network: `cargo run -p straggler-model --example network -- chic 65536`.

use straggler_model::{Network, Time};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let network = Network::load(&arguments.next().unwrap_or_else(|| "chic".into()))?;
    let bytes: u64 = arguments.next().map_or(Ok(8), |bytes| bytes.parse())?;
    let link = network.link(0, 1);
    let gap = link.gap_per_byte.of_message(bytes);
    println!("The first byte arrives after {}, the last {gap} later.", link.flight());
    let is_rendezvous = if link.is_rendezvous(bytes) { "waits for the receiver" } else { "does not wait" };
    println!("The sender {is_rendezvous}. A whole second is {} ps.", Time::from_ns(1_000_000_000).ps());
    Ok(())
}

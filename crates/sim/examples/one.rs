//! Scratch: one engine.
use std::sync::atomic::AtomicBool;
use straggler_model::Network;
use straggler_model::noise::Silence;
use straggler_schedule::collectives::Job;
use straggler_schedule::collectives::allreduce::Dissemination;
use straggler_schedule::script::Once;
use straggler_sim::{Control, Rules};
fn main() {
    let processes: u32 = std::env::args().nth(1).unwrap().parse().unwrap();
    let network = Network::parse("L=4770ns,o=2870ns,g=2040ns,G=2.67ns,O=0ns,S=65000").unwrap();
    let steps = Dissemination::new(&Job::new(processes, 1));
    let rules = Rules {
        network: &network,
        noise: &Silence,
        acknowledgement: Default::default(),
        receive_overlap: false,
    };
    let stop = AtomicBool::new(false);
    let mut progress = |_| {};
    let mut control = Control::new(1, &stop, &mut progress);
    let outcome = straggler_sim::windowed::run_steps(&Once(steps), &rules, &mut control).unwrap();
    println!("{} {} messages {} windows", outcome.makespan().ps(), outcome.messages, outcome.windows);
}

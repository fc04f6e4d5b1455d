use std::sync::atomic::AtomicBool;
use straggler_model::{Network, Time};
use straggler_schedule::collectives::allreduce::Dissemination;
use straggler_schedule::steps;
use straggler_sim::*;
fn main() {
    let p: u32 = std::env::args().nth(1).unwrap().parse().unwrap();
    let threads: usize = std::env::args().nth(2).unwrap().parse().unwrap();
    let d = Dissemination::new(p, 1).unwrap();
    let graph = steps::materialise(&d, 1, Time::ZERO);
    let network = Network::parse("chic").unwrap();
    println!("graph {:.1} B/op", graph.memory_bytes() as f64 / graph.operations() as f64);
    for _ in 0..5 {
        let t = std::time::Instant::now();
        let stop = AtomicBool::new(false);
        let mut pr = |_| {};
        let mut c = Control::new(threads, &stop, &mut pr);
        let run = Simulation::new(&network).run_graph(&graph, &mut c, |_, _| Nothing).unwrap();
        let s = t.elapsed().as_secs_f64();
        println!("{:.2} M/s", run.outcome.messages as f64 / s / 1e6);
    }
    let s = std::fs::read_to_string("/proc/self/status").unwrap();
    let kb: f64 = s.lines().find(|l| l.starts_with("VmHWM")).unwrap().split_whitespace().nth(1).unwrap().parse().unwrap();
    println!("{:.1} B/op peak", kb * 1024.0 / graph.operations() as f64);
}

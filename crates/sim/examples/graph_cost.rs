//! Makes schedules and runs them with nothing else around, so that instructions can be counted:
//!
//! ```text
//! graph_cost write posted 4096 FILE.bin    every receive posted at the start, as Schedgen writes it
//! graph_cost write steps 4096 FILE.bin     as `straggler schedule generate` writes it
//! valgrind --tool=callgrind graph_cost run FILE.bin [reference]
//! valgrind --tool=callgrind graph_cost load FILE.bin
//! ```

use std::error::Error;
use std::sync::atomic::AtomicBool;
use straggler_model::Network;
use straggler_schedule::collectives::Job;
use straggler_schedule::collectives::allreduce::Dissemination;
use straggler_schedule::goal::{self, Format};
use straggler_schedule::graph::{Graph, GraphBuilder, Operation, RankBuilder};
use straggler_schedule::{Cycles, script};
use straggler_sim::{Control, EngineChoice, Simulation, Workload};

const NETWORK: &str = "L=4770ns,o=2870ns,g=2040ns,G=2.67ns,O=0ns,S=65000";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["write", shape, processes, path] => {
            let graph = made(shape, processes.parse()?)?;
            goal::write_path(path, &graph, Format::Binary)?;
        }
        ["load", path] => println!("{} operations", goal::read_path(path)?.graph.operations()),
        ["run", path] => run(path, EngineChoice::Auto)?,
        ["run", path, "reference"] => run(path, EngineChoice::Reference)?,
        _ => return Err("write posted|steps PROCESSES FILE, load FILE, or run FILE [reference]".into()),
    }
    Ok(())
}

fn made(shape: &str, processes: u32) -> Result<Graph, Box<dyn Error>> {
    match shape {
        "posted" => Ok(posted(processes)),
        "steps" => {
            let steps = Dissemination::new(&Job::new(processes, 1));
            Ok(script::materialise(&Cycles::new(&steps, 1, straggler_model::Time::ZERO)))
        }
        _ => Err("a shape is posted or steps".into()),
    }
}

/// Dissemination whose receives are all ready at the start: send k requires receive k - 1.
fn posted(processes: u32) -> Graph {
    let mut graph = GraphBuilder::default();
    let mut builder = RankBuilder::default();
    for rank in 0..processes {
        builder.clear();
        let mut before = None;
        let mut distance = 1;
        while distance < processes {
            let send = builder.push(Operation::send(1, (rank + distance) % processes, 0));
            if let Some(before) = before {
                builder.requires(send, before);
            }
            before = Some(builder.push(Operation::recv(1, (rank + processes - distance) % processes, 0)));
            distance *= 2;
        }
        graph.push_rank(&builder);
    }
    graph.finish()
}

fn run(path: &str, engine: EngineChoice) -> Result<(), Box<dyn Error>> {
    let loaded = goal::read_path(path)?;
    let network = Network::parse(NETWORK)?;
    let simulation = Simulation { engine, ..Simulation::new(&network) };
    let stop = AtomicBool::new(false);
    let mut progress = |_| {};
    let mut control = Control::new(1, &stop, &mut progress);
    let run = simulation.run(&Workload::from(loaded.graph), &mut control)?;
    println!("{} messages, makespan {} ps", run.outcome.messages, run.outcome.makespan().ps());
    Ok(())
}

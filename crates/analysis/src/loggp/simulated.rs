//! A probe whose two processes and network are simulated: its messages run through the project's engine with known
//! parameters, so tests can check that these are recovered.

use super::{Probe, Receiver, RoundTrip, Train};
use std::sync::Arc;
use straggler_model::{Link, Network, Time};
use straggler_noise::Injection;
use straggler_schedule::{GraphBuilder, Operation, RankBuilder};
use straggler_sim::{Control, EngineChoice, RunError, Simulation, Workload};

/// Two simulated processes.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// Links, each with the largest size that uses it, ascending.
    protocols: Vec<(u64, Network)>,
    noise: Option<Injection>,
    /// Number of experiments so far; each one meets the noise at another place.
    experiments: u32,
}

impl Simulated {
    pub fn new(link: Link) -> Simulated {
        Simulated {
            protocols: vec![(u64::MAX, Network::uniform("simulated", link))],
            noise: None,
            experiments: 0,
        }
    }

    /// Messages above a size use another link.
    pub fn with_protocol(mut self, above: u64, link: Link) -> Simulated {
        if let Some(last) = self.protocols.last_mut() {
            last.0 = above;
        }
        self.protocols.push((u64::MAX, Network::uniform("simulated", link)));
        self
    }

    pub fn with_noise(mut self, noise: Injection) -> Simulated {
        self.noise = Some(noise);
        self
    }

    /// Runs the operations of both processes, each in sequence, and returns when the processes finish.
    fn run(&self, bytes: u64, processes: [&[Operation]; 2]) -> Result<[Time; 2], RunError> {
        let mut graph = GraphBuilder::default();
        for operations in processes {
            let mut rank = RankBuilder::default();
            for &operation in operations {
                let number = rank.push(operation);
                if number > 0 {
                    rank.requires(number, number - 1);
                }
            }
            graph.push_rank(&rank);
        }
        let protocol = self.protocols.iter().find(|(largest, _)| bytes <= *largest);
        let Some((_, network)) = protocol else { return Err(RunError::MessageTooLarge { bytes }) };
        let noise = self.noise.as_ref().map(|noise| noise.of_replica(self.experiments));
        let simulation =
            Simulation { noise: noise.as_ref(), engine: EngineChoice::Reference, ..Simulation::new(network) };
        let mut control = Control::new(1);
        let run = simulation.run(&Workload::Graph(Arc::new(graph.finish())), &mut control)?;
        let at = |rank: usize| run.outcome.finish.get(rank).copied().unwrap_or_default();
        Ok([at(0), at(1)])
    }
}

/// Simulates both directions of a train one after the other, because each has its own link.
impl Probe for Simulated {
    type Error = RunError;

    fn round_trip(&mut self, train: Train) -> Result<RoundTrip, RunError> {
        self.experiments += 1;
        let mut sends = Vec::new();
        for number in 0..train.count {
            if number > 0 && train.delay > Time::ZERO {
                sends.push(Operation::calc(train.delay));
            }
            sends.push(Operation::send(train.bytes, 1, 0));
        }
        let receives = vec![Operation::recv(train.bytes, 0, 0); train.count as usize];
        let [sent, received] = self.run(train.bytes, [&sends, &receives])?;
        self.experiments += 1;
        let [back, _] = self.run(1, [&[Operation::recv(1, 1, 0)], &[Operation::send(1, 0, 0)]])?;
        Ok(RoundTrip { sent, back: received + back })
    }

    /// In the model, messages make progress whatever their receiver does.
    fn send(&mut self, bytes: u64, late: Time, _: Receiver) -> Result<Time, RunError> {
        self.experiments += 1;
        let receiver = [Operation::calc(late), Operation::recv(bytes, 0, 0)];
        let [sent, _] = self.run(bytes, [&[Operation::send(bytes, 1, 0)], &receiver])?;
        Ok(sent)
    }

    fn receive(&mut self, bytes: u64, after: Time) -> Result<Time, RunError> {
        self.experiments += 1;
        let computation = Operation::calc(after);
        let [_, ready] = self.run(bytes, [&[], &[computation]])?;
        let sender = [Operation::send(bytes, 1, 0)];
        let [_, received] = self.run(bytes, [&sender, &[computation, Operation::recv(bytes, 0, 0)]])?;
        Ok(received.since(ready))
    }
}

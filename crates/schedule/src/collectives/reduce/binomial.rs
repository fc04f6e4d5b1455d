//! Binomial tree: the broadcast's tree in the opposite direction, its last round first.

use straggler_model::Rank;

use crate::collectives::{CollectiveError, broadcast};
use crate::steps::{Step, Steps};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Binomial {
    mirrored: broadcast::Binomial,
}

impl Binomial {
    pub fn new(processes: u32, bytes: u64, root: Rank) -> Result<Binomial, CollectiveError> {
        Ok(Binomial { mirrored: broadcast::Binomial::new(processes, bytes, root)? })
    }
}

impl Steps for Binomial {
    fn processes(&self) -> u32 {
        self.mirrored.processes()
    }

    #[inline]
    fn stages(&self, rank: Rank) -> u32 {
        self.mirrored.stages(rank)
    }

    #[inline]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        let step = self.mirrored.step(rank, self.stages(rank) - 1 - stage);
        Step { send: step.recv, recv: step.send, calc: None }
    }

    fn largest_message(&self) -> u64 {
        self.mirrored.largest_message()
    }

    fn messages(&self) -> u64 {
        self.mirrored.messages()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_send_first() {
        let steps = Binomial::new(8, 8, 2).unwrap();
        // Rank 3 is place 1: it receives from places 5 and 3, then sends to the root.
        let of_3: Vec<Step> = (0..steps.stages(3)).map(|stage| steps.step(3, stage)).collect();
        assert_eq!(of_3[0].recv.unwrap().peer, 7);
        assert_eq!(of_3[1].recv.unwrap().peer, 5);
        assert_eq!(of_3[2].send.unwrap().peer, 2);
        assert_eq!(of_3.len(), 3);
    }
}

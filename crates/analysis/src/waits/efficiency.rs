//! How well a run used its processes: the factors of the POP project (pop-coe.eu); 1 is best.

use super::WaitStates;
use straggler_model::Time;

/// The factors of the POP project: parallel = load balance × communication, communication = serialisation × transfer.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Efficiency {
    /// The mean computation of a rank, as a share of that of the busiest.
    pub load_balance: f64,
    /// The computation of the busiest rank, as a share of the run.
    pub communication: f64,
    /// The product of the two: the share of the run in which ranks compute.
    pub parallel: f64,
    /// The computation of the busiest rank, as a share of the run on an ideal network: what ranks lose by waiting for
    /// each other on any network. None if the run time on an ideal network is unknown.
    pub serialisation: Option<f64>,
    /// The run on an ideal network, as a share of the run: what moving data costs. None if its run time is unknown.
    pub transfer: Option<f64>,
}

impl WaitStates {
    /// The efficiency of the recorded ranks; none if no rank computed. `ideal` is the run time on a network without
    /// costs (L = o = g = G = 0), which requires a simulation.
    pub fn efficiency(&self, ideal: Option<Time>) -> Option<Efficiency> {
        let there = || self.ranks.iter().filter(|rank| rank.run > Time::ZERO);
        let run = there().map(|rank| rank.run).max()?.seconds();
        let most = there().map(|rank| rank.computation).max()?.seconds();
        let mean = there().map(|rank| rank.computation.seconds()).sum::<f64>() / there().count() as f64;
        let ideal = ideal.map(Time::seconds).filter(|&ideal| ideal > 0.0);
        let efficiency = Efficiency {
            load_balance: mean / most,
            communication: most / run,
            parallel: mean / run,
            serialisation: ideal.map(|ideal| most / ideal),
            transfer: ideal.map(|ideal| ideal / run),
        };
        (most > 0.0).then_some(efficiency)
    }
}

//! The same runs, simulated.

use super::detours::{Found, Plan};
use super::rounds::{Kind, graph};
use anyhow::Result;
use std::sync::Arc;
use straggler_model::{Network, Time};
use straggler_noise::{Injection, Phases, Source, Waveform, Who};
use straggler_sim::{Control, Simulation, Workload};

/// A workload that is simulated with the disturbances of its real runs.
pub struct Predictor {
    workload: Workload,
    network: Network,
}

impl Predictor {
    pub fn new(kind: Kind, size: u32, work: Time, count: u32, network: Network) -> Predictor {
        Predictor { workload: Workload::Graph(Arc::new(graph(kind, size, work, count))), network }
    }

    /// The simulated time of the run with the machine's detours on each rank, and with detours by `plans`, if any.
    pub fn predict(&self, own: &[Found], plans: &[Plan]) -> Result<Time> {
        let mut sources = Vec::new();
        for (rank, own) in (0..).zip(own) {
            let noise = own.noise(plans.get(rank as usize))?;
            if !noise.is_empty() {
                let waveform = Waveform::Trace(Arc::new(noise));
                sources.push(Source { name: format!("rank {rank}"), waveform, who: Who::Ranks(rank, rank) });
            }
        }
        // A detour that begins while a process is delayed delays it further.
        let injection = Injection::new(sources, Phases::Given([].into()), true)?;
        let mut simulation = Simulation::new(&self.network);
        simulation.noise = Some(&injection);
        let run = simulation.run(&self.workload, &mut Control::new(1))?;
        Ok(run.outcome.makespan())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use straggler_model::{Link, PerByte};

    fn network() -> Network {
        let link = Link {
            latency: Time::from_ns(1_000),
            send_overhead: Time::from_ns(200),
            recv_overhead: Time::from_ns(300),
            gap: Time::ZERO,
            gap_per_byte: PerByte::ZERO,
            overhead_per_byte: PerByte::ZERO,
            eager_limit: u64::MAX,
            overlap_limit: u64::MAX,
        };
        Network::uniform("tried", link)
    }

    fn own(detours: &[(i64, i64)]) -> Found {
        Found { took_ns: 1_000_000, own: detours.to_vec() }
    }

    #[test]
    fn a_run_is_what_the_model_says() {
        // A barrier of two: o_s + L + o_r = 1.5 µs, after 10 µs of work.
        let predictor = Predictor::new(Kind::Barrier, 2, Time::from_ns(10_000), 3, network());
        let quiet = predictor.predict(&[own(&[]), own(&[])], &[]).unwrap();
        assert_eq!(quiet, Time::from_ns(3 * 11_500));
        // A detour during the work of one rank delays both; if both have one at once, it costs as much as one.
        let one = predictor.predict(&[own(&[(2_000, 7_000)]), own(&[])], &[]).unwrap();
        assert_eq!(one, quiet + Time::from_ns(5_000));
        let both = predictor.predict(&[own(&[(2_000, 7_000)]), own(&[(3_000, 8_000)])], &[]).unwrap();
        assert_eq!(both, one);
        // A planned detour costs the same as one of the machine.
        let plan = |first_ns, length_ns| Plan { first_ns, period_ns: 1_000_000, length_ns };
        let planned = predictor.predict(&[own(&[]), own(&[])], &[plan(2_000, 5_000)]).unwrap();
        assert_eq!(planned, one);
    }

    proptest! {
        /// Also while the detours of the machine and those of the plan overlap.
        #[test]
        fn detours_never_make_a_run_shorter(
            own_detours in prop::collection::vec(prop::collection::vec((1i64..40, 1i64..40), 0..12), 3),
            plans in prop::collection::vec((0i64..100, 1i64..60), 3),
            work in 0u64..30,
            kind in prop::sample::select(vec![Kind::Barrier, Kind::Allreduce, Kind::Bcast]),
        ) {
            let found: Vec<Found> = own_detours
                .iter()
                .map(|gaps| {
                    let mut now = 0;
                    let own = gaps.iter().map(|&(gap, length)| {
                        let from = now + gap * 1_000;
                        now = from + length * 1_000;
                        (from, now)
                    });
                    Found { own: own.collect(), took_ns: 1_000_000 }
                })
                .collect();
            let plan = |&(first, length): &(i64, i64)| Plan {
                first_ns: first * 1_000,
                period_ns: 100_000,
                length_ns: length * 1_000,
            };
            let plans: Vec<Plan> = plans.iter().map(plan).collect();
            let predictor = Predictor::new(kind, 3, Time::from_ns(work * 1_000), 20, network());
            let quiet = predictor.predict(&found, &[]).unwrap();
            let noisy = predictor.predict(&found, &plans).unwrap();
            prop_assert!(noisy >= quiet, "{noisy} with detours, {quiet} without");
        }
    }
}

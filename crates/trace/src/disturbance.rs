//! Ranks that lost their cores to other work, so that their computations took longer than they
//! would have on their own.

use crate::Trace;
use straggler_model::Rank;

/// Lost shares above this are reported: predictions should be right within it.
const WORTH_TELLING: f64 = 0.02;

/// A summary of the ranks that lost much of their time to other work.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Disturbance {
    pub ranks: u32,
    /// The rank that lost most, the share of its time that it lost, and how often it was preempted.
    #[serde(rename = "worst_rank")]
    pub worst: Rank,
    pub lost: f64,
    pub preemptions: u64,
}

impl Disturbance {
    /// Evaluates the recorded usage of a trace. Returns `None` if all ranks had their cores, or if
    /// usage was not recorded.
    pub fn new(trace: &Trace) -> Option<Disturbance> {
        let usages = (0..).zip(&trace.ranks).filter_map(|(rank, of_rank)| Some((rank, of_rank.usage?)));
        let disturbed = usages.filter(|(_, usage)| usage.lost() > WORTH_TELLING);
        let mut found: Option<Disturbance> = None;
        for (rank, usage) in disturbed {
            let ranks = found.map_or(1, |found| found.ranks + 1);
            let own = Disturbance { ranks, worst: rank, lost: usage.lost(), preemptions: usage.preemptions };
            found = Some(match found {
                Some(before) if before.lost >= own.lost => Disturbance { ranks, ..before },
                _ => own,
            });
        }
        found
    }

    /// "3 ranks lost their cores to other work, rank 5 for 43 % of the run (912 preemptions)".
    pub fn loss(&self) -> String {
        let ranks = if self.ranks == 1 {
            "1 rank lost its core".into()
        } else {
            format!("{} ranks lost their cores", self.ranks)
        };
        let times = if self.preemptions == 1 { "preemption" } else { "preemptions" };
        format!(
            "{ranks} to other work, rank {} for {:.0} % of the run ({} {times})",
            self.worst,
            self.lost * 100.0,
            self.preemptions
        )
    }

    /// The loss, and what to do about it.
    pub fn sentence(&self) -> String {
        format!(
            "{}: computations may appear longer than they are, unless ranks yield their cores while they wait in MPI. Trace again with one core per rank and nothing else \
             running",
            self.loss()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{RankTrace, Usage};
    use straggler_model::Time;

    fn trace(usages: &[Option<Usage>]) -> Trace {
        let rank = |&usage: &Option<Usage>| RankTrace { usage, ..RankTrace::default() };
        Trace { ranks: usages.iter().map(rank).collect(), ..Trace::default() }
    }

    fn usage(cpu_ms: u64, preemptions: u64, waiting_ms: Option<u64>) -> Option<Usage> {
        let ms = |ms: u64| Time(ms * 1_000_000_000);
        Some(Usage { wall: ms(1000), cpu: ms(cpu_ms), preemptions, waiting: waiting_ms.map(ms) })
    }

    #[test]
    fn the_rank_that_lost_most_is_named() {
        let found = Disturbance::new(&trace(&[
            usage(990, 3, Some(5)),
            usage(500, 400, Some(480)),
            usage(700, 90, Some(300)),
        ]));
        let found = found.unwrap();
        assert_eq!((found.ranks, found.worst, found.preemptions), (2, 1, 400));
        assert!((found.lost - 0.48).abs() < 1e-9);
        assert!(
            found
                .sentence()
                .starts_with("2 ranks lost their cores to other work, rank 1 for 48 % of the run (400")
        );
    }

    #[test]
    fn who_sleeps_has_lost_nothing() {
        assert_eq!(Disturbance::new(&trace(&[None, usage(100, 2, Some(1)), usage(100, 2, None)])), None);
        // Without the system's count of waiting time, many preemptions explain why it did not compute.
        let found = Disturbance::new(&trace(&[usage(400, 200, None)])).unwrap();
        assert!((found.lost - 0.6).abs() < 1e-9);
        let once = Disturbance::new(&trace(&[usage(500, 1, Some(480))])).unwrap();
        assert!(once.loss().ends_with("of the run (1 preemption)"), "{}", once.loss());
    }
}

//! Slow phases: times in which a core ran slower than at its best. They are not detours: nothing else had the CPU, it
//! ran at a lower speed.

use serde::Serialize;
use straggler_noise::recording::Core;

/// How much of a core's time was slow.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct SlowPhases {
    pub core: u32,
    pub phases: u64,
    pub longest_ps: u64,
    /// Share of the time.
    pub share: f64,
    /// The mean slowdown of an iteration in slow phases, weighted by time; 1 if nothing was slow.
    pub mean_slowdown: f64,
    /// The share of its work that the core lost to its slow phases.
    pub lost_share: f64,
}

impl SlowPhases {
    pub fn new(core: &Core) -> SlowPhases {
        let length = core.length.ps().max(1) as f64;
        let slow: f64 = core.phases.iter().map(|phase| phase.duration.ps() as f64).sum();
        let weighted: f64 = core.phases.iter().map(|phase| phase.duration.ps() as f64 * phase.slowdown).sum();
        // At a slowdown of s, a phase does 1/s of its work.
        let lost: f64 = core
            .phases
            .iter()
            .map(|phase| phase.duration.ps() as f64 * (1.0 - 1.0 / phase.slowdown.max(1.0)))
            .sum();
        SlowPhases {
            core: core.core,
            phases: core.phases.len() as u64,
            longest_ps: core.phases.iter().map(|phase| phase.duration.ps()).max().unwrap_or(0),
            share: slow / length,
            mean_slowdown: if slow > 0.0 { weighted / slow } else { 1.0 },
            lost_share: lost / length,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::Time;
    use straggler_noise::recording::Phase;

    #[test]
    fn by_hand() {
        let phase = |duration, slowdown| Phase { start: Time::ZERO, duration: Time(duration), slowdown };
        let core =
            Core { length: Time(100), phases: vec![phase(10, 2.0), phase(30, 4.0)], ..Core::default() };
        let slow = SlowPhases::new(&core);
        assert_eq!((slow.share, slow.mean_slowdown, slow.lost_share), (0.4, 3.5, 0.275));
        assert_eq!(SlowPhases::new(&Core::default()).mean_slowdown, 1.0);
    }
}

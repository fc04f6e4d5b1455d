//! Derives detours from quanta: samples of fixed work or fixed time.
//!
//! A quantum of fixed work that took longer than the shortest one lost the difference. A quantum of fixed
//! time that did less work than the best one lost that share of its time. Either way a quantum shows how much
//! it lost but not when. Several interruptions look like one, which is placed at the start of the quantum,
//! where it cannot reach into the next.

use super::recording::{Detour, Method, Quantum, UNNAMED};
use straggler_model::Time;

/// Losses up to one part in this many of a quantum count as jitter of the loop itself.
const JITTER: u64 = 1_000;

/// The detours and statistics derived from a run of quanta.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Derived {
    /// The undisturbed length: of a quantum of fixed work, or of one unit of work in fixed time.
    pub t_min: Time,
    /// For fixed work, the duration above which a quantum is disturbed; for fixed time, the loss.
    pub threshold: Time,
    /// From the start to the end of the last quantum.
    pub length: Time,
    pub detours: Vec<Detour>,
}

/// The default loss above which a quantum counts as disturbed: a thousandth of the quantum, but at least the
/// resolution of its clock or its unit of work.
pub fn usual_threshold(method: &Method, quanta: &[Quantum], resolution: Time) -> Time {
    let quantum = match *method {
        Method::Detour => 0,
        Method::FixedWork => least(quanta),
        Method::FixedTime { quantum_ps } => quantum_ps,
    };
    let unit_of_work = match *method {
        Method::FixedTime { quantum_ps } => quantum_ps.checked_div(most(quanta)).unwrap_or(0),
        _ => 0,
    };
    Time(quantum / JITTER).max(Time(unit_of_work)).max(resolution)
}

/// Derives the detours from quanta sorted by start: those that lost more than `threshold`.
pub fn derive(method: &Method, quanta: &[Quantum], threshold: Time) -> Derived {
    match *method {
        Method::Detour => Derived::default(),
        Method::FixedWork => of_fixed_work(quanta, threshold),
        Method::FixedTime { quantum_ps } => of_fixed_time(quanta, quantum_ps, threshold),
    }
}

fn of_fixed_work(quanta: &[Quantum], threshold: Time) -> Derived {
    let t_min = least(quanta);
    Derived {
        t_min: Time(t_min),
        threshold: Time(t_min) + threshold,
        length: quanta.last().map_or(Time::ZERO, |last| last.start + Time(last.value)),
        detours: disturbed(quanta, threshold, |value| value - t_min),
    }
}

fn of_fixed_time(quanta: &[Quantum], quantum_ps: u64, threshold: Time) -> Derived {
    let best = most(quanta);
    let lost = |value: u64| match best {
        0 => 0,
        // At most the quantum itself, so it fits.
        _ => (u128::from(best - value) * u128::from(quantum_ps) / u128::from(best)) as u64,
    };
    Derived {
        t_min: Time(quantum_ps.checked_div(best).unwrap_or(0)),
        threshold,
        length: quanta.last().map_or(Time::ZERO, |last| last.start + Time(quantum_ps)),
        detours: disturbed(quanta, threshold, lost),
    }
}

fn disturbed(quanta: &[Quantum], threshold: Time, lost: impl Fn(u64) -> u64) -> Vec<Detour> {
    let detours = quanta.iter().map(|quantum| (quantum.start, Time(lost(quantum.value))));
    detours
        .filter(|&(_, duration)| duration > threshold)
        .map(|(start, duration)| Detour { start, duration, source: UNNAMED })
        .collect()
}

fn least(quanta: &[Quantum]) -> u64 {
    quanta.iter().map(|quantum| quantum.value).min().unwrap_or(0)
}

fn most(quanta: &[Quantum]) -> u64 {
    quanta.iter().map(|quantum| quantum.value).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quanta(list: &[(u64, u64)]) -> Vec<Quantum> {
        list.iter().map(|&(start, value)| Quantum { start: Time(start), value }).collect()
    }

    fn lost(derived: &Derived) -> Vec<(u64, u64)> {
        derived.detours.iter().map(|detour| (detour.start.ps(), detour.duration.ps())).collect()
    }

    #[test]
    fn fixed_work_loses_what_is_above_the_shortest() {
        let quanta = quanta(&[(0, 5000), (5000, 5004), (10_004, 5005), (15_009, 9000)]);
        let usual = usual_threshold(&Method::FixedWork, &quanta, Time(2));
        assert_eq!(usual, Time(5));
        let derived = derive(&Method::FixedWork, &quanta, Time(4));
        assert_eq!(lost(&derived), [(10_004, 5), (15_009, 4000)]);
        assert_eq!((derived.t_min, derived.threshold), (Time(5000), Time(5004)));
        assert_eq!(derived.length, Time(24_009));
    }

    #[test]
    fn fixed_time_loses_the_share_that_was_not_done() {
        let method = Method::FixedTime { quantum_ps: 1_000_000 };
        let quanta = quanta(&[(0, 2000), (1_000_000, 1999), (2_000_100, 1500), (3_000_000, 0)]);
        assert_eq!(usual_threshold(&method, &quanta, Time::ZERO), Time(1000));
        let derived = derive(&method, &quanta, Time(500));
        // One unit of 2000 in 1 µs is 500 ps, which is not above the threshold.
        assert_eq!(lost(&derived), [(2_000_100, 250_000), (3_000_000, 1_000_000)]);
        assert_eq!((derived.t_min, derived.length), (Time(500), Time(4_000_000)));
    }

    #[test]
    fn nothing_comes_of_nothing() {
        for method in [Method::Detour, Method::FixedWork, Method::FixedTime { quantum_ps: 0 }] {
            assert_eq!(derive(&method, &[], Time::ZERO), Derived::default());
        }
        let idle = quanta(&[(0, 0), (10, 0)]);
        assert_eq!(derive(&Method::FixedTime { quantum_ps: 10 }, &idle, Time::ZERO).detours, []);
    }
}

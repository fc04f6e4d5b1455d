//! Splits the detours of a source into those that follow a rhythm and the others.

use crate::noise::rhythm::{self, Rhythm};
use crate::noise::spectrum::Pulse;

/// Most rhythms searched in unnamed detours, and in those of a named source.
const RHYTHMS_OF_UNNAMED: usize = 4;
const RHYTHMS_OF_NAMED: usize = 2;
/// A rhythm is split off if it has at least this share of its source and this many detours.
const LEAST_IN_STEP: f64 = 0.05;
const FEWEST_IN_STEP: usize = 20;
/// A rhythm that strikes in fewer of its periods is indistinguishable from random noise.
const SPARSE: f64 = 0.3;
/// How far a detour may be from its expected time, in jitters, and the minimum in periods.
const REACH: f64 = 4.0;
const LEAST_REACH: f64 = 0.002;
/// A jump in sorted durations by this factor separates two kinds of detours …
const DURATION_GAP: f64 = 1.5;
/// … if each has at least this share of them.
const LEAST_OF_KIND: f64 = 0.01;

/// Detours with the same kind of arrivals.
pub(super) struct Component {
    pub name: String,
    pub rhythm: Option<Rhythm>,
    /// Sorted.
    pub durations: Vec<u64>,
}

impl Component {
    fn new(name: String, rhythm: Option<Rhythm>, cores: &[Vec<Pulse>]) -> Component {
        let mut durations: Vec<u64> = cores.iter().flatten().map(|pulse| pulse.duration_ps as u64).collect();
        durations.sort_unstable();
        Component { name, rhythm, durations }
    }

    pub fn noise_ps(&self) -> f64 {
        self.durations.iter().map(|&duration| duration as f64).sum()
    }
}

/// How to split a source.
pub(super) struct Split<'a> {
    pub seconds: f64,
    /// Frequencies of the whole recording.
    pub frequencies: &'a [f64],
    pub name: &'a str,
}

impl Split<'_> {
    pub fn named(&self, cores: Vec<Vec<Pulse>>) -> Vec<Component> {
        let (mut parts, rest) = self.rhythms(cores, RHYTHMS_OF_NAMED);
        if let [only] = parts.as_mut_slice()
            && rest.iter().all(Vec::is_empty)
        {
            only.name = self.name.into();
        }
        let name = if parts.is_empty() { self.name.into() } else { format!("{}, at random", self.name) };
        parts.push(Component::new(name, None, &rest));
        parts
    }

    pub fn unnamed(&self, cores: Vec<Vec<Pulse>>) -> Vec<Component> {
        let (mut parts, rest) = self.rhythms(cores, RHYTHMS_OF_UNNAMED);
        let rest = Component::new(String::new(), None, &rest);
        for durations in kinds(&rest.durations) {
            let about = straggler_model::Time(durations[durations.len() / 2]);
            let name = format!("at random, about {about}");
            parts.push(Component { name, rhythm: None, durations: durations.to_vec() });
        }
        parts
    }

    /// Splits off one rhythm after the other; also returns the detours that follow none.
    fn rhythms(&self, mut cores: Vec<Vec<Pulse>>, most: usize) -> (Vec<Component>, Vec<Vec<Pulse>>) {
        let mut parts = Vec::new();
        while parts.len() < most {
            let Some(rhythm) = rhythm::find(&cores, self.seconds, self.frequencies) else { break };
            let (inside, outside) = divide(&cores, &rhythm);
            let (found, all) = (count(&inside), count(&cores));
            let periods = self.seconds * 1e12 / rhythm.period_ps * cores.len() as f64;
            let is_sparse = (found as f64) < SPARSE * periods;
            if is_sparse || found < FEWEST_IN_STEP || (found as f64) < LEAST_IN_STEP * all as f64 {
                break;
            }
            let name = format!("{}, every {}", self.name, straggler_model::Time(rhythm.period_ps as u64));
            parts.push(Component::new(name, Some(rhythm), &inside));
            cores = outside;
        }
        (parts, cores)
    }
}

fn count(cores: &[Vec<Pulse>]) -> usize {
    cores.iter().map(Vec::len).sum()
}

/// Detours in rhythm, at most one per period, and the others.
fn divide(cores: &[Vec<Pulse>], rhythm: &Rhythm) -> (Vec<Vec<Pulse>>, Vec<Vec<Pulse>>) {
    if !rhythm.steady {
        return (cores.to_vec(), vec![Vec::new(); cores.len()]);
    }
    let reach = (REACH * rhythm.jitter_ps / rhythm.period_ps).max(LEAST_REACH);
    cores.iter().map(|pulses| divide_core(pulses, rhythm.period_ps, reach)).unzip()
}

fn divide_core(pulses: &[Pulse], period_ps: f64, reach: f64) -> (Vec<Pulse>, Vec<Pulse>) {
    let phase = rhythm::step_phase(pulses, period_ps, reach);
    let (mut inside, mut outside): (Vec<Pulse>, Vec<Pulse>) = (Vec::new(), Vec::new());
    // The period of the last detour in rhythm, and its distance from the expected time.
    let mut last: Option<(f64, f64)> = None;
    for &pulse in pulses {
        let position = pulse.seconds * 1e12 / period_ps - phase;
        let (step, off) = (position.round(), (position - position.round()).abs());
        match last {
            _ if off > reach => outside.push(pulse),
            Some((taken, nearest)) if taken == step && off >= nearest => outside.push(pulse),
            Some((taken, _)) if taken == step => {
                outside.extend(inside.pop());
                inside.push(pulse);
                last = Some((step, off));
            }
            _ => {
                inside.push(pulse);
                last = Some((step, off));
            }
        }
    }
    outside.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    (inside, outside)
}

/// Sorted durations, cut at gaps between kinds of detours.
fn kinds(sorted: &[u64]) -> Vec<&[u64]> {
    let least = ((sorted.len() as f64 * LEAST_OF_KIND) as usize).max(FEWEST_IN_STEP);
    let mut kinds = Vec::new();
    let mut from = 0;
    for (index, pair) in sorted.windows(2).enumerate() {
        let is_gap = pair[1] as f64 > DURATION_GAP * pair[0].max(1) as f64;
        if is_gap && index + 1 - from >= least && sorted.len() - index > least {
            kinds.push(&sorted[from..=index]);
            from = index + 1;
        }
    }
    if from < sorted.len() {
        kinds.push(&sorted[from..]);
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_part_where_nothing_is_between() {
        let mut durations: Vec<u64> = (1000..1100).chain(5000..5050).collect();
        assert_eq!(kinds(&durations).iter().map(|kind| kind.len()).collect::<Vec<_>>(), [100, 50]);
        durations.push(90_000);
        assert_eq!(kinds(&durations).iter().map(|kind| kind.len()).collect::<Vec<_>>(), [100, 51]);
        assert!(kinds(&[]).is_empty());
    }

    #[test]
    fn one_detour_a_step() {
        let pulse = |seconds| Pulse { seconds, duration_ps: 1.0 };
        let mut times: Vec<f64> = (0..50).map(|tick| 0.5 + f64::from(tick)).collect();
        times.extend([10.6, 20.9]);
        times.sort_by(f64::total_cmp);
        let pulses: Vec<Pulse> = times.into_iter().map(pulse).collect();
        let (inside, outside) = divide_core(&pulses, 1e12, 0.2);
        assert_eq!((inside.len(), outside), (50, vec![pulse(10.6), pulse(20.9)]));
    }
}

//! Decides from exact times whether detours are periodic.
//!
//! A spectrum only suggests periods: a pulse train has equal power at every multiple and aliases below the highest
//! frequency, and a burst has power everywhere. So each suggestion is followed through the recording, period by
//! period. Detours near the expected time are in step; the rest of the period shows how many to expect by chance.
//! Detours in step are then removed, and the rest is searched again.

use super::exact::{Pulse, circular_phase};
use straggler_model::philox::Stream;

/// A detour is in step if it is at most this share of a period from the expected time.
const REACH: f64 = 0.1;
/// Ways to follow a period.
const TRACKERS: [Tracker; 4] = [
    Tracker { gain: 0.0, reach: REACH, by_time: false },
    Tracker { gain: 0.0, reach: REACH, by_time: true },
    Tracker { gain: 0.1, reach: REACH, by_time: false },
    Tracker { gain: 0.4, reach: 0.25, by_time: false },
];
/// Parts of a period, each as wide as the range in step.
const PARTS: usize = 5;
/// Most detours that count per period and part, so that one burst does not decide.
const MOST_IN_A_PERIOD: f64 = 2.0;
/// The first expected time is estimated from this many periods.
const PERIODS_TO_BEGIN: f64 = 64.0;
/// The probability that chance produces a line in a recording. A frequency was chosen among as many as it has periods,
/// so the required evidence grows with the number of periods.
const FALSE_ALARM: f64 = 1e-4;
/// Detours in a smaller share of periods are in step with a multiple of their own frequency.
const LEAST_OCCUPANCY: f64 = 0.1;
/// A tracker that follows drift must find this many times as much as one that does not.
const WORTH_FOLLOWING: f64 = 1.15;

/// How expected times are predicted.
#[derive(Clone, Copy)]
struct Tracker {
    /// The share of its offset by which the nearest detour of a period moves the next expected time. Among many
    /// detours, one is always near, so random noise hardly moves it.
    gain: f64,
    /// The largest offset that moves it.
    reach: f64,
    /// Whether a fixed phase is weighted by duration, or all detours count equally.
    by_time: bool,
}

/// The detours in step with one period, on all cores.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Comb {
    /// From the first to the last detour in step.
    pub frequency_hz: f64,
    /// Detours in step beyond those expected by chance.
    pub events: f64,
    pub noise_ps: f64,
    /// The share of periods with a detour in step.
    pub occupancy: f64,
    /// Whether the number of detours shows it, or only their durations.
    pub by_number: bool,
    pub by_time: bool,
    /// One frequency and one phase through the whole recording.
    pub steady: bool,
    /// For each core, the positions of detours in step, without as many as chance puts there.
    pub members: Vec<Vec<usize>>,
}

impl Comb {
    /// If all detours near the expected times were removed, the rest would have periodic gaps. The ones that stay are
    /// drawn at random: every tenth would be periodic too.
    fn leave_what_chance_put_there(&mut self) {
        let count = self.members.iter().map(Vec::len).sum::<usize>().max(1) as f64;
        let share = self.events / count;
        let mut draws = Stream::new(1, 0, 0, 0);
        self.members.iter_mut().for_each(|members| members.retain(|_| draws.unit() < share));
    }
}

/// The comb near a frequency; none if chance explains it.
pub(super) fn track(cores: &[Vec<Pulse>], frequency_hz: f64) -> Option<Comb> {
    let mut best: Option<Comb> = None;
    for tracker in TRACKERS {
        let Some(comb) = follow_all(cores, 1.0 / frequency_hz, tracker) else { continue };
        let found = |comb: &Comb| if comb.by_number { comb.events } else { comb.noise_ps };
        let better = best.as_ref().is_none_or(|best| {
            comb.by_number && !best.by_number
                || comb.by_number == best.by_number && found(&comb) > WORTH_FOLLOWING * found(best)
        });
        if better {
            best = Some(comb);
        }
    }
    best
}

/// The position of one detour.
struct OnComb {
    index: usize,
    cycle: i64,
    /// From the expected time, in periods, from -0.5 to 0.5.
    offset: f64,
}

fn follow_all(cores: &[Vec<Pulse>], period: f64, tracker: Tracker) -> Option<Comb> {
    let places: Vec<Vec<OnComb>> = cores.iter().map(|pulses| follow(pulses, period, tracker)).collect();
    let (mut number, mut time) = (Evidence::default(), Evidence::default());
    for (pulses, places) in cores.iter().zip(&places) {
        weigh(pulses, places, &mut number, &mut time);
    }
    let last = cores.iter().filter_map(|pulses| pulses.last()).map(|pulse| pulse.seconds).fold(0.0, f64::max);
    let sure = (2.0 * (last / period / FALSE_ALARM).max(1.0).ln()).sqrt();
    let (by_number, by_time) = (number.is_above(sure), time.is_above(sure));
    if !by_number && !by_time {
        return None;
    }
    let width = width(&places);
    let members = |places: &Vec<OnComb>| {
        places.iter().filter(|place| place.offset.abs() <= width).map(|place| place.index).collect()
    };
    let mut comb = Comb {
        by_number,
        by_time,
        steady: tracker.gain == 0.0,
        members: places.iter().map(members).collect(),
        ..Comb::default()
    };
    let sums = sums(cores, &places, period, width);
    if sums.occupancy < LEAST_OCCUPANCY {
        return None;
    }
    // A steady frequency is already as precise as the recording allows.
    comb.frequency_hz = if comb.steady { 1.0 / period } else { sums.frequency_hz };
    (comb.events, comb.noise_ps, comb.occupancy) = (sums.events, sums.noise_ps, sums.occupancy);
    comb.leave_what_chance_put_there();
    Some(comb)
}

/// Goes through the detours of a core; the expected time follows those in step. It moves only at the end of a period,
/// so that one detour near it does not pull the rest of a burst into step.
fn follow(pulses: &[Pulse], period: f64, tracker: Tracker) -> Vec<OnComb> {
    let Some(mut moment) = begin(pulses, period, tracker) else { return Vec::new() };
    let mut cycle = 0i64;
    let mut nearest = f64::INFINITY;
    let place = |(index, pulse): (usize, &Pulse)| {
        let cycles = ((pulse.seconds - moment) / period).round();
        if cycles != 0.0 {
            moment += if nearest.abs() <= tracker.reach { tracker.gain * nearest * period } else { 0.0 };
            nearest = f64::INFINITY;
            let cycles = ((pulse.seconds - moment) / period).round();
            moment += cycles * period;
            cycle += cycles as i64;
        }
        let offset = (pulse.seconds - moment) / period;
        if offset.abs() < nearest.abs() {
            nearest = offset;
        }
        OnComb { index, cycle, offset }
    };
    pulses.iter().enumerate().map(place).collect()
}

/// The first expected time: from all detours if the phase is fixed, else the most common phase of the first periods.
fn begin(pulses: &[Pulse], period: f64, tracker: Tracker) -> Option<f64> {
    let first = pulses.first()?.seconds;
    if tracker.gain == 0.0 {
        let mean = circular_phase(pulses, 1.0 / period, tracker.by_time) * period;
        return Some(mean + median_offset(pulses, mean, period, tracker.by_time));
    }
    const BINS: usize = 20;
    let mut counts = [0u32; BINS];
    for pulse in pulses.iter().take_while(|pulse| pulse.seconds - first <= PERIODS_TO_BEGIN * period) {
        let phase = ((pulse.seconds - first) / period).rem_euclid(1.0);
        counts[((phase * BINS as f64) as usize).min(BINS - 1)] += 1;
    }
    let pair = |bin: usize| counts[bin] + counts[(bin + 1) % BINS];
    let best = (0..BINS).max_by_key(|&bin| (pair(bin), BINS - bin))?;
    Some(first + (best as f64 + 1.0) / BINS as f64 * period)
}

/// The median offset of detours or noise near an expected time; detours out of step would bias the mean.
fn median_offset(pulses: &[Pulse], moment: f64, period: f64, by_time: bool) -> f64 {
    let place = |pulse: &Pulse| {
        let cycles = (pulse.seconds - moment) / period;
        ((cycles - cycles.round()) * period, if by_time { pulse.duration_ps } else { 1.0 })
    };
    let mut near: Vec<(f64, f64)> =
        pulses.iter().map(place).filter(|(offset, _)| offset.abs() <= REACH * period).collect();
    near.sort_by(|one, other| one.0.total_cmp(&other.0));
    let half = near.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    let middle = near.iter().find(|(_, weight)| {
        sum += weight;
        sum >= half
    });
    middle.map_or(0.0, |&(offset, _)| offset)
}

/// How much more is in step than in another part of the period, summed over all periods, and the sum of squares.
/// Clusters make the squares large, so a few bursts are no evidence.
#[derive(Clone, Copy, Default)]
struct Evidence {
    sum: f64,
    squares: f64,
}

impl Evidence {
    fn add(&mut self, in_step: f64, others: f64) {
        let more = in_step - others / (PARTS - 1) as f64;
        self.sum += more;
        self.squares += more * more;
    }

    /// Whether it exceeds this many standard deviations of random noise.
    fn is_above(&self, sure: f64) -> bool {
        self.squares > 0.0 && self.sum > sure * self.squares.sqrt()
    }
}

fn weigh(pulses: &[Pulse], places: &[OnComb], number: &mut Evidence, time: &mut Evidence) {
    for period in places.chunk_by(|one, other| one.cycle == other.cycle) {
        let (mut counts, mut durations) = ([0.0; PARTS], [0.0; PARTS]);
        for place in period {
            let part = (((place.offset + REACH).rem_euclid(1.0) * PARTS as f64) as usize).min(PARTS - 1);
            counts[part] = f64::min(counts[part] + 1.0, MOST_IN_A_PERIOD);
            durations[part] += pulses[place.index].duration_ps;
        }
        number.add(counts[0], counts[1..].iter().sum());
        time.add(durations[0], durations[1..].iter().sum());
    }
}

/// The width of the range in step: four times the usual deviation, at most the reach.
fn width(places: &[Vec<OnComb>]) -> f64 {
    let near = places.iter().flatten().map(|place| place.offset.abs()).filter(|&offset| offset <= REACH);
    let mut near: Vec<f64> = near.collect();
    if near.is_empty() {
        return REACH;
    }
    let middle = near.len() / 2;
    let (_, median, _) = near.select_nth_unstable_by(middle, f64::total_cmp);
    (4.0 * *median / 0.6745).clamp(REACH / 50.0, REACH)
}

/// Frequency, detours and noise in step, minus those expected by chance within the width, and the share of periods
/// with one.
fn sums(cores: &[Vec<Pulse>], places: &[Vec<OnComb>], period: f64, width: f64) -> Sums {
    let mut sums = Sums::default();
    let (mut cycles, mut seconds) = (0.0, 0.0);
    let chance = 2.0 * width / (1.0 - 2.0 * REACH);
    for (pulses, places) in cores.iter().zip(places) {
        let duration = |place: &OnComb| pulses[place.index].duration_ps;
        let mut inside = places.iter().filter(|place| place.offset.abs() <= width);
        // A detour outside that is longer than all inside says nothing about those inside.
        let longest = inside.clone().map(duration).fold(0.0, f64::max);
        for place in places {
            let weight = match place.offset.abs() {
                offset if offset <= width => 1.0,
                offset if offset > REACH => -chance,
                _ => continue,
            };
            sums.events += weight;
            sums.noise_ps += weight * duration(place).min(longest);
        }
        if let (Some(first), Some(last)) = (inside.next(), inside.next_back()) {
            cycles += (last.cycle - first.cycle) as f64;
            seconds += pulses[last.index].seconds - pulses[first.index].seconds;
        }
    }
    (sums.events, sums.noise_ps) = (sums.events.max(0.0), sums.noise_ps.max(0.0));
    let all = cores.iter().filter_map(|pulses| pulses.last()).map(|last| last.seconds / period).sum::<f64>();
    sums.occupancy = (sums.events / all.max(1.0)).min(1.0);
    sums.frequency_hz = if seconds > 0.0 { cycles / seconds } else { 1.0 / period };
    sums
}

#[derive(Clone, Copy, Default)]
struct Sums {
    frequency_hz: f64,
    events: f64,
    noise_ps: f64,
    occupancy: f64,
}

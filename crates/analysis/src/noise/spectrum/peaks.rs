//! Peaks above their neighbourhood.

use super::power::Powers;
use crate::noise::chance::exceeded;

/// Lower frequencies have fewer than three periods in a recording.
pub(super) const FIRST: usize = 3;
/// Neighbouring frequencies to sum in search of broad lines.
const WIDTHS: [usize; 3] = [1, 8, WIDEST];
const WIDEST: usize = 64;
/// The expected number of false lines in a recording without rhythm.
const FALSE_ALARM: f64 = 1e-4;
/// Closer to the highest frequency of the slots, aliases from above cannot be separated.
const HIGHEST: f64 = 0.95;
/// The floor itself is accurate to about a tenth.
const MARGIN: f64 = 1.3;
/// Peaks looked at, strongest first.
const MOST_PEAKS: usize = 4096;
/// Frequencies that share a floor: few at the low end, where spectra are steep.
const NEIGHBOURS: (usize, usize) = (24, 256);
/// If all noise is periodic, the floor is only rounding error. It is never taken lower than this share of the power of
/// the same detours at random times.
const LEAST_FLOOR: f64 = 1e-3;

/// A frequency that stands out.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Peak {
    pub bin: usize,
    pub frequency_hz: f64,
    /// Neighbouring frequencies that were summed.
    pub width: usize,
    /// Whether it was found in the noise time, else in the number of detours.
    pub by_time: bool,
    /// The number of detours, or of mean durations, that would have this power.
    pub amplitude: f64,
    /// Its power relative to its neighbourhood.
    pub over_floor: f64,
}

/// All peaks, lowest frequency first.
pub(super) fn find(powers: &Powers) -> Vec<Peak> {
    let mut found: Vec<Peak> = Vec::new();
    for width in WIDTHS {
        for by_time in [false, true] {
            let series = if by_time { &powers.time } else { &powers.events };
            // Hann's window scales the power of random times by the mean of its square, 3/8.
            let random = 0.375 * if by_time { powers.squares } else { powers.detours };
            for (bin, over_floor) in search(series, width, powers.cores, random) {
                let near = |peak: &Peak| peak.bin.abs_diff(bin) <= 3 * peak.width.max(width);
                if !found.iter().any(near) {
                    found.push(Peak { by_time, ..peak(powers, series, bin, width, over_floor) });
                }
            }
        }
    }
    found.sort_by(|a, b| a.frequency_hz.total_cmp(&b.frequency_hz));
    found
}

fn peak(powers: &Powers, series: &[f64], bin: usize, width: usize, over_floor: f64) -> Peak {
    let (from, to) = (bin.saturating_sub(width.max(2)).max(1), (bin + width.max(2)).min(series.len() - 1));
    let weight: f64 = series[from..=to].iter().sum();
    let moment: f64 = (from..=to).map(|bin| bin as f64 * series[bin]).sum();
    let centre = if weight > 0.0 { moment / weight } else { bin as f64 };
    let power = if width == 1 { series[bin] } else { weight };
    let frequency_hz = centre * powers.resolution_hz();
    Peak { bin, frequency_hz, width, by_time: false, amplitude: powers.amplitude(power), over_floor }
}

/// Bins of a series that stand out, with their power relative to the mean of their neighbourhood; strongest first.
fn search(series: &[f64], width: usize, cores: usize, random: f64) -> Vec<(usize, f64)> {
    if series.len() < 4 * NEIGHBOURS.1.max(width) {
        return Vec::new();
    }
    let sums = sums(series, width);
    // With Hann's window, neighbours are about half as many independent values.
    let independent = cores * if width == 1 { 1 } else { width / 2 };
    let limit = MARGIN * exceeded(independent, FALSE_ALARM / sums.len() as f64) / independent as f64;
    let least = LEAST_FLOOR * random * width as f64;
    let floor: Vec<f64> =
        floor(&sums, independent, width).into_iter().map(|floor| floor.max(least)).collect();
    let is_top = |bin: usize| sums[bin] >= sums[bin - 1] && sums[bin] > sums[bin + 1];
    let last = (sums.len() as f64 * HIGHEST) as usize - width;
    let mut tops: Vec<(usize, f64)> = (FIRST.max(width)..last)
        .filter(|&bin| sums[bin] > limit * floor[bin] && is_top(bin))
        .map(|bin| (bin, sums[bin] / floor[bin]))
        .collect();
    tops.sort_by(|a, b| sums[b.0].total_cmp(&sums[a.0]));
    tops.truncate(MOST_PEAKS);
    strongest_first(tops, &sums, width)
}

/// Peaks that are not skirts of larger ones. With Hann's window, the power of a line falls with the sixth power of the
/// distance.
fn strongest_first(tops: Vec<(usize, f64)>, sums: &[f64], width: usize) -> Vec<(usize, f64)> {
    let mut kept: Vec<(usize, f64)> = Vec::new();
    for (bin, over) in tops {
        let is_skirt = kept.iter().any(|&(other, _)| {
            let distance = (bin.abs_diff(other) as f64 - width as f64 + 1.0).max(1.0);
            bin.abs_diff(other) <= 3 * width || sums[bin] < sums[other] * 4.0 / distance.powi(6)
        });
        if !is_skirt {
            kept.push((bin, over));
        }
    }
    kept
}

/// Sums over `width` neighbours, centred on each bin.
fn sums(series: &[f64], width: usize) -> Vec<f64> {
    if width == 1 {
        return series.to_vec();
    }
    let mut before = vec![0.0];
    for value in series {
        before.push(before.last().unwrap_or(&0.0) + value);
    }
    let sum = |bin: usize| {
        let from = bin.saturating_sub(width / 2);
        let to = (from + width).min(series.len());
        before[to] - before[from]
    };
    (0..series.len()).map(sum).collect()
}

/// The mean of the neighbourhood of each frequency, without its lines, in a series summed over `cores`. If noise is not
/// random, for example a single long detour, powers vary less than by chance, and the lower quartile would give more
/// than the mean.
pub(super) fn background(series: &[f64], cores: usize) -> Vec<f64> {
    let quartile = mean_per_quartile(cores);
    levels(series, 1, |block| {
        let mean = block.iter().sum::<f64>() / block.len() as f64;
        mean.min(quartile * lower_quartile(block))
    })
}

/// The mean of the random part of each neighbourhood, from its lower quartile: lines are few and high.
fn floor(sums: &[f64], independent: usize, width: usize) -> Vec<f64> {
    let quartile = mean_per_quartile(independent);
    levels(sums, width, |block| quartile * lower_quartile(block))
}

/// The mean of random powers in units of their lower quartile.
fn mean_per_quartile(independent: usize) -> f64 {
    independent as f64 / exceeded(independent, 0.75)
}

fn lower_quartile(block: &mut [f64]) -> f64 {
    let position = (block.len() - 1) / 4;
    *block.select_nth_unstable_by(position, f64::total_cmp).1
}

/// A level of each neighbourhood, interpolated between their middles.
fn levels(sums: &[f64], width: usize, level: impl Fn(&mut [f64]) -> f64) -> Vec<f64> {
    let mut knots: Vec<(f64, f64)> = Vec::new();
    let mut from = FIRST.min(sums.len());
    while from < sums.len() {
        let length = (from / 2).clamp(NEIGHBOURS.0, NEIGHBOURS.1).max(32 * (width - 1));
        // The rest at the end is too short for a floor of its own.
        let to = if sums.len() - from < 2 * length { sums.len() } else { from + length };
        knots.push(((from + to) as f64 / 2.0, level(&mut sums[from..to].to_vec())));
        from = to;
    }
    interpolate(&knots, sums.len())
}

fn interpolate(knots: &[(f64, f64)], count: usize) -> Vec<f64> {
    let mut next = 0;
    let at = |bin: usize| {
        while next < knots.len() && knots[next].0 <= bin as f64 {
            next += 1;
        }
        match (next.checked_sub(1).and_then(|last| knots.get(last)), knots.get(next)) {
            (Some(a), Some(b)) => a.1 + (b.1 - a.1) * (bin as f64 - a.0) / (b.0 - a.0),
            (Some(one), None) | (None, Some(one)) => one.1,
            (None, None) => 0.0,
        }
    };
    (0..count).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::philox::Stream;

    fn random(count: usize) -> Vec<f64> {
        let mut stream = Stream::new(3, 0, 0, 0);
        (0..count).map(|_| -stream.unit().ln()).collect()
    }

    #[test]
    fn chance_is_not_found_and_a_line_is() {
        let mut series = random(20_000);
        assert_eq!(search(&series, 1, 1, 1.0), []);
        assert_eq!(search(&series, 8, 1, 1.0), []);
        series[7000] = 40.0;
        series[7001] = 20.0;
        let found = search(&series, 1, 1, 1.0);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, 7000);
        assert!((found[0].1 / 40.0 - 1.0).abs() < 0.3, "{found:?}");
    }

    #[test]
    fn the_background_is_the_mean_of_the_neighbourhood() {
        let is_near = |found: &[f64], level: f64| {
            let mean = found.iter().sum::<f64>() / found.len() as f64;
            assert!((mean / level - 1.0).abs() < 0.1, "{mean}, not {level}");
        };
        let cores = random(20_000 * 16);
        let of_core = |core: usize| &cores[core * 20_000..][..20_000];
        let sum = |bin: usize| (0..16).map(|core| of_core(core)[bin]).sum();
        is_near(&background(of_core(0), 1), 1.0);
        is_near(&background(&(0..20_000).map(sum).collect::<Vec<f64>>(), 16), 16.0);
        // One detour has the same power at all frequencies; a line does not raise the background.
        let mut flat = vec![3.0; 20_000];
        flat[7000] = 400.0;
        is_near(&background(&flat, 1), 3.0);
    }

    #[test]
    fn a_broad_line_is_found_in_sums() {
        let mut series = random(20_000);
        series[5000..5064].iter_mut().for_each(|value| *value *= 5.0);
        let found = search(&series, 64, 1, 1.0);
        assert!(!found.is_empty() && found[0].0.abs_diff(5032) < 40, "{found:?}");
    }
}

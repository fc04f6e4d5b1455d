//! How many detours there are of which length: ten bins a decade, both axes logarithmic, so that a timer
//! tick that comes a thousand times and a daemon that comes twice are both seen.

use super::axis::{Axis, Scale, drawable};
use super::canvas::{Place, Stroke};
use super::frame::{Entry, Frame, Mark};
use super::unit::Unit;
use super::{Heading, palette, with_own_colours};
use crate::numbers::{counted, grouped};

/// Durations of one source's detours, in seconds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LengthSeries {
    pub name: String,
    pub durations: Vec<f64>,
}

/// Durations of detours by source.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Histogram {
    pub series: Vec<LengthSeries>,
}

const BINS_PER_DECADE: f64 = 10.0;

impl Histogram {
    pub fn draw(&self, heading: &Heading) -> String {
        let bins = Bins::around(self.series.iter().flat_map(shown));
        let counts: Vec<Vec<u64>> = self.series.iter().map(|series| bins.count(shown(series))).collect();
        let total = sum(&counts, bins.len);
        let left_out = self.series.iter().map(|series| series.durations.len() - shown(series).count()).sum();
        let groups = self.groups(&counts, bins.len);
        let y = count_axis(&total);
        let x = Axis::fitting("duration of the detour", Scale::Decades, Unit::Seconds, bins.ends());
        let remark = remark(total.iter().sum(), left_out);
        let legend = if groups.len() > 1 { legend(&groups, &total) } else { Vec::new() };
        let mut frame = Frame::with_axes(&heading.with_remark(&remark), &legend, &x, &y);
        if total.iter().all(|&count| count == 0) {
            frame.draw_remark("no detours");
            return frame.finish();
        }
        draw_bins(&mut frame, &bins, &total, (&x, &y), groups.len() > 1);
        // The most important source is drawn last, on top.
        for group in groups.iter().rev().filter(|_| groups.len() > 1) {
            let steps = steps(&frame, &bins, &group.counts, (&x, &y));
            frame.canvas.open_path(&steps, true, Stroke::new(group.colour, 1.8));
        }
        frame.finish()
    }

    fn groups(&self, counts: &[Vec<u64>], bins: usize) -> Vec<Group> {
        let time_lost: Vec<f64> = self.series.iter().map(|series| shown(series).sum()).collect();
        let own = with_own_colours(&time_lost);
        let mut groups: Vec<Group> = Vec::new();
        for (rank, &index) in own.iter().enumerate() {
            let (name, counts) = (self.series[index].name.clone(), counts[index].clone());
            groups.push(Group { name, colour: palette::colour(rank), counts });
        }
        let others: Vec<Vec<u64>> = counts
            .iter()
            .enumerate()
            .filter(|(index, _)| !own.contains(index))
            .map(|(_, c)| c.clone())
            .collect();
        if !others.is_empty() {
            let name = counted(others.len() as u64, "other source", "other sources");
            groups.push(Group { name, colour: palette::OTHERS, counts: sum(&others, bins) });
        }
        groups
    }
}

struct Group {
    name: String,
    colour: &'static str,
    counts: Vec<u64>,
}

fn shown(series: &LengthSeries) -> impl Iterator<Item = f64> + '_ {
    series.durations.iter().copied().filter(|&duration| drawable(duration, Scale::Decades))
}

/// Bins of equal length on a logarithmic axis: bin i spans 10^((first + i)/10) to 10^((first + i + 1)/10).
struct Bins {
    first: i64,
    len: usize,
}

impl Bins {
    fn around(durations: impl Iterator<Item = f64>) -> Bins {
        let span = durations.map(position).fold(None, |span: Option<(i64, i64)>, bin| {
            let (low, high) = span.unwrap_or((bin, bin));
            Some((low.min(bin), high.max(bin)))
        });
        // Where there is nothing to count, the axis still needs a range.
        let (low, high) = span.unwrap_or((-60, -31));
        Bins { first: low, len: (high - low + 1) as usize }
    }

    fn count(&self, durations: impl Iterator<Item = f64>) -> Vec<u64> {
        let mut counts = vec![0; self.len];
        for duration in durations {
            if let Some(count) = counts.get_mut((position(duration) - self.first) as usize) {
                *count += 1;
            }
        }
        counts
    }

    fn edge(&self, index: usize) -> f64 {
        10f64.powf((self.first + index as i64) as f64 / BINS_PER_DECADE)
    }

    /// One bin of room at both ends.
    fn ends(&self) -> [f64; 2] {
        let bin = 10f64.powf(1.0 / BINS_PER_DECADE);
        [self.edge(0) / bin, self.edge(self.len) * bin]
    }
}

/// The bin of a duration. A power of ten that rounding puts just below itself belongs to the bin it begins.
fn position(duration: f64) -> i64 {
    (duration.log10() * BINS_PER_DECADE + 1e-9).floor() as i64
}

fn sum(counts: &[Vec<u64>], bins: usize) -> Vec<u64> {
    (0..bins).map(|bin| counts.iter().filter_map(|series| series.get(bin)).sum()).collect()
}

/// From below one, so that a bin with a single detour has a height.
fn count_axis(total: &[u64]) -> Axis {
    let most = total.iter().copied().max().unwrap_or(0).max(10) as f64;
    Axis::fitting("detours in a tenth of a decade", Scale::Decades, Unit::Count, [0.6, most])
        .with_room(0.0, 0.05)
}

fn remark(detours: u64, left_out: usize) -> String {
    let detours = counted(detours, "detour", "detours");
    match left_out {
        0 => detours,
        left_out => format!("{detours}; {} more cannot be drawn", grouped(left_out as u64)),
    }
}

fn legend(groups: &[Group], total: &[u64]) -> Vec<Entry> {
    let detours = |counts: &[u64]| counted(counts.iter().sum::<u64>(), "detour", "detours");
    let entry = |group: &Group| Entry {
        name: group.name.clone(),
        detail: detours(&group.counts),
        colour: group.colour,
        mark: Mark::Line,
    };
    let all = Entry { name: "all".into(), detail: detours(total), colour: palette::TOTAL, mark: Mark::Area };
    std::iter::once(all).chain(groups.iter().map(entry)).collect()
}

fn draw_bins(frame: &mut Frame, bins: &Bins, total: &[u64], (x, y): (&Axis, &Axis), is_backdrop: bool) {
    let colour = if is_backdrop { palette::TOTAL } else { palette::colour(0) };
    // A hairline between the bars, unless they stand behind lines.
    let gap = if is_backdrop { 0.0 } else { 1.0 };
    for (index, &count) in total.iter().enumerate().filter(|(_, count)| **count > 0) {
        let (left, top) = frame.place(x.share(bins.edge(index)), y.share(count as f64));
        let (right, bottom) = frame.place(x.share(bins.edge(index + 1)), 0.0);
        frame.canvas.rectangle((left, top), ((right - left - gap).max(0.5), bottom - top), colour);
    }
}

fn steps(frame: &Frame, bins: &Bins, counts: &[u64], (x, y): (&Axis, &Axis)) -> Vec<Place> {
    let height = |count: u64| if count == 0 { 0.0 } else { y.share(count as f64) };
    let used = |&(_, count): &(usize, &u64)| *count > 0;
    let (Some((first, _)), Some((last, _))) =
        (counts.iter().enumerate().find(used), counts.iter().enumerate().rfind(used))
    else {
        return Vec::new();
    };
    let mut places = vec![frame.place(x.share(bins.edge(first)), 0.0)];
    for (index, &count) in counts.iter().enumerate().take(last + 1).skip(first) {
        for edge in [index, index + 1] {
            places.push(frame.place(x.share(bins.edge(edge)), height(count)));
        }
    }
    places.push(frame.place(x.share(bins.edge(last + 1)), 0.0));
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_ten_begin_their_bins() {
        let durations = [1e-6, 1e-5, 1e-3, 9.99e-4, 1.2e-6];
        let bins = Bins::around(durations.into_iter());
        assert_eq!((bins.first, bins.len), (-60, 31));
        let counts = bins.count(durations.into_iter());
        assert_eq!((counts[0], counts[10], counts[29], counts[30]), (2, 1, 1, 1));
        assert_eq!(counts.iter().sum::<u64>(), 5);
    }

    #[test]
    fn bars_are_as_many_as_bins_with_detours() {
        let series = LengthSeries { name: "x".into(), durations: vec![1e-6, 1e-6, 1e-4, f64::NAN, 0.0] };
        let svg = Histogram { series: vec![series] }.draw(&Heading::default());
        assert_eq!(svg.matches(palette::COLOURS[0]).count(), 2);
        assert!(svg.contains("3 detours; 2 more cannot be drawn"), "{svg}");
    }
}

//! A distribution as cells, the common form of all histogram layouts and of lists of exact times.

use super::compare::BODY;
use super::{Group, Variation};
use straggler_model::Time;
use straggler_model::latency::{Bins, Histogram, Outside};
use straggler_model::stats::{CONFIDENCE, quantile_ranks, samples_needed};

/// Trials from `low` (inclusive) to `high` (exclusive), in ps.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cell {
    pub low: f64,
    pub high: f64,
    pub count: u64,
}

impl Cell {
    pub fn middle(&self) -> f64 {
        (self.low + self.high) / 2.0
    }
}

/// Non-empty cells, ascending and without overlap, with the exact totals of their trials.
#[derive(Clone, PartialEq, Debug)]
pub struct Distribution {
    cells: Vec<Cell>,
    /// Cumulative number of trials up to the end of each cell.
    up_to: Vec<u64>,
    pub min_ps: f64,
    pub max_ps: f64,
    pub mean_ps: f64,
    /// Sample variance; none for a single trial.
    pub variance_ps2: Option<f64>,
    /// The layout of the histogram; none for exact times.
    pub bins: Option<Bins>,
    /// Trials with an unknown time, for which only a bound is known.
    below: Unknown,
    above: Unknown,
    /// The distributions of the runs, if there are several.
    pub runs: Vec<Distribution>,
    /// How strongly trials depend on each other.
    pub variation: Variation,
}

/// Why a quantile has no confidence interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Shortage {
    #[error("this needs at least {needed} trials, but there are {count}: measure more")]
    Trials { needed: u64, count: u64 },
    #[error("this needs at least {needed} trials in each run, but a run has only {count}: measure more")]
    InRun { needed: u64, count: u64 },
    #[error(
        "this needs {needed} independent trials, but the {count} trials of a file vary so much from cycle to cycle that \
         they are worth {worth}: measure more cycles, or merge three runs or more"
    )]
    Independent { needed: u64, count: u64, worth: u64 },
}

/// Trials outside the bins, and the edge beyond which they lie.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Unknown {
    count: u64,
    edge: Time,
}

impl Distribution {
    /// None if there are no trials. Trials shorter than the timer's cost count as 0; those beyond the last bin form a
    /// cell up to the maximum.
    pub fn from_histogram(histogram: &Histogram) -> Option<Distribution> {
        let (min, max) = (histogram.min()?, histogram.max()?);
        let mut cells: Vec<Cell> = histogram
            .iter()
            .map(|bin| Cell { low: bin.low.ps() as f64, high: bin.high.ps() as f64, count: bin.count })
            .collect();
        if histogram.underflow() > 0 {
            match cells.first_mut().filter(|cell| cell.low == 0.0) {
                Some(first) => first.count += histogram.underflow(),
                None => cells.insert(0, Cell { low: 0.0, high: 1.0, count: histogram.underflow() }),
            }
        }
        if histogram.overflow() > 0 {
            let low = histogram.at_rank(histogram.count() - histogram.overflow() + 1).low.ps() as f64;
            let low = cells.last().map_or(low, |last| low.max(last.high));
            cells.push(Cell {
                low,
                high: (max.ps() as f64 + 1.0).max(low + 1.0),
                count: histogram.overflow(),
            });
        }
        let mean_ps = histogram.mean_ps()?;
        let (min_ps, max_ps) = (min.ps() as f64, max.ps() as f64);
        let found = Distribution::new(cells, [min_ps, max_ps], mean_ps, histogram.variance_ps2());
        let below = histogram.outside_at(1).map_or(Time::ZERO, Outside::bound);
        Some(Distribution {
            bins: Some(histogram.bins()),
            below: Unknown { count: histogram.underflow(), edge: below },
            above: Unknown { count: histogram.overflow(), edge: histogram.end() },
            ..found
        })
    }

    /// All trials of a group, with their variation from cycle to cycle or from run to run.
    pub fn of_group(group: &Group) -> Option<Distribution> {
        let mut found = Distribution::from_histogram(&group.all.trials)?;
        found.runs =
            group.all.runs.iter().filter_map(|run| Distribution::from_histogram(&run.trials)).collect();
        found.variation = Variation::new(&found, &group.cycles);
        Some(found)
    }

    /// The distribution of exact times, which must be sorted.
    pub fn of_sorted(times: &[Time]) -> Option<Distribution> {
        let (first, last) = (times.first()?, times.last()?);
        let cell = |same: &[Time]| {
            let low = same[0].ps() as f64;
            Cell { low, high: (low + 1.0).max(low * (1.0 + f64::EPSILON)), count: same.len() as u64 }
        };
        let cells = times.chunk_by(|one, other| one == other).map(cell).collect();
        let count = times.len() as f64;
        let mean = times.iter().map(|time| time.ps() as f64).sum::<f64>() / count;
        let squares: f64 = times.iter().map(|time| (time.ps() as f64 - mean).powi(2)).sum();
        let variance = (times.len() > 1).then(|| squares / (count - 1.0));
        Some(Distribution::new(cells, [first.ps() as f64, last.ps() as f64], mean, variance))
    }

    fn new(
        cells: Vec<Cell>,
        [min_ps, max_ps]: [f64; 2],
        mean_ps: f64,
        variance_ps2: Option<f64>,
    ) -> Distribution {
        let add = |sum: &mut u64, cell: &Cell| {
            *sum += cell.count;
            Some(*sum)
        };
        let up_to = cells.iter().scan(0, add).collect();
        let (below, above) = (Unknown::default(), Unknown::default());
        let (runs, variation) = (Vec::new(), Variation::default());
        Distribution {
            cells,
            up_to,
            min_ps,
            max_ps,
            mean_ps,
            variance_ps2,
            bins: None,
            below,
            above,
            runs,
            variation,
        }
    }

    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Cells of trials with a known time: those within the bins, and a single one beyond them, which is the maximum.
    pub fn known_cells(&self) -> impl DoubleEndedIterator<Item = Cell> + '_ {
        let known = self.cells.len() - usize::from(self.above.count > 1);
        let within = self.cells[..known].iter().enumerate().map(|(place, &cell)| {
            let below = if place == 0 { self.below.count } else { 0 };
            Cell { count: cell.count - below, ..cell }
        });
        within.filter(|cell| cell.count > 0)
    }

    /// The range of the known times; none if there are none.
    pub fn known_range(&self) -> Option<(f64, f64)> {
        let (first, last) = (self.known_cells().next()?, self.known_cells().next_back()?);
        let low = if self.below.count > 0 { first.low } else { self.ends(&first).0 };
        Some((low, self.ends(&last).1))
    }

    /// A quantile of the trials with a known time.
    pub fn quantile_of_known(&self, level: f64) -> f64 {
        let [below, above] = self.unknown();
        let known = (self.count() - below - above) as f64;
        self.quantile((below as f64 + level * known) / self.count() as f64)
    }

    /// The ends of the cell that contains the median of the trials with a known time.
    pub fn bounds_of_known_median(&self) -> (f64, f64) {
        let [below, above] = self.unknown();
        let known = (self.count() - below - above) as f64;
        self.bounds((below as f64 + 0.5 * known) / self.count() as f64)
    }

    /// The end of the last bin, if more than one trial lies beyond it.
    pub fn known_up_to(&self) -> Option<f64> {
        (self.above.count > 1).then_some(self.above.edge.ps() as f64)
    }

    /// The end of the last bin, if any trial lies beyond it.
    pub fn edge_of_bins(&self) -> Option<f64> {
        (self.above.count > 0).then_some(self.above.edge.ps() as f64)
    }

    /// Cells for comparing ranks: all trials beyond `cut` count as equal, in one cell up to `end`. A cell that
    /// contains `cut` is split in proportion.
    pub fn ranked_cells(&self, cut: f64, end: f64) -> Vec<Cell> {
        let (mut cells, mut beyond) = (Vec::new(), 0.0);
        let binned = self.cells.len() - usize::from(self.above.count > 0);
        for cell in &self.cells[..binned] {
            let share = ((cut - cell.low) / (cell.high - cell.low)).clamp(0.0, 1.0);
            let kept = (share * cell.count as f64).round();
            beyond += cell.count as f64 - kept;
            if kept > 0.0 {
                cells.push(Cell { high: cell.high.min(cut), count: kept as u64, ..*cell });
            }
        }
        let count = self.above.count + beyond as u64;
        cells.extend((count > 0).then_some(Cell { low: cut, high: end, count }));
        cells
    }

    /// The numbers of trials with an unknown time: those shorter than the timer's cost, and those beyond the last
    /// bin. If only one lies beyond, it is the maximum, so its time is known.
    pub fn unknown(&self) -> [u64; 2] {
        [self.below.count, self.above.count.saturating_sub(u64::from(self.above.count == 1))]
    }

    /// The bound of a quantile, if it lies outside the bins.
    pub fn outside(&self, level: f64) -> Option<Outside> {
        let rank = (level * self.count() as f64).ceil().max(1.0) as u64;
        if rank <= self.below.count {
            return Some(Outside::Below(self.below.edge));
        }
        let is_beyond = rank > self.count() - self.above.count && rank < self.count();
        is_beyond.then_some(Outside::Above(self.above.edge))
    }

    /// The same if runs are compared: one of them may lie outside the bins.
    pub fn outside_of_runs(&self, level: f64) -> Option<Outside> {
        match self.variation.between_runs {
            true => self.runs.iter().find_map(|run| run.outside(level)),
            false => self.outside(level),
        }
    }

    /// The degrees of freedom of its variance, infinite for independent trials.
    pub fn freedom(&self) -> f64 {
        self.variation.freedom()
    }

    /// What the confidence interval of a quantile lacks. Dependent trials are worth fewer.
    pub fn lacks(&self, level: f64) -> Option<Shortage> {
        let (Variation { body, tail, between_runs, .. }, count) = (self.variation, self.count());
        let needed = samples_needed(level, CONFIDENCE).unwrap_or(u64::MAX);
        if between_runs {
            let in_run = (1.0 / level.min(1.0 - level)).round().max(1.0) as u64;
            let least = self.runs.iter().map(Distribution::count).min().unwrap_or(0);
            if least < in_run {
                return Some(Shortage::InRun { needed: in_run, count: least });
            }
        }
        if count < needed {
            return Some(Shortage::Trials { needed, count });
        }
        let worth = (count as f64 / if level <= BODY { body } else { tail }) as u64;
        (worth < needed && !between_runs).then_some(Shortage::Independent { needed, count, worth })
    }

    pub fn count(&self) -> u64 {
        self.up_to.last().copied().unwrap_or(0)
    }

    /// The ends of a cell, clamped to the minimum and maximum.
    fn ends(&self, cell: &Cell) -> (f64, f64) {
        (cell.low.clamp(self.min_ps, self.max_ps), cell.high.clamp(self.min_ps, self.max_ps))
    }

    fn cell_of(&self, rank: f64) -> usize {
        self.up_to.partition_point(|&up_to| (up_to as f64) < rank).min(self.cells.len() - 1)
    }

    /// A quantile, if it lies within the bins.
    pub fn known_quantile(&self, level: f64) -> Option<f64> {
        self.outside(level).is_none().then(|| self.quantile(level))
    }

    /// Bounds on a quantile, both equal if it lies within the bins.
    pub fn quantile_ends(&self, level: f64) -> (f64, f64) {
        match self.outside(level) {
            Some(Outside::Below(edge)) => (self.min_ps, edge.ps() as f64),
            Some(Outside::Above(edge)) => (edge.ps() as f64, self.max_ps),
            None => (self.quantile(level), self.quantile(level)),
        }
    }

    /// The time below which a share `level` of all trials lies, with trials spread evenly over their cell. If it lies
    /// beyond the last bin, the end of that bin; if it is shorter than the timer's cost, 0.
    pub fn quantile(&self, level: f64) -> f64 {
        match self.outside(level) {
            Some(Outside::Below(_)) => return self.min_ps,
            Some(Outside::Above(edge)) => return edge.ps() as f64,
            None => {}
        }
        let rank = (level * self.count() as f64).clamp(0.0, self.count() as f64);
        let index = self.cell_of(rank);
        let cell = &self.cells[index];
        let (low, high) = self.ends(cell);
        // Times are whole picoseconds, so a cell this narrow holds a single value.
        if high - low <= 1.0 {
            return low;
        }
        let inside = (rank - (self.up_to[index] - cell.count) as f64) / cell.count as f64;
        low + inside.clamp(0.0, 1.0) * (high - low)
    }

    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The ends of the cell that contains a quantile, which is not known more precisely.
    pub fn bounds(&self, level: f64) -> (f64, f64) {
        let rank = (level * self.count() as f64).ceil().max(1.0);
        self.ends(&self.cells[self.cell_of(rank)])
    }

    /// Confidence interval of the quantile of the underlying distribution, from order statistics, widened to the ends
    /// of their cells. None if there are too few trials. Assumes independent trials.
    pub fn interval(&self, level: f64, confidence: f64) -> Option<(f64, f64)> {
        let (low, high) = quantile_ranks(self.count(), level, confidence)?;
        let at = |rank: u64| self.ends(&self.cells[self.cell_of(rank as f64)]);
        Some((at(low).0, at(high).1))
    }

    /// The ends of the cell that contains a time; the time itself, twice, if no cell does.
    pub(super) fn cell_around(&self, ps: f64) -> (f64, f64) {
        let place = self.cells.partition_point(|cell| cell.high <= ps);
        self.cells.get(place).filter(|cell| cell.low <= ps).map_or((ps, ps), |cell| self.ends(cell))
    }

    /// The share of trials below `ps`.
    pub fn share_below(&self, ps: f64) -> f64 {
        let index = self.cells.partition_point(|cell| cell.high <= ps);
        let before = index.checked_sub(1).map_or(0, |index| self.up_to[index]) as f64;
        let inside = self.cells.get(index).map_or(0.0, |cell| {
            let (low, high) = self.ends(cell);
            let share = if high > low { (ps - low) / (high - low) } else { f64::from(ps > low) };
            share.clamp(0.0, 1.0) * cell.count as f64
        });
        (before + inside) / self.count() as f64
    }

    /// Counts on a logarithmic grid with steps of `step` in `ln`: all trials with a known time, each cell spread
    /// evenly over at least `smear` ps. Also returns the logarithm at which the grid begins.
    pub fn on_log_grid(&self, step: f64, smear: f64) -> (f64, Vec<f64>) {
        let (first, last) = self.known_range().unwrap_or((self.min_ps, self.min_ps));
        let least = (first - smear / 2.0).max(last * 1e-12).max(1.0);
        let most = (last + smear / 2.0).max(least * 1.01);
        let from = (least.ln() / step).floor() * step - step;
        let places = (((most.ln() - from) / step).ceil() as usize + 2).min(MOST_PLACES);
        let mut grid = vec![0.0; places];
        for cell in self.known_cells() {
            let (low, high) = self.ends(&cell);
            let more = ((smear - (high - low)) / 2.0).max(0.0);
            let (low, high) = ((low - more).max(least), (high + more).max(least));
            spread(
                &mut grid,
                cell.count as f64,
                (low, high),
                |ps: f64| (ps.ln() - from) / step,
                |place| (from + place * step).exp(),
            );
        }
        (from, grid)
    }
}

/// The most places of a grid; charts and modes need no more.
const MOST_PLACES: usize = 1 << 16;

/// Spreads a count over the places of a grid between two times, in proportion to their length in time.
fn spread(
    grid: &mut [f64],
    count: f64,
    (low, high): (f64, f64),
    place: impl Fn(f64) -> f64,
    time: impl Fn(f64) -> f64,
) {
    let last = grid.len() - 1;
    let first = (place(low).max(0.0) as usize).min(last);
    let end = (place(high).max(0.0) as usize).min(last);
    if first == end || high <= low {
        grid[first] += count;
        return;
    }
    for (index, slot) in grid.iter_mut().enumerate().take(end + 1).skip(first) {
        let from = time(index as f64).max(low);
        let to = if index == end { high } else { time(index as f64 + 1.0).min(high) };
        *slot += count * ((to - from) / (high - low)).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram(bins: Bins, values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new(bins);
        values.iter().for_each(|&ps| histogram.record(Time(ps)));
        histogram
    }

    #[test]
    fn by_hand() {
        let bins = Bins::FixedWidth { width_ps: 10, count: 10 };
        let mut times = histogram(bins, &[5, 12, 14, 16, 18, 250]);
        times.record_underflow();
        let found = Distribution::from_histogram(&times).unwrap();
        assert_eq!(found.count(), 7);
        // The underflow counts as 0 and lies in the first bin.
        assert_eq!(found.cells()[0], Cell { low: 0.0, high: 10.0, count: 2 });
        // The only trial beyond the last bin is the maximum.
        assert_eq!(found.cells()[2].low, 250.0);
        assert_eq!((found.min_ps, found.max_ps), (0.0, 250.0));
        assert!((found.quantile(4.0 / 7.0) - 15.0).abs() < 1e-9);
        assert_eq!(found.bounds(0.5), (10.0, 20.0));
        assert_eq!(found.quantile(1.0), 250.0);
        assert!((found.share_below(15.0) - 4.0 / 7.0).abs() < 1e-12);
        assert!(Distribution::from_histogram(&Histogram::default()).is_none());
        assert!(Distribution::of_sorted(&[]).is_none());
    }

    /// 60 trials in bins of 10 ps up to 100 ps, 30 beyond them, 10 shorter than the timer's cost.
    #[test]
    fn outside_of_the_bins_only_bounds_are_known() {
        let bins = Bins::FixedWidth { width_ps: 10, count: 10 };
        let within = (0..60).map(|place| 30 + place % 7);
        let beyond = (0..30).map(|place| 1000 + 100 * place);
        let mut times = histogram(bins, &within.chain(beyond).collect::<Vec<u64>>());
        (0..10).for_each(|_| times.record_underflow());
        let found = Distribution::from_histogram(&times).unwrap();
        for q in [0.01, 0.05, 0.1, 0.11, 0.5, 0.7, 0.71, 0.9, 0.99] {
            assert_eq!(found.outside(q), times.outside(q), "{q}");
            assert_eq!(found.known_quantile(q).is_some(), (0.11..=0.7).contains(&q), "{q}");
        }
        assert_eq!(found.outside(0.1), Some(Outside::Below(Time(40))));
        assert_eq!(found.outside(0.9), Some(Outside::Above(Time(100))));
        assert_eq!((found.quantile(0.9), found.quantile_ends(0.9)), (100.0, (100.0, 3900.0)));
        assert_eq!(found.quantile_ends(0.05), (0.0, 40.0));
        // The maximum is known exactly.
        assert_eq!((found.outside(1.0), found.quantile(1.0)), (None, 3900.0));
        assert_eq!(found.unknown(), [10, 30]);
        let (from, grid) = found.on_log_grid(0.01, 0.0);
        assert_eq!((from.exp() > 25.0, grid.iter().sum::<f64>().round()), (true, 60.0));
        assert_eq!((found.known_range(), found.known_up_to()), (Some((30.0, 40.0)), Some(100.0)));
        assert!((found.quantile_of_known(0.5) - 35.0).abs() < 1e-9);
        // A single trial beyond the last bin is the maximum.
        let one = Distribution::from_histogram(&histogram(bins, &[5, 12, 250])).unwrap();
        assert_eq!((one.unknown(), one.outside(0.99)), ([0, 0], None));
        let all = Distribution::from_histogram(&histogram(bins, &[500; 100])).unwrap();
        assert_eq!(all.outside(0.5), Some(Outside::Above(Time(100))));
        assert!(all.on_log_grid(0.01, 0.0).1.iter().all(|&count| count == 0.0));
    }

    proptest! {
        /// Quantiles and shares are inverse to each other, grids keep all trials, and merging equals recording
        /// everything in one histogram.
        #[test]
        fn of_any_times(values in prop::collection::vec(1u64..10_000_000, 1..200), q in 0.01f64..0.99) {
            let whole = histogram(Bins::default(), &values);
            let half = values.len() / 2;
            let mut merged = histogram(Bins::default(), &values[..half]);
            merged.merge(&histogram(Bins::default(), &values[half..])).unwrap();
            let found = Distribution::from_histogram(&whole).unwrap();
            prop_assert_eq!(&found, &Distribution::from_histogram(&merged).unwrap());
            let (_, grid) = found.on_log_grid(0.01, 0.0);
            prop_assert!((grid.iter().sum::<f64>() - values.len() as f64).abs() < 1e-6);
            let back = found.share_below(found.quantile(q));
            // In a cell without width, the share jumps by all of its trials.
            let one = found.cells().iter().map(|cell| cell.count).max().unwrap() as f64 / values.len() as f64;
            prop_assert!((back - q).abs() <= one + 1e-9, "{} {}", back, q);
            let mut sorted: Vec<Time> = values.iter().map(|&ps| Time(ps)).collect();
            sorted.sort_unstable();
            let exact = Distribution::of_sorted(&sorted).unwrap();
            prop_assert!((exact.mean_ps - found.mean_ps).abs() < 1e-3);
            let (low, high) = found.bounds(q);
            let (a, b) = exact.bounds(q);
            prop_assert!(low <= b && a <= high);
        }
    }
}

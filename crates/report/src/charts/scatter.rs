//! Every detour a dot: time against duration, on a logarithmic axis, coloured by source. This is the view of
//! Figure 1 of Hoefler, Schneider and Lumsdaine, "Characterizing the Influence of System Noise on
//! Large-Scale Applications by Simulation" (SC 2010).
//!
//! A recording may have a million detours, a picture has fewer pixels. Dots that would share a cell of a
//! fine grid are drawn once, the rarest source on top; the cells grow until the picture is small enough to
//! be sent around. How many dots stand for how many detours is said below the title.

use super::axis::{Axis, Scale, drawable};
use super::frame::{Entry, Frame, Mark};
use super::unit::Unit;
use super::{Heading, palette, with_own_colours};
use crate::numbers::{counted, grouped};

/// Detours of one source: (when, how long), in seconds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PointSeries {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// Time against duration.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Scatter {
    pub series: Vec<PointSeries>,
    /// From the start to this time is shown even if nothing happened; in seconds.
    pub length: f64,
}

/// A scatter plot, and how much of the data it shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScatterPicture {
    pub svg: String,
    pub points: usize,
    /// Dots that were drawn for them.
    pub drawn: usize,
    /// Points that have no place on the axes.
    pub left_out: usize,
}

/// A dot takes about eight bytes of SVG.
const MOST_DOTS: usize = 120_000;
/// Widths of the cells in which dots are drawn once, in pixels: a PNG has two pixels for one.
const CELLS: [f64; 5] = [0.5, 1.0, 1.5, 2.0, 3.0];

impl Scatter {
    pub fn draw(&self, heading: &Heading) -> ScatterPicture {
        let groups = self.groups();
        let (x, y) = self.axes();
        let legend = legend(&groups);
        // Only the size of the area is needed to thin out, and the subtitle does not change it.
        let room = Frame::with_axes(&heading.with_remark(" "), &legend, &x, &y);
        let dots = thinned(&groups, &x, &y, (room.width(), room.height()));
        let points = self.series.iter().map(|series| series.points.len()).sum();
        let drawn = dots.iter().map(|(_, places)| places.len()).sum();
        let shown: usize = groups.iter().map(|group| group.points.len()).sum();
        let remark = remark(points, drawn, points - shown);
        let mut frame = Frame::with_axes(&heading.with_remark(&remark), &legend, &x, &y);
        if drawn == 0 {
            frame.draw_remark("no detours");
        }
        let diameter = diameter(drawn);
        for (colour, places) in dots {
            let places: Vec<_> = places.iter().map(|(x, y)| (frame.left + x, frame.bottom - y)).collect();
            frame.canvas.dots(&places, diameter, colour);
        }
        ScatterPicture { svg: frame.finish(), points, drawn, left_out: points - shown }
    }

    /// The series that have a colour of their own, and one of all others; only points that can be drawn.
    fn groups(&self) -> Vec<Group> {
        let time_lost = |series: &PointSeries| shown_points(series).map(|(_, duration)| duration).sum();
        let own = with_own_colours(&self.series.iter().map(time_lost).collect::<Vec<f64>>());
        let mut groups: Vec<Group> = Vec::new();
        for (rank, &index) in own.iter().enumerate() {
            let series = &self.series[index];
            let points = shown_points(series).collect();
            groups.push(Group { name: series.name.clone(), colour: palette::colour(rank), points });
        }
        let others: Vec<&PointSeries> = self
            .series
            .iter()
            .enumerate()
            .filter(|(index, _)| !own.contains(index))
            .map(|(_, s)| s)
            .collect();
        if !others.is_empty() {
            let name = counted(others.len() as u64, "other source", "other sources");
            let points = others.iter().flat_map(|series| shown_points(series)).collect();
            groups.push(Group { name, colour: palette::OTHERS, points });
        }
        groups
    }

    fn axes(&self) -> (Axis, Axis) {
        let points = || self.series.iter().flat_map(shown_points);
        let length = if drawable(self.length, Scale::Linear) { self.length.max(0.0) } else { 0.0 };
        let times = points().map(|(time, _)| time).chain([0.0, length]);
        let times: Vec<f64> =
            if points().next().is_none() && length == 0.0 { vec![] } else { times.collect() };
        let x = Axis::fitting("time since the start", Scale::Linear, Unit::Seconds, times);
        let durations = points().map(|(_, duration)| duration);
        let y = Axis::fitting("duration of the detour", Scale::Decades, Unit::Seconds, durations);
        (x, y.with_room(0.05, 0.05))
    }
}

/// Points of one colour.
pub(super) struct Group {
    pub name: String,
    pub colour: &'static str,
    pub points: Vec<(f64, f64)>,
}

fn shown_points(series: &PointSeries) -> impl Iterator<Item = (f64, f64)> + '_ {
    let shown =
        |&(time, duration): &(f64, f64)| drawable(time, Scale::Linear) && drawable(duration, Scale::Decades);
    series.points.iter().copied().filter(shown)
}

fn legend(groups: &[Group]) -> Vec<Entry> {
    let entry = |group: &Group| Entry {
        name: group.name.clone(),
        detail: counted(group.points.len() as u64, "detour", "detours"),
        colour: group.colour,
        mark: Mark::Dot,
    };
    groups.iter().map(entry).collect()
}

/// Few dots are large enough to be seen, many small enough to be told apart.
pub(super) fn diameter(drawn: usize) -> f64 {
    match drawn {
        0..200 => 5.0,
        200..2_000 => 3.6,
        2_000..20_000 => 2.6,
        _ => 1.8,
    }
}

fn cells(length: f64, cell: f64) -> usize {
    ((length / cell) as usize).max(1)
}

fn remark(points: usize, drawn: usize, left_out: usize) -> String {
    let mut remark = counted(points as u64, "detour", "detours");
    if drawn + left_out < points {
        let dots = counted(drawn as u64, "dot", "dots");
        remark = format!("{remark} in {dots}: those that share a place are drawn once");
    }
    if left_out > 0 {
        remark = format!("{remark}; {} cannot be drawn", grouped(left_out as u64));
    }
    remark
}

pub(super) type Dots = Vec<(&'static str, Vec<(f64, f64)>)>;

/// The places of dots by colour, in pixels from the lower left corner, the commonest source first.
pub(super) fn thinned(groups: &[Group], x: &Axis, y: &Axis, (width, height): (f64, f64)) -> Dots {
    let mut order: Vec<&Group> = groups.iter().filter(|group| !group.points.is_empty()).collect();
    order.sort_by_key(|group| std::cmp::Reverse(group.points.len()));
    let last = CELLS[CELLS.len() - 1];
    let grid = CELLS.into_iter().map(|cell| Grid::filled(&order, x, y, (width, height), cell));
    let mut grid = grid.filter(|grid| grid.occupied <= MOST_DOTS || grid.cell == last);
    let Some(grid) = grid.next() else { return Vec::new() };
    order.iter().enumerate().map(|(index, group)| (group.colour, grid.places(index))).collect()
}

/// Which group is on top in each cell; 0 for none.
struct Grid {
    cell: f64,
    columns: usize,
    tops: Vec<u8>,
    occupied: usize,
}

impl Grid {
    fn filled(groups: &[&Group], x: &Axis, y: &Axis, (width, height): (f64, f64), cell: f64) -> Grid {
        let (columns, rows) = (cells(width, cell), cells(height, cell));
        let mut tops = vec![0; columns * rows];
        for (index, group) in groups.iter().enumerate() {
            for &(time, duration) in &group.points {
                // The far ends of the axes belong to the last cells.
                let column = ((x.share(time) * width / cell) as usize).min(columns - 1);
                let row = ((y.share(duration) * height / cell) as usize).min(rows - 1);
                if let Some(top) = tops.get_mut(row * columns + column) {
                    *top = index as u8 + 1;
                }
            }
        }
        let occupied = tops.iter().filter(|&&top| top != 0).count();
        Grid { cell, columns, tops, occupied }
    }

    /// Row by row, so that neighbours in the list are neighbours in the picture and steps are short.
    fn places(&self, group: usize) -> Vec<(f64, f64)> {
        let of_group = self.tops.iter().enumerate().filter(|&(_, &top)| usize::from(top) == group + 1);
        let place = |index: usize| ((index % self.columns) as f64, (index / self.columns) as f64);
        of_group
            .map(|(index, _)| place(index))
            .map(|(x, y)| ((x + 0.5) * self.cell, (y + 0.5) * self.cell))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scatter(names: usize, each: usize) -> Scatter {
        let points = |source: usize| {
            (0..each).map(|index| (index as f64 / each as f64, 1e-6 * (1 + source) as f64)).collect()
        };
        let series =
            (0..names).map(|source| PointSeries { name: format!("source {source}"), points: points(source) });
        Scatter { series: series.collect(), length: 1.0 }
    }

    #[test]
    fn every_point_that_has_its_own_place_is_drawn() {
        let picture = scatter(2, 100).draw(&Heading::default());
        assert_eq!((picture.points, picture.drawn, picture.left_out), (200, 200, 0));
        // One move a dot, and one for the mark of each source in the legend.
        assert_eq!(picture.svg.matches("h0").count(), 202);
        assert!(picture.svg.contains("200 detours<"), "{}", picture.svg);
    }

    #[test]
    fn a_million_points_stay_small_and_are_counted() {
        let mut wild = Scatter { series: vec![PointSeries::default()], length: 10.0 };
        let mut state = 1u64;
        let mut draw = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        wild.series[0].points =
            (0..1_000_000).map(|_| (10.0 * draw(), 1e-7 * 10f64.powf(5.0 * draw()))).collect();
        let picture = wild.draw(&Heading::default());
        assert!(picture.drawn > 50_000 && picture.drawn <= MOST_DOTS, "{}", picture.drawn);
        assert!(picture.svg.len() < 1_200_000, "{}", picture.svg.len());
        assert!(
            picture.svg.contains(&format!("1,000,000 detours in {} dots", grouped(picture.drawn as u64)))
        );
    }

    #[test]
    fn the_rarest_source_lies_on_top() {
        let dots =
            |name: &str, count: usize| PointSeries { name: name.into(), points: vec![(0.5, 1e-6); count] };
        let chart = Scatter { series: vec![dots("rare", 1), dots("common", 9)], length: 1.0 };
        let picture = chart.draw(&Heading::default());
        assert_eq!(picture.drawn, 1);
        // The common one cost more time and so has the first colour; the dot has the second.
        let (dot, first) =
            (picture.svg.rfind("h0").unwrap(), picture.svg.rfind(palette::COLOURS[1]).unwrap());
        assert!(first > dot);
    }

    #[test]
    fn what_cannot_be_drawn_is_counted() {
        let points = vec![(0.1, 1e-6), (f64::NAN, 1e-6), (0.2, 0.0), (0.3, f64::INFINITY), (0.4, -1.0)];
        let chart = Scatter { series: vec![PointSeries { name: "x".into(), points }], length: f64::NAN };
        let picture = chart.draw(&Heading::default());
        assert_eq!((picture.points, picture.drawn, picture.left_out), (5, 1, 4));
        assert!(picture.svg.contains("5 detours; 4 cannot be drawn"));
    }

    #[test]
    fn sources_beyond_the_colours_share_one() {
        let svg = scatter(12, 3).draw(&Heading::default()).svg;
        assert!(svg.contains("5 other sources") && svg.contains(palette::OTHERS));
        assert!(svg.contains("source 11") && !svg.contains("source 3<"));
    }
}

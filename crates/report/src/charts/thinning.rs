//! A scatter may have a million points, a picture has fewer pixels. Dots that would share a cell of a fine grid are
//! drawn once, the rarest series on top; the cells grow until the picture is small enough to be sent around.

use super::axis::Axis;
use super::palette::Colour;

/// Points of one colour.
#[derive(Debug)]
pub struct Group {
    pub name: String,
    pub colour: Colour,
    pub points: Vec<(f64, f64)>,
}

/// Limit on the dots drawn; each takes about eight bytes of SVG.
pub const MOST_DOTS: usize = 120_000;
/// Cell sizes to try, in pixels. Half a pixel because a PNG has two pixels for one.
const CELLS: [f64; 5] = [0.5, 1.0, 1.5, 2.0, 3.0];

/// Few dots are drawn large enough to be seen, many small enough to be told apart.
pub fn diameter(drawn: usize) -> f64 {
    match drawn {
        0..200 => 5.0,
        200..2_000 => 3.6,
        2_000..20_000 => 2.6,
        _ => 1.8,
    }
}

pub type Dots = Vec<(Colour, Vec<(f64, f64)>)>;

/// The positions of the dots by colour, in pixels from the lower left corner, the largest group first.
pub fn thinned(groups: &[Group], x: &Axis, y: &Axis, (width, height): (f64, f64)) -> Dots {
    let mut order: Vec<&Group> = groups.iter().filter(|group| !group.points.is_empty()).collect();
    order.sort_by_key(|group| std::cmp::Reverse(group.points.len()));
    let last = CELLS[CELLS.len() - 1];
    let grid = CELLS.into_iter().map(|cell| Grid::filled(&order, x, y, (width, height), cell));
    let mut grid = grid.filter(|grid| grid.occupied <= MOST_DOTS || grid.cell == last);
    let Some(grid) = grid.next() else { return Vec::new() };
    order.iter().enumerate().map(|(index, group)| (group.colour, grid.places(index))).collect()
}

/// The group on top in each cell, counted from 1; 0 for none.
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

    /// Row by row, so that consecutive dots are close together and relative steps are short.
    fn places(&self, group: usize) -> Vec<(f64, f64)> {
        let of_group = self.tops.iter().enumerate().filter(|&(_, &top)| usize::from(top) == group + 1);
        let place = |index: usize| ((index % self.columns) as f64, (index / self.columns) as f64);
        of_group
            .map(|(index, _)| place(index))
            .map(|(x, y)| ((x + 0.5) * self.cell, (y + 0.5) * self.cell))
            .collect()
    }
}

fn cells(length: f64, cell: f64) -> usize {
    ((length / cell) as usize).max(1)
}

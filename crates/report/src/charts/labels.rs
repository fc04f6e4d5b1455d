//! Places labels so that they cover neither each other nor what they mark.

use super::canvas::Point;

/// A rectangle in pixels.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Room {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

/// Pixels between two labels.
const APART: f64 = 3.0;
/// Lines to avoid are split into parts of this many pixels.
const PART: f64 = 6.0;

impl Room {
    /// The rectangle around a dot.
    pub fn of_dot((x, y): Point, radius: f64) -> Room {
        Room { left: x - radius, top: y - radius, width: 2.0 * radius, height: 2.0 * radius }
    }

    fn overlaps(&self, other: &Room) -> bool {
        self.left < other.left + other.width + APART
            && other.left < self.left + self.width + APART
            && self.top < other.top + other.height
            && other.top < self.top + self.height
    }

    fn lies_in(&self, area: &Room) -> bool {
        self.left >= area.left
            && self.top >= area.top
            && self.left + self.width <= area.left + area.width
            && self.top + self.height <= area.top + area.height
    }
}

/// The names of one chart.
#[derive(Debug)]
pub struct Labels {
    area: Room,
    taken: Vec<Room>,
    /// Covered only if a label has no other place.
    lines: Vec<Room>,
}

impl Labels {
    pub fn within(area: Room) -> Labels {
        Labels { area, taken: Vec::new(), lines: Vec::new() }
    }

    /// Keeps labels off a rectangle.
    pub fn avoid(&mut self, room: Room) {
        self.taken.push(room);
    }

    /// Keeps names away from a straight line, where they have another place.
    pub fn avoid_line(&mut self, (from, to): (Point, Point)) {
        let parts = ((to.0 - from.0).hypot(to.1 - from.1) / PART).ceil().max(1.0);
        let at = |part: u32| {
            let share = f64::from(part) / parts;
            (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1))
        };
        self.lines.extend((0..=parts as u32).map(|part| Room::of_dot(at(part), 1.0)));
    }

    /// Takes the candidate that covers least of the lines, of those that lie in the chart and are free.
    pub fn place(&mut self, candidates: impl IntoIterator<Item = Room>) -> Option<Room> {
        let is_free =
            |room: &Room| room.lies_in(&self.area) && self.taken.iter().all(|other| !other.overlaps(room));
        let covered = |room: &Room| self.lines.iter().filter(|other| other.overlaps(room)).count();
        let found = candidates.into_iter().filter(is_free).min_by_key(covered)?;
        self.taken.push(found);
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_covered() {
        let area = Room { left: 0.0, top: 0.0, width: 100.0, height: 30.0 };
        let mut labels = Labels::within(area);
        let at = |left: f64, top: f64| Room { left, top, width: 60.0, height: 15.0 };
        labels.avoid(Room::of_dot((95.0, 20.0), 4.0));
        assert_eq!(labels.place([at(-5.0, 0.0), at(5.0, 0.0)]), Some(at(5.0, 0.0)));
        assert_eq!(labels.place([at(10.0, 5.0), at(35.0, 15.0), at(20.0, 15.0)]), Some(at(20.0, 15.0)));
        assert_eq!(labels.place([at(0.0, 0.0), at(0.0, 20.0)]), None);
        // A line is covered only if there is no other place.
        let mut labels = Labels::within(Room { height: 60.0, ..area });
        labels.avoid_line(((0.0, 0.0), (100.0, 10.0)));
        assert_eq!(labels.place([at(0.0, 0.0), at(0.0, 20.0)]), Some(at(0.0, 20.0)));
        assert_eq!(labels.place([at(0.0, 0.0)]), Some(at(0.0, 0.0)));
    }
}

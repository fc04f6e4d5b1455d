//! Process grids: the coordinates and neighbours of ranks.

use std::fmt;
use straggler_model::Rank;

/// Up to three dimensions; the first varies fastest. A plane is a grid whose third extent is 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grid {
    extents: [u32; 3],
    row: Divisor,
    plane: Divisor,
}

impl Grid {
    /// Returns `None` if an extent is 0 or there are more places than rank numbers.
    pub fn new(extents: [u32; 3]) -> Option<Grid> {
        let [x, y, z] = extents;
        let places = x.checked_mul(y)?.checked_mul(z)?;
        let grid = Grid { extents, row: Divisor::new(x)?, plane: Divisor::new(x.checked_mul(y)?)? };
        (places > 0).then_some(grid)
    }

    /// The grid of `dimensions` dimensions with `places` places whose extents differ least, largest
    /// first, as `MPI_Dims_create` specifies.
    pub fn most_even(places: u32, dimensions: u32) -> Option<Grid> {
        let z = if dimensions == 3 { most_even_depth(places) } else { 1 };
        let y = root_divisor(places.checked_div(z)?);
        Grid::new([places / z / y.max(1), y, z])
    }

    pub fn places(&self) -> u32 {
        self.extents.iter().product()
    }

    #[inline(always)]
    pub fn extent(&self, dimension: usize) -> u32 {
        self.extents[dimension]
    }

    /// Difference in rank between neighbours along a dimension.
    #[inline(always)]
    pub fn distance(&self, dimension: usize) -> u32 {
        [1, self.extents[0], self.extents[0] * self.extents[1]][dimension]
    }

    #[inline(always)]
    pub fn coordinates(&self, rank: Rank) -> [u32; 3] {
        let (z, in_plane) = self.plane.divide(rank);
        let (y, x) = self.row.divide(in_plane);
        [x, y, z]
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.extents;
        write!(f, "{x}x{y}")?;
        if z > 1 { write!(f, "x{z}") } else { Ok(()) }
    }
}

/// The largest divisor not above the square root.
fn root_divisor(number: u32) -> u32 {
    (1..=number.isqrt()).rev().find(|divisor| number.is_multiple_of(*divisor)).unwrap_or(1)
}

/// The smallest extent of the box with this many places and the smallest surface.
fn most_even_depth(places: u32) -> u32 {
    let cube_root = f64::from(places).cbrt() as u32 + 1;
    let surface = |z: u32| {
        let y = u64::from(root_divisor(places / z));
        let (x, z) = (u64::from(places / z) / y, u64::from(z));
        x * y + y * z + z * x
    };
    let depths = (1..=cube_root).filter(|z| places.is_multiple_of(*z));
    depths.min_by_key(|&z| surface(z)).unwrap_or(1)
}

/// Division of 32-bit numbers by a fixed divisor, using multiplication (D. Lemire, O. Kaser and N.
/// Kurz, "Faster remainder by direct computation", 2019). Exact for every numerator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Divisor {
    by: u32,
    /// ⌈2^64 / by⌉, which does not fit for a divisor of 1.
    reciprocal: u64,
}

impl Divisor {
    pub fn new(by: u32) -> Option<Divisor> {
        let quotient = u64::MAX.checked_div(u64::from(by))?;
        Some(Divisor { by, reciprocal: quotient.wrapping_add(1) })
    }

    /// The quotient and the remainder.
    #[inline(always)]
    pub fn divide(&self, number: u32) -> (u32, u32) {
        if self.by == 1 {
            return (number, 0);
        }
        let quotient = ((u128::from(self.reciprocal) * u128::from(number)) >> 64) as u32;
        (quotient, number - quotient * self.by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn even(places: u32, dimensions: u32) -> String {
        Grid::most_even(places, dimensions).unwrap().to_string()
    }

    #[test]
    fn even_grids() {
        assert_eq!([even(128, 2), even(16_000, 2), even(32_768, 2)], ["16x8", "128x125", "256x128"]);
        assert_eq!([even(7, 2), even(1, 2), even(12, 2)], ["7x1", "1x1", "4x3"]);
        assert_eq!([even(125, 3), even(16_000, 3), even(8, 3)], ["5x5x5", "32x25x20", "2x2x2"]);
        assert_eq!([even(2, 3), even(13, 3)], ["2x1", "13x1"]);
        assert_eq!(Grid::most_even(0, 3), None);
        assert_eq!(Grid::new([1 << 16, 1 << 16, 1]), None);
    }

    proptest! {
        #[test]
        fn division_is_exact(number: u32, by in 1u32..) {
            prop_assert_eq!(Divisor::new(by).unwrap().divide(number), (number / by, number % by));
        }

        #[test]
        fn ranks_and_coordinates_agree(x in 1u32..9, y in 1u32..9, z in 1u32..9) {
            let grid = Grid::new([x, y, z]).unwrap();
            for rank in 0..grid.places() {
                let [i, j, k] = grid.coordinates(rank);
                prop_assert!(i < x && j < y && k < z);
                let back = i * grid.distance(0) + j * grid.distance(1) + k * grid.distance(2);
                prop_assert_eq!(back, rank);
            }
        }
    }
}

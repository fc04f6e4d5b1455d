//! Tori and meshes of up to five dimensions, with routes in the order of the dimensions.
//!
//! Router (x, y, z) has the number x + X·(y + Y·z): neighbouring numbers differ in the first dimension. Its name is
//! `r3.0.7`. In a ring of two, one link leads to the other router.

use super::super::divisor::Divisor;
use super::super::hash;

/// The most dimensions.
pub const MOST: usize = 5;

#[derive(Clone, PartialEq, Eq, Debug)]
struct Dimension {
    /// How many routers are in a line.
    size: Divisor,
    /// By how much the numbers of neighbours differ.
    stride: Divisor,
    wraps: bool,
    /// Ports of one direction in a line: all routers have one if the line is a ring, else all but the last.
    in_line: Divisor,
    /// Where the ports forward and backward begin.
    begin: [u64; 2],
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Torus {
    dimensions: Vec<Dimension>,
    routers: u64,
    ports: u64,
}

impl Torus {
    /// Lines of these sizes, which are rings if it `wraps`. None if there are too many dimensions or routers.
    pub fn new(sizes: &[u32], wraps: bool) -> Option<Torus> {
        if sizes.is_empty() || sizes.len() > MOST || sizes.contains(&0) {
            return None;
        }
        let (mut stride, mut ports, mut dimensions) = (1u32, 0u64, Vec::new());
        let routers = sizes.iter().try_fold(1u32, |all, &size| all.checked_mul(size))?;
        for &size in sizes {
            let wraps = wraps && size > 2;
            let in_line = if wraps { size } else { size - 1 };
            let each = u64::from(routers / size) * u64::from(in_line);
            let (size_of, stride_of, in_line) =
                (Divisor::new(size), Divisor::new(stride), Divisor::new(in_line));
            let begin = [ports, ports + each];
            dimensions.push(Dimension { size: size_of, stride: stride_of, wraps, in_line, begin });
            ports += 2 * each;
            stride = stride.saturating_mul(size);
        }
        Some(Torus { dimensions, routers: routers.into(), ports })
    }

    pub fn routers(&self) -> u64 {
        self.routers
    }

    pub fn ports(&self) -> u64 {
        self.ports
    }

    pub fn longest(&self) -> u64 {
        let line = |dimension: &Dimension| match dimension.wraps {
            true => u64::from(dimension.size.get() / 2),
            false => u64::from(dimension.size.get() - 1),
        };
        self.dimensions.iter().map(line).sum()
    }

    /// The first dimension in which the routers differ comes first. Where both directions of a ring are as short, a hash
    /// of the two hosts decides.
    #[inline(always)]
    pub fn next(&self, seed: u64, here: u32, to: u32, pair: u64) -> u32 {
        for (number, dimension) in (0..).zip(&self.dimensions) {
            let (at, wanted) = (dimension.coordinate(here), dimension.coordinate(to));
            if at == wanted {
                continue;
            }
            let ahead = if wanted > at { wanted - at } else { wanted + dimension.size.get() - at };
            let behind = dimension.size.get() - ahead;
            let backward = match dimension.wraps {
                false => wanted < at,
                true if ahead == behind => hash(seed, pair, number) & 1 == 1,
                true => behind < ahead,
            };
            return dimension.port(here, at, backward);
        }
        0
    }

    /// The routers at the ends of a port: from, to.
    #[inline(always)]
    pub fn ends(&self, port: u32) -> (u32, u32) {
        let port = u64::from(port);
        let after = self.dimensions[1..].iter().filter(|dimension| port >= dimension.begin[0]).count();
        let dimension = &self.dimensions[after];
        let backward = port >= dimension.begin[1];
        dimension.ends((port - dimension.begin[usize::from(backward)]) as u32, backward)
    }

    pub fn name(&self, router: u32) -> String {
        let coordinates: Vec<String> =
            self.dimensions.iter().map(|dimension| dimension.coordinate(router).to_string()).collect();
        format!("r{}", coordinates.join("."))
    }

    /// Links across the middle of a dimension, the fewest.
    pub fn bisection(&self) -> u64 {
        let across = |dimension: &Dimension| {
            let lines = self.routers / u64::from(dimension.size.get());
            if dimension.wraps { 2 * lines } else { lines }
        };
        let lines = self.dimensions.iter().filter(|dimension| dimension.size.get() > 1);
        lines.map(across).min().unwrap_or(0)
    }
}

impl Dimension {
    #[inline(always)]
    fn coordinate(&self, router: u32) -> u32 {
        self.size.remainder(self.stride.divide(router))
    }

    #[inline(always)]
    fn port(&self, router: u32, at: u32, backward: bool) -> u32 {
        let begin = self.begin[usize::from(backward)] as u32;
        if self.wraps {
            return begin + router;
        }
        let line = self.size.divide(self.stride.divide(router));
        let place = if backward { at - 1 } else { at };
        begin + (line * self.in_line.get() + place) * self.stride.get() + self.stride.remainder(router)
    }

    #[inline(always)]
    fn ends(&self, port: u32, backward: bool) -> (u32, u32) {
        let rest = self.stride.divide(port);
        let (line, place) = (self.in_line.divide(rest), self.in_line.remainder(rest));
        let size = self.size.get();
        let at = if backward && !self.wraps { place + 1 } else { place };
        let next = match backward {
            true if at == 0 => size - 1,
            true => at - 1,
            false if at + 1 == size => 0,
            false => at + 1,
        };
        let router = |at: u32| (line * size + at) * self.stride.get() + self.stride.remainder(port);
        (router(at), router(next))
    }
}

//! The colours of the page's light theme (`web/report/src/draw/theme.ts`). Series use the Okabe–Ito set
//! ("Color Universal Design", 2008), which people with colour vision deficiency can tell apart, without its
//! vermillion, which is reserved for noise.

use std::fmt;

/// Red, green and blue, without transparency.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Colour(pub u8, pub u8, pub u8);

impl Colour {
    /// A colour as it is usually written: 0xRRGGBB.
    const fn new(hex: u32) -> Colour {
        let [_, red, green, blue] = hex.to_be_bytes();
        Colour(red, green, blue)
    }
}

/// As in SVG: `#rrggbb`.
impl fmt::Display for Colour {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Colour(red, green, blue) = self;
        write!(out, "#{red:02x}{green:02x}{blue:02x}")
    }
}

pub const PAPER: Colour = Colour::new(0xffffff);
pub const TEXT: Colour = Colour::new(0x1c2330);
pub const FAINT: Colour = Colour::new(0x5b6473);
pub const GRID: Colour = Colour::new(0xe9ecf1);
pub const FINE_GRID: Colour = Colour::new(0xf5f6f8);
pub const RULE: Colour = Colour::new(0xaeb6c2);
/// The result without noise, and the result of chance alone.
pub const REFERENCE: Colour = Colour::new(0xc2264b);
/// Series that share a colour.
pub const OTHERS: Colour = Colour::new(0x9aa1ab);
pub const WARNING: Colour = Colour::new(0x8a4b00);

pub const COMPUTATION: Colour = Colour::new(0x9fb8cf);
pub const SEND: Colour = Colour::new(0x0072b2);
pub const RECEIVE: Colour = Colour::new(0x009e73);
pub const WAIT: Colour = Colour::new(0xe6d8a8);
pub const NOISE: Colour = Colour::new(0xd55e00);
pub const OTHER_ACTIVITY: Colour = Colour::new(0xbb5f93);

pub const SERIES: [Colour; 8] = [
    Colour::new(0x0072b2),
    Colour::new(0xe09400),
    Colour::new(0x009e73),
    Colour::new(0xbb5f93),
    Colour::new(0x3d9fd8),
    Colour::new(0x6b5b95),
    Colour::new(0x8a7a00),
    Colour::new(0x4a4f57),
];

/// From small to large, evenly in lightness, so that it also reads in grey.
pub const HEAT: [Colour; 7] = [
    Colour::new(0xf4f6f2),
    Colour::new(0xcfe1d6),
    Colour::new(0x94c5bd),
    Colour::new(0x549fa8),
    Colour::new(0x2b7594),
    Colour::new(0x1f4d7a),
    Colour::new(0x1b2a55),
];

/// Colours repeat after the last; lines are then dashed ([`is_again`]).
pub fn series(index: usize) -> Colour {
    SERIES[index % SERIES.len()]
}

pub fn is_again(index: usize) -> bool {
    index >= SERIES.len()
}

//! The colours of the page's light theme, which are defined in `web/report/src/draw/theme.ts`; a test compares them.
//! Series use the Okabe–Ito set ("Color Universal Design", 2008), which people with colour vision deficiency can tell
//! apart, without its vermillion, which is reserved for noise.

use crate::page::ActivityRole;
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

    /// With a share of another colour.
    fn mixed(self, other: Colour, share: f64) -> Colour {
        let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * share).round() as u8;
        Colour(mix(self.0, other.0), mix(self.1, other.1), mix(self.2, other.2))
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

pub const COMPUTATION: Colour = Colour::new(0xb4c0cf);
pub const COMMUNICATION: Colour = Colour::new(0x56b4e9);
pub const SEND: Colour = Colour::new(0x0072b2);
pub const RECEIVE: Colour = Colour::new(0x009e73);
pub const WAIT: Colour = Colour::new(0xecd06f);
pub const NOISE: Colour = Colour::new(0xd55e00);
pub const OTHER_ACTIVITY: Colour = Colour::new(0xbb5f93);

pub fn role(role: ActivityRole) -> Colour {
    match role {
        ActivityRole::Computation => COMPUTATION,
        ActivityRole::Communication => COMMUNICATION,
        ActivityRole::Send => SEND,
        ActivityRole::Receive => RECEIVE,
        ActivityRole::Noise => NOISE,
        ActivityRole::Wait => WAIT,
        ActivityRole::Other => OTHER_ACTIVITY,
    }
}

/// How far the second, third, … kind of a role lies from its colour: towards the text (positive) or the paper.
const SHADES: [f64; 6] = [0.0, 0.4, -0.45, 0.65, -0.7, 0.8];

/// The colours of kinds of activities: the first of a role has its colour, others are shades of it. Noise has one.
pub fn kinds(roles: impl IntoIterator<Item = ActivityRole>) -> Vec<Colour> {
    let mut seen: Vec<ActivityRole> = Vec::new();
    let colour = |own: ActivityRole| {
        let before = seen.iter().filter(|role| **role == own).count();
        seen.push(own);
        let shade = if own == ActivityRole::Noise { 0.0 } else { SHADES[before % SHADES.len()] };
        role(own).mixed(if shade > 0.0 { TEXT } else { PAPER }, shade.abs())
    };
    roles.into_iter().map(colour).collect()
}

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

#[cfg(test)]
mod tests {
    use super::*;

    /// The page's colours, as the source of the page writes them.
    #[test]
    fn pictures_have_the_colours_of_the_page() {
        let theme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/report/src/draw/theme.ts");
        let theme = std::fs::read_to_string(theme).unwrap();
        let light = theme.split("const DARK").next().unwrap();
        let named = |name: &str, colour: Colour| format!("{name}: \"{colour}\",");
        let list = |name: &str, colours: &[Colour]| {
            let colours: Vec<String> = colours.iter().map(|colour| format!("\"{colour}\"")).collect();
            format!("{name}: [{}],", colours.join(", "))
        };
        let roles = format!(
            "roles: {{ computation: \"{COMPUTATION}\", communication: \"{COMMUNICATION}\", send: \"{SEND}\", receive: \
             \"{RECEIVE}\", wait: \"{WAIT}\", noise: \"{NOISE}\", other: \"{OTHER_ACTIVITY}\" }},"
        );
        let shades = SHADES.map(|shade| shade.to_string()).join(", ");
        for text in [
            named("paper", PAPER),
            named("ink", TEXT),
            named("quiet", FAINT),
            named("grid", GRID),
            named("axis", RULE),
        ] {
            assert!(light.contains(&text), "{text}");
        }
        for text in [
            named("noise", NOISE),
            named("reference", REFERENCE),
            named("others", OTHERS),
            list("series", &SERIES),
            list("heat", &HEAT),
            roles,
        ] {
            assert!(light.contains(&text), "{text}");
        }
        assert!(theme.contains(&format!("const SHADES = [{shades}];")), "{shades}");
    }

    #[test]
    fn kinds_of_one_role_are_shades() {
        use ActivityRole::{Computation, Noise, Wait};
        let colours = kinds([Computation, Wait, Wait, Noise, Noise, Wait]);
        assert_eq!((colours[0], colours[1], colours[3], colours[4]), (COMPUTATION, WAIT, NOISE, NOISE));
        // 0.6 × ecd06f + 0.4 × 1c2330, and 0.55 × ecd06f + 0.45 × ffffff.
        assert_eq!([colours[2], colours[5]].map(|colour| colour.to_string()), ["#998b56", "#f5e5b0"]);
    }
}

//! The colours of the page's light theme (`web/report/src/draw/theme.ts`). Series use the Okabe–Ito set
//! ("Color Universal Design", 2008), which people with colour vision deficiency can tell apart, without its
//! vermillion, which is reserved for noise.

pub const PAPER: &str = "#ffffff";
pub const TEXT: &str = "#1c2330";
pub const FAINT: &str = "#5b6473";
pub const GRID: &str = "#e9ecf1";
pub const FINE_GRID: &str = "#f5f6f8";
pub const RULE: &str = "#aeb6c2";
/// The result without noise, and the result of chance alone.
pub const REFERENCE: &str = "#c2264b";
/// Series that share a colour.
pub const OTHERS: &str = "#9aa1ab";
pub const WARNING: &str = "#8a4b00";

pub const COMPUTATION: &str = "#9fb8cf";
pub const SEND: &str = "#0072b2";
pub const RECEIVE: &str = "#009e73";
pub const WAIT: &str = "#e6d8a8";
pub const NOISE: &str = "#d55e00";
pub const OTHER_ACTIVITY: &str = "#bb5f93";

pub const SERIES: [&str; 8] =
    ["#0072b2", "#e09400", "#009e73", "#bb5f93", "#3d9fd8", "#6b5b95", "#8a7a00", "#4a4f57"];

/// From small to large, evenly in lightness, so that it also reads in grey.
pub const HEAT: [(u8, u8, u8); 7] = [
    (0xf4, 0xf6, 0xf2),
    (0xcf, 0xe1, 0xd6),
    (0x94, 0xc5, 0xbd),
    (0x54, 0x9f, 0xa8),
    (0x2b, 0x75, 0x94),
    (0x1f, 0x4d, 0x7a),
    (0x1b, 0x2a, 0x55),
];

/// Colours repeat after the last; lines are then dashed ([`is_again`]).
pub fn series(index: usize) -> &'static str {
    SERIES[index % SERIES.len()]
}

pub fn is_again(index: usize) -> bool {
    index >= SERIES.len()
}

//! Colours that people who see fewer of them can still tell apart: the set of Okabe and Ito
//! ("Color Universal Design", 2008), its yellow last because it is faint on white.

pub const TEXT: &str = "#1f2933";
pub const FAINT: &str = "#5f6b76";
pub const GRID: &str = "#e4e7eb";
pub const FINE_GRID: &str = "#f3f4f6";
pub const RULE: &str = "#9aa5b1";
pub const TOTAL: &str = "#d5dae0";
/// What is left when the colours are used up.
pub const OTHERS: &str = "#8a8f98";
pub const WARNING: &str = "#b34700";

pub const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#e69f00", "#cc79a7", "#56b4e9", "#000000", "#f0e442"];

pub fn colour(index: usize) -> &'static str {
    COLOURS.get(index).copied().unwrap_or(OTHERS)
}

//! Bars, as the ranking of sources draws them.

use super::unit;
use crate::charts::{Bar, Heading, Ranking};
use crate::page::Bars;

pub fn draw(plot: &Bars, heading: &Heading) -> String {
    let bar = |bar: &crate::page::Bar| Bar {
        name: bar.name.clone(),
        value: bar.value,
        low: bar.low.unwrap_or(f64::NAN),
        high: bar.high.unwrap_or(f64::NAN),
    };
    let bars = plot.bars.iter().map(bar).collect();
    Ranking { bars, what: plot.x.label.clone(), unit: unit(&plot.x) }.draw(heading)
}

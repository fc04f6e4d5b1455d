//! Plots of a page as pictures for papers: what the page draws in a browser, drawn from the same data.

mod bars;
mod boxes;
mod distribution;
mod heat;
mod histogram;
mod lines;
mod marks;
mod scatter;
mod timeline;

use super::axis::{Axis, drawable};
use super::canvas::Drawing;
use super::frame::{Entry, Frame, Mark};
use super::palette::{self, Colour};
use super::{Heading, Picture};
use crate::numbers::counted;
use crate::page::{Chart, Plot, Scale};

impl Chart {
    /// The texts that the chart itself provides.
    pub fn heading(&self) -> Heading {
        Heading {
            title: self.title.clone(),
            subtitle: self.note.clone(),
            footer: self.command.clone(),
            synthetic: self.synthetic,
        }
    }

    pub fn draw(&self, heading: &Heading) -> Picture {
        let drawing = match &self.plot {
            Plot::Boxes(plot) => boxes::draw(plot, heading),
            Plot::Lines(plot) => lines::draw(plot, heading),
            Plot::Distribution(plot) => distribution::draw(plot, heading),
            Plot::Histogram(plot) => histogram::draw(plot, heading),
            Plot::Scatter(plot) => return scatter::draw(plot, heading),
            Plot::Bars(plot) => bars::draw(plot, heading),
            Plot::Heat(plot) => heat::draw(plot, heading),
            Plot::Timeline(plot) => timeline::draw(plot, heading),
        };
        Picture { drawing, dots: None }
    }
}

fn entry(name: &str, colour: Colour, mark: Mark) -> Entry {
    Entry { name: name.into(), detail: String::new(), colour, mark }
}

/// The colours of series, and whether their lines are dashed because colours repeat. A sum of the other series is grey.
fn looks(sums: impl Iterator<Item = bool>) -> Vec<(Colour, bool)> {
    let mut next = 0;
    let look = |is_sum| {
        if is_sum {
            return (palette::OTHERS, false);
        }
        next += 1;
        (palette::series(next - 1), palette::is_again(next - 1))
    };
    sums.map(look).collect()
}

/// Shows a legend only if there is more than one entry.
fn legend(entries: Vec<Entry>) -> Vec<Entry> {
    if entries.len() > 1 { entries } else { Vec::new() }
}

/// Pairs that both axes can show, and the number of those left out.
fn shown(x: &[f64], y: &[f64], (x_scale, y_scale): (Scale, Scale)) -> (Vec<(f64, f64)>, usize) {
    let pairs = x.iter().copied().zip(y.iter().copied());
    let shown: Vec<(f64, f64)> =
        pairs.filter(|&(x, y)| drawable(x, x_scale) && drawable(y, y_scale)).collect();
    let left_out = x.len().max(y.len()) - shown.len();
    (shown, left_out)
}

fn left_out(count: usize, one: &str, many: &str) -> String {
    match count {
        0 => String::new(),
        count => format!("{} omitted", counted(count as u64, one, many)),
    }
}

/// A picture stating that there are no data.
fn empty(heading: &Heading, x: &Axis, y: &Axis) -> Drawing {
    let mut frame = Frame::with_axes(heading, &[], x, y);
    frame.draw_remark("no data");
    frame.finish()
}

#[cfg(test)]
mod agreement;
#[cfg(test)]
mod tests;

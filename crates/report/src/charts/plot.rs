//! Plots of a page as pictures for papers: what the page draws in a browser, drawn here with the same data.

mod bars;
mod boxes;
mod distribution;
mod heat;
mod histogram;
mod lines;
mod scatter;
mod timeline;

use super::axis::{Axis, Scale, drawable};
use super::frame::{Entry, Frame, Mark};
use super::unit::Unit;
use super::{Heading, palette};
use crate::numbers::counted;
use crate::page::{self, Chart, Plot};

impl Chart {
    /// What the chart itself says of its data.
    pub fn heading(&self) -> Heading {
        Heading {
            title: self.title.clone(),
            subtitle: self.note.clone(),
            footer: self.command.clone(),
            synthetic: self.synthetic,
        }
    }

    /// The picture as SVG.
    pub fn draw(&self, heading: &Heading) -> String {
        match &self.plot {
            Plot::Boxes(plot) => boxes::draw(plot, heading),
            Plot::Lines(plot) => lines::draw(plot, heading),
            Plot::Distribution(plot) => distribution::draw(plot, heading),
            Plot::Histogram(plot) => histogram::draw(plot, heading),
            Plot::Scatter(plot) => scatter::draw(plot, heading),
            Plot::Bars(plot) => bars::draw(plot, heading),
            Plot::Heat(plot) => heat::draw(plot, heading),
            Plot::Timeline(plot) => timeline::draw(plot, heading),
        }
    }
}

/// An axis of the page, around all values that it can show.
fn axis(axis: &page::Axis, values: impl IntoIterator<Item = f64>) -> Axis {
    let ends = axis.whole.then_some([0.0, 1.0]).into_iter().flatten();
    let covers = axis.covers.into_iter().flatten();
    Axis::fitting(&axis.label, scale(axis), unit(axis), values.into_iter().chain(ends).chain(covers))
        .with_names(&axis.names)
}

fn scale(axis: &page::Axis) -> Scale {
    match axis.scale {
        page::Scale::Linear => Scale::Linear,
        page::Scale::Log10 => Scale::Decades,
        page::Scale::Log2 => Scale::Doublings,
    }
}

fn unit(axis: &page::Axis) -> Unit {
    match axis.unit {
        page::Unit::None => Unit::Plain,
        // Powers of two read as 1k, 1M.
        page::Unit::Count if axis.scale == page::Scale::Log2 => Unit::Processes,
        page::Unit::Count => Unit::Count,
        page::Unit::Seconds => Unit::Seconds,
        page::Unit::Hertz => Unit::Hertz,
        page::Unit::Bytes => Unit::Bytes,
        page::Unit::BytesPerSecond => Unit::BytesPerSecond,
        page::Unit::Share => Unit::Share,
        page::Unit::Factor => Unit::Times,
    }
}

fn entry(name: &str, colour: &'static str, mark: Mark) -> Entry {
    Entry { name: name.into(), detail: String::new(), colour, mark }
}

/// A legend where there is more than one thing to tell apart.
fn legend(entries: Vec<Entry>) -> Vec<Entry> {
    if entries.len() > 1 { entries } else { Vec::new() }
}

/// Colours from the first on; the ninth is that of all others.
fn colour(index: usize) -> &'static str {
    palette::colour(index)
}

/// Pairs that both axes have a place for, and how many have none.
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
        count => format!("{} cannot be drawn", counted(count as u64, one, many)),
    }
}

/// A picture that says that there is nothing to be seen.
fn empty(heading: &Heading, x: &Axis, y: &Axis) -> String {
    let mut frame = Frame::with_axes(heading, &[], x, y);
    frame.draw_remark("no data");
    frame.finish()
}

#[cfg(test)]
mod tests;

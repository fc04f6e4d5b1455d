//! Reports: the content of a page, as plain data.
//!
//! A [`Page`] has sections, which have tables and charts, and every chart carries the command that made its
//! data. It is stored in a file `NAME.page` ([`Page::to_container`]), or together with its viewer in one HTML
//! file that needs no network ([`Page::to_html`]). `docs/report-format.md` describes the container; the
//! viewer in `web/report` and `page/container.rs` both implement it.
//!
//! The same page gives the same bytes. Data read from a file can be anything: columns of one plot may differ
//! in length and hold values that are not finite, so drawing code uses what fits together.

mod axis;
mod columns;
mod container;
mod html;
mod plot;
mod timeline;

pub use axis::{Axis, Scale, Unit};
pub use container::PageError;
pub use plot::{
    Bar, Bars, BoxSeries, Boxes, Distribution, Heat, Histogram, HistogramSeries, Line, Lines, Mark, Plot,
    PointSeries, Role, Sample, Scatter,
};
pub use timeline::{Activity, ActivityRole, Arrow, Kind, NOBODY, Timeline};

pub use crate::table::{Cell, Column, Table};

use serde::{Deserialize, Serialize};

/// The content of one report.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Page {
    pub title: String,
    /// Sentences with the most important results.
    pub summary: Vec<String>,
    pub facts: Facts,
    /// Why not to rely on the results as they are.
    pub warnings: Vec<String>,
    /// What else to know about them.
    pub notes: Vec<String>,
    pub sections: Vec<Section>,
    /// The pages that this page joins.
    pub parts: Vec<Page>,
}

/// The origin of a report, as pairs of a name and a text.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Facts(pub Vec<(String, String)>);

impl Facts {
    /// What every report states.
    pub fn of_program(version: &str, command: &str) -> Facts {
        let mut facts = Facts::default();
        facts.add("Command", command);
        facts.add("Version", version);
        facts
    }

    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) {
        self.0.push((name.into(), text.into()));
    }
}

/// Texts and blocks under one title.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Section {
    pub title: String,
    /// Paragraphs.
    pub text: Vec<String>,
    pub blocks: Vec<Block>,
}

impl Section {
    pub fn new(title: impl Into<String>) -> Section {
        Section { title: title.into(), ..Section::default() }
    }

    pub fn add(&mut self, block: impl Into<Block>) {
        self.blocks.push(block.into());
    }

    pub fn charts(&self) -> impl Iterator<Item = &Chart> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Chart(chart) => Some(chart),
            Block::Table(_) => None,
        })
    }
}

impl Page {
    /// This page, and the pages that it joins.
    pub fn bodies(&self) -> Vec<&Page> {
        std::iter::once(self).chain(self.parts.iter().flat_map(Page::bodies)).collect()
    }

    /// All charts, in display order.
    pub fn charts(&self) -> impl Iterator<Item = &Chart> {
        self.bodies().into_iter().flat_map(|page| page.sections.iter().flat_map(Section::charts))
    }
}

/// A table or a chart.
#[derive(Clone, PartialEq, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "a page has few blocks, and boxes would be in the way of its makers"
)]
pub enum Block {
    Table(Table),
    Chart(Chart),
}

impl From<Table> for Block {
    fn from(table: Table) -> Block {
        Block::Table(table.for_page())
    }
}

impl From<Chart> for Block {
    fn from(chart: Chart) -> Block {
        Block::Chart(chart)
    }
}

/// A plot with its title, note and command.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Chart<P = Plot> {
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub note: String,
    /// The command that made the data, ready to be pasted.
    #[serde(default)]
    pub command: String,
    /// Whether the data were drawn from a description, not measured.
    #[serde(default)]
    pub synthetic: bool,
    pub plot: P,
}

impl Chart {
    pub fn new(title: impl Into<String>, command: impl Into<String>, plot: impl Into<Plot>) -> Chart {
        let (title, command, plot) = (title.into(), command.into(), plot.into());
        Chart { title, note: String::new(), command, synthetic: false, plot }
    }

    pub fn with_note(mut self, note: impl Into<String>) -> Chart {
        self.note = note.into();
        self
    }

    pub fn synthetic(mut self, synthetic: bool) -> Chart {
        self.synthetic = synthetic;
        self
    }
}

#[cfg(test)]
pub(crate) mod tests;

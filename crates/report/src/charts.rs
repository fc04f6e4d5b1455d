//! Charts for papers and people: the [plots](crate::page::Plot) of a page, drawn without a browser. Takes
//! plain data and writes SVG, or PNG or PDF on request.
//!
//! A chart takes numbers computed elsewhere and a [`Heading`]. Drawing never fails: values that are not
//! finite are left out and counted in the subtitle, and a chart without data says so. The same data give the
//! same bytes. [`save`] writes SVG, PNG or PDF, depending on the file name.
//!
//! Axis ranges, ticks and labels match those of the page: `plot/agreement.rs` and
//! `web/report/tests/agreement.unit.ts` compare both with the same numbers.
//!
//! A chart is recorded as a list of shapes (`canvas.rs`), and each format draws the list: `svg.rs`, `png.rs`,
//! `pdf.rs`. PNG and PDF use the bundled font (`font.rs`). SVG is written directly: a drawing library that makes
//! every dot an element and rounds to whole pixels produces files ten times as large and stepped curves.

mod axis;
mod canvas;
mod font;
mod frame;
mod labels;
mod number;
mod palette;
mod path;
mod pdf;
mod plot;
mod png;
mod reduced;
mod save;
mod svg;
mod text;
mod thinning;
mod zlib;

use canvas::Drawing;
pub use png::PngError;
pub use save::{ImageFormat, SaveError, save};
pub(crate) use text::escaped;

/// The text around a chart.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Heading {
    /// What the chart shows; wrapped, and set smaller if it is long.
    pub title: String,
    /// Where it was measured or what was assumed; wrapped as well.
    pub subtitle: String,
    /// Where the data come from: the command, the version, the file.
    pub footer: String,
    /// Whether the data were drawn from a description, not measured; the chart is then labelled.
    pub synthetic: bool,
}

impl Heading {
    /// Adds a remark about the data, on a line of its own.
    fn with_remark(&self, remark: &str) -> Heading {
        let parts = [self.subtitle.as_str(), remark];
        let subtitle = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
        Heading { subtitle, ..self.clone() }
    }
}

/// A chart as it was drawn.
#[derive(Clone, PartialEq, Debug)]
pub struct Picture {
    drawing: Drawing,
    /// For a scatter, the number of dots drawn for all of its points.
    pub dots: Option<usize>,
}

impl Picture {
    /// The text of an SVG file.
    pub fn svg(&self) -> String {
        svg::to_svg(&self.drawing)
    }

    /// The bytes of a PNG file, at twice the nominal size.
    pub fn png(&self) -> Result<Vec<u8>, PngError> {
        png::to_png(&self.drawing)
    }

    /// The bytes of a PDF file of one page.
    pub fn pdf(&self) -> Vec<u8> {
        pdf::to_pdf(&self.drawing)
    }
}

#[cfg(test)]
mod tests;

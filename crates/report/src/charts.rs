//! Pictures for papers and people: the [plots](crate::page::Plot) of a page, drawn without a browser. Plain data in,
//! SVG text out, PNG or PDF on request.
//!
//! A chart takes numbers computed elsewhere and a [`Heading`], and draws them without failing,
//! whatever they are: what is not finite is left out and counted in the subtitle, and a chart without data
//! says so. The same data give the same bytes. [`save`] writes SVG, PNG or PDF, by the name of the file.
//!
//! What an axis spans, its ticks and their labels are those of the page: `plot/agreement.rs` and
//! `web/report/tests/agreement.unit.ts` hold both against the same numbers.
//!
//! SVG is written directly (`canvas.rs`). A drawing library that puts every dot into an element of its own
//! and rounds to whole pixels makes files ten times as large and curves with steps.

mod axis;
mod canvas;
mod frame;
mod labels;
mod number;
mod palette;
mod pdf;
mod plot;
mod png;
mod reduced;
mod save;
mod text;
mod thinning;

pub use pdf::{PdfError, to_pdf};
pub use png::{PngError, to_png};
pub use save::{ImageFormat, SaveError, save};
pub(crate) use text::escaped;

/// What stands around a chart.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Heading {
    /// What is to be seen; wrapped, and in smaller letters where it is long.
    pub title: String,
    /// Where it was measured or what was assumed; wrapped likewise.
    pub subtitle: String,
    /// Where the data come from: the command, the version, the file.
    pub footer: String,
    /// The data were drawn from a description, not measured; the chart is labelled so.
    pub synthetic: bool,
}

impl Heading {
    /// The same with something more to say about the data, on a line of its own.
    fn with_remark(&self, remark: &str) -> Heading {
        let parts = [self.subtitle.as_str(), remark];
        let subtitle = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
        Heading { subtitle, ..self.clone() }
    }
}

/// A chart as it was drawn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Picture {
    pub svg: String,
    /// Of a scatter: dots that stand for all of its points.
    pub dots: Option<usize>,
}

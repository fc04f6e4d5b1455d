//! Pictures for papers and people: plain data in, SVG text out, PNG or PDF where somebody asks for it.
//!
//! - [`Scatter`]: when detours came and how long they were, coloured by source;
//! - [`Histogram`]: how many detours there are of which length;
//! - [`Spectrum`]: which frequencies are in the noise, the peaks named;
//! - [`SlowdownCurves`]: what noise costs by the number of processes, with intervals;
//! - [`Ranking`]: what the removal of each source gives;
//! - every [`Plot`](crate::page::Plot) of a page: box plots, lines, distributions, heat maps, timelines.
//!
//! A chart takes numbers that somebody else computed and a [`Heading`], and draws them without failing,
//! whatever they are: what is not finite is left out and counted in the subtitle, and a chart without data
//! says so. The same data give the same bytes. [`save`] writes SVG, PNG or PDF, by the name of the file.
//!
//! SVG is written directly (`canvas.rs`). A drawing library that puts every dot into an element of its own
//! and rounds to whole pixels makes files ten times as large and curves with steps.

mod axis;
mod canvas;
mod frame;
mod histogram;
mod lines;
mod palette;
mod pdf;
mod plot;
mod png;
mod ranking;
mod recording;
mod save;
mod scatter;
mod slowdown;
mod spectrum;
mod text;
mod unit;

pub use histogram::{Histogram, LengthSeries};
pub use pdf::{PdfError, to_pdf};
pub use png::{PngError, to_png};
pub use ranking::{Bar, Ranking};
pub use save::{ImageFormat, SaveError, save};
pub use scatter::{PointSeries, Scatter, ScatterPicture};
pub use slowdown::{Curve, CurvePoint, SlowdownCurves, ValueScale};
pub use spectrum::{Peak, Spectrum};
pub(crate) use text::escaped;
pub use unit::Unit;

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

/// Names beyond the number of colours share one: the indices of those that get their own, the most
/// important first.
fn with_own_colours(importance: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..importance.len()).collect();
    order.sort_by(|&a, &b| importance[b].total_cmp(&importance[a]).then(a.cmp(&b)));
    if order.len() > palette::COLOURS.len() {
        order.truncate(palette::COLOURS.len() - 1);
    }
    order
}

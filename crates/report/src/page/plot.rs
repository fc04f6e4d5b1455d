//! The kinds of plots. `F` is a column of numbers: the numbers themselves, or in a container's header the
//! number of a column.

use super::axis::Axis;
use super::timeline::{ActivityRole, Timeline};
use serde::{Deserialize, Serialize};

/// The data of a chart.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Plot<F = Vec<f64>, U = Vec<u32>, B = Vec<u8>> {
    Boxes(Boxes<F>),
    Lines(Lines<F>),
    Distribution(Distribution<F>),
    Histogram(Histogram<F>),
    Scatter(Scatter<F>),
    Bars(Bars),
    Heat(Heat<F>),
    Timeline(Timeline<F, U, B>),
}

/// The plot types known to this version, as named in the header.
pub(super) const TYPES: [&str; 8] =
    ["boxes", "lines", "distribution", "histogram", "scatter", "bars", "heat", "timeline"];

macro_rules! becomes_plot {
    ($($kind:ident),*) => {
        $(impl From<$kind> for Plot {
            fn from(plot: $kind) -> Plot {
                Plot::$kind(plot)
            }
        })*
    };
}
becomes_plot!(Boxes, Lines, Distribution, Histogram, Scatter, Bars, Heat, Timeline);

/// Box plots, one for each entry of `x` in each series.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Boxes<F = Vec<f64>> {
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<BoxSeries<F>>,
}

/// A series of box plots, one at each x.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct BoxSeries<F = Vec<f64>> {
    pub name: String,
    pub x: F,
    /// Ends of the whiskers.
    pub low: F,
    pub q1: F,
    pub median: F,
    pub q3: F,
    pub high: F,
    /// Number of values in each box.
    pub count: F,
    /// Confidence interval of the median.
    pub median_low: F,
    pub median_high: F,
    /// Values beyond the whiskers.
    pub outlier_x: F,
    pub outlier_y: F,
    /// Value without noise, one entry per box.
    pub reference: Option<F>,
}

/// Curves, with a band where they have an interval.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Lines<F = Vec<f64>> {
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Line<F>>,
    #[serde(default)]
    pub marks: Vec<Mark>,
}

/// A line, with its range if `low` and `high` are given.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Line<F = Vec<f64>> {
    pub name: String,
    pub role: Role,
    pub x: F,
    pub y: F,
    pub low: Option<F>,
    pub high: Option<F>,
}

/// The origin of the numbers. Published values are drawn as marks, not as a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    #[default]
    Simulated,
    Measured,
    Published,
    Reference,
}

/// A named straight line, vertical at an `x` or horizontal at a `y`; with both, a dot.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Mark {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y: Option<f64>,
    pub name: String,
}

/// Empirical distributions.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Distribution<F = Vec<f64>> {
    pub x: Axis,
    pub series: Vec<Sample<F>>,
    /// Single values to compare with, such as the time without noise: only their `x` and name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
}

/// The values whose distribution is drawn.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Sample<F = Vec<f64>> {
    pub name: String,
    /// Ascending.
    pub values: F,
    /// Whether it holds the values of all other series; it is then drawn in grey.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sum: bool,
}

/// Counts in bins.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Histogram<F = Vec<f64>> {
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<HistogramSeries<F>>,
}

/// The bins of one series and their counts.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct HistogramSeries<F = Vec<f64>> {
    pub name: String,
    /// Ascending, one longer than `counts`.
    pub edges: F,
    pub counts: F,
    /// Whether it counts what all other series count; it is then drawn in grey.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sum: bool,
}

/// Dots. Of more than eight series, those after the seventh share a colour: important ones come first.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Scatter<F = Vec<f64>> {
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<PointSeries<F>>,
}

/// Points of one colour.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct PointSeries<F = Vec<f64>> {
    pub name: String,
    pub x: F,
    pub y: F,
}

/// Bars from top to bottom.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Bars {
    pub x: Axis,
    pub bars: Vec<Bar>,
}

/// One bar of a bar chart.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Bar {
    pub name: String,
    #[serde(with = "finite")]
    pub value: f64,
    #[serde(default)]
    pub low: Option<f64>,
    #[serde(default)]
    pub high: Option<f64>,
    #[serde(default)]
    pub note: String,
    /// What the bar measures, which determines its colour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<ActivityRole>,
}

/// Values over two axes: all `xs` of the first of `ys`, then of the second, and so on.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Heat<F = Vec<f64>> {
    pub x: Axis,
    pub y: Axis,
    pub value: Axis,
    pub xs: F,
    pub ys: F,
    pub values: F,
}

/// Values that are not finite, which JSON cannot represent, are written as null and read as NaN.
mod finite {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        match value.is_finite() {
            true => serializer.serialize_f64(*value),
            false => serializer.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::NAN))
    }
}

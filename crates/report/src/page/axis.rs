//! Axes of plots: their unit and scale.

use serde::{Deserialize, Serialize};

/// One axis.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Axis {
    pub label: String,
    pub unit: Unit,
    pub scale: Scale,
    /// Always shows the range from 0 to 1, for shares of a whole.
    pub whole: bool,
    /// A range that is always covered: the whole time of a scatter, or the colours of a heat map, so that
    /// small differences do not look large.
    pub covers: Option<[f64; 2]>,
    /// Labels for positions 0, 1, 2, …; a position with an empty name has no label.
    pub names: Vec<String>,
}

impl Axis {
    pub fn new(label: impl Into<String>, unit: Unit, scale: Scale) -> Axis {
        Axis { label: label.into(), unit, scale, whole: false, covers: None, names: Vec::new() }
    }

    pub fn linear(label: impl Into<String>, unit: Unit) -> Axis {
        Axis::new(label, unit, Scale::Linear)
    }

    /// Shares of one whole, from 0 to 100 %.
    pub fn whole(label: impl Into<String>) -> Axis {
        Axis { whole: true, ..Axis::linear(label, Unit::Share) }
    }

    /// Makes the axis cover at least these values.
    pub fn covering(self, low: f64, high: f64) -> Axis {
        Axis { covers: Some([low, high]), ..self }
    }

    /// Names at even distances.
    pub fn named(label: impl Into<String>, names: Vec<String>) -> Axis {
        Axis { names, ..Axis::linear(label, Unit::Count) }
    }

    /// Slowdowns T/T0 − 1.
    pub fn slowdown(scale: Scale) -> Axis {
        Axis::new("slowdown", Unit::Slowdown, scale)
    }

    /// Process counts, in powers of two.
    pub fn processes() -> Axis {
        Axis::new("processes", Unit::Count, Scale::Log2)
    }
}

/// How values are laid out along an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Scale {
    #[default]
    Linear,
    Log10,
    Log2,
}

impl Scale {
    /// Logarithmic if slowdowns differ widely and all are positive.
    pub fn of_slowdowns(values: impl Iterator<Item = f64>) -> Scale {
        let (least, most) =
            values.fold((f64::INFINITY, 0.0), |(least, most), value| (value.min(least), value.max(most)));
        if least > 0.0 && most > 20.0 * least { Scale::Log10 } else { Scale::Linear }
    }
}

/// The unit of the numbers, which determines how they are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    #[default]
    None,
    Count,
    Seconds,
    Hertz,
    Bytes,
    #[serde(rename = "bytes per second")]
    BytesPerSecond,
    /// 0.1 is shown as 10 %.
    Share,
    /// A slowdown T/T0 − 1. 0.1 is shown as +10 %, and from twice the time on as the factor T/T0: 12 is 13×.
    Slowdown,
    /// 2.5 is shown as 2.5×.
    Factor,
}

/// The form in the header.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Written {
    label: String,
    unit: Unit,
    log: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<f64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    whole: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    covers: Option<[f64; 2]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
}

impl From<Axis> for Written {
    fn from(axis: Axis) -> Written {
        let base = (axis.scale == Scale::Log2).then_some(2.0);
        let Axis { label, unit, scale, whole, covers, names } = axis;
        Written { label, unit, log: scale != Scale::Linear, base, whole, covers, names }
    }
}

impl From<Written> for Axis {
    fn from(written: Written) -> Axis {
        let scale = match (written.log, written.base) {
            (false, _) => Scale::Linear,
            (true, Some(2.0)) => Scale::Log2,
            (true, _) => Scale::Log10,
        };
        let Written { label, unit, whole, covers, names, .. } = written;
        Axis { label, unit, scale, whole, covers, names }
    }
}

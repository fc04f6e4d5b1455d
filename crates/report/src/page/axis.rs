//! Axes of plots: what they measure and how they are scaled.

use serde::{Deserialize, Serialize};

/// One axis.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Axis {
    pub label: String,
    pub unit: Unit,
    pub scale: Scale,
    /// Shows everything from 0 to 1, whatever the data: shares of one whole.
    pub whole: bool,
    /// Covers at least this: all of the time of a scatter, or of the colours of a heat map, so that small differences do
    /// not look large.
    pub covers: Option<[f64; 2]>,
    /// What stands at 0, 1, 2, … instead of these numbers; nothing where a name is empty.
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

    /// Covers at least these values.
    pub fn covering(self, low: f64, high: f64) -> Axis {
        Axis { covers: Some([low, high]), ..self }
    }

    /// Names at even distances.
    pub fn named(label: impl Into<String>, names: Vec<String>) -> Axis {
        Axis { names, ..Axis::linear(label, Unit::Count) }
    }

    /// Numbers of processes, in powers of two.
    pub fn processes() -> Axis {
        Axis::new("processes", Unit::Count, Scale::Log2)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Scale {
    #[default]
    Linear,
    Log10,
    Log2,
}

/// What the numbers are, which decides how they are written.
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
    /// 2.5 is shown as 2.5×.
    Factor,
}

/// As the header has it.
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

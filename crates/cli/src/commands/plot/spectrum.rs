//! The spectrum as the analysis finds it, in the form in which it is drawn.

use straggler_analysis::noise::spectrum::{Line, Point, Spectrum};
use straggler_model::noise::Recording;
use straggler_report::charts::{self, Peak, Unit};

pub fn chart(recording: &Recording) -> charts::Spectrum {
    let found = Spectrum::of(recording);
    charts::Spectrum {
        points: found.curve.iter().map(|point| (point.frequency_hz, point.share)).collect(),
        floor: found.curve.iter().map(|point| (point.frequency_hz, point.floor)).collect(),
        peaks: found.lines.iter().filter_map(|line| peak(line, &found.curve)).collect(),
        amplitude: "share of time lost in step with it".into(),
        unit: Unit::Share,
    }
}

/// A line sits on the curve, whose points are the largest of their neighbourhoods.
fn peak(line: &Line, curve: &[Point]) -> Option<Peak> {
    let distance = |point: &Point| (point.frequency_hz / line.frequency_hz).ln().abs();
    let nearest = curve.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    let name = if line.steady { String::new() } else { "(drifts)".into() };
    Some(Peak { frequency: line.frequency_hz, amplitude: nearest.share, name })
}

//! What series are called: by what sets them apart.

use std::collections::HashMap;
use straggler_analysis::study::{Coordinates, Series};
use straggler_model::units::write_bytes;

/// The parts of a name, in their order; empty ones say nothing.
fn parts(at: &Coordinates) -> [String; 8] {
    [
        at.sweep.clone(),
        at.workload.clone(),
        at.size.map_or_else(String::new, write_bytes),
        format!("network {}", at.network),
        if at.network_scale == 1.0 { String::new() } else { format!("{} times as fast", at.network_scale) },
        format!("noise {}", at.noise),
        if at.cosched { "co-scheduled".into() } else { String::new() },
        format!("seed {}", at.seed),
    ]
}

/// A name for each series: whatever is not the same in all of them.
pub fn labels(all: &[Series]) -> Vec<String> {
    let all: Vec<[String; 8]> = all.iter().filter_map(Series::coordinates).map(parts).collect();
    let varies: [bool; 8] = std::array::from_fn(|place| {
        all.iter().any(|one| all.first().is_some_and(|first| first[place] != one[place]))
    });
    let mut series_of: HashMap<&str, usize> = HashMap::new();
    all.iter().for_each(|one| *series_of.entry(one[0].as_str()).or_default() += 1);
    // A sweep that has a name and one series needs no other.
    let named = |one: &[String; 8]| !one[0].is_empty() && series_of.get(one[0].as_str()) == Some(&1);
    let label = |one: &[String; 8]| {
        if named(one) {
            return one[0].clone();
        }
        let told = one.iter().enumerate().filter(|(place, text)| varies[*place] && !text.is_empty());
        let text = told.map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(", ");
        if text.is_empty() { one[1].clone() } else { text }
    };
    all.iter().map(label).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::Time;
    use straggler_model::study::{PointResult, Results};

    fn names(places: &[(&str, &str, bool)]) -> Vec<String> {
        let point = |&(sweep, workload, cosched): &(&str, &str, bool)| PointResult {
            point: Coordinates {
                sweep: sweep.into(),
                workload: workload.into(),
                size: Some(8),
                network: "chic".into(),
                network_scale: 1.0,
                noise: "chic".into(),
                cosched,
                seed: 1,
                processes: 4,
            },
            quiet: Time(1),
            makespans: vec![Time(2)],
        };
        let results = Results { points: places.iter().map(point).collect() };
        labels(&straggler_analysis::study::series(&results, 0.1))
    }

    #[test]
    fn by_what_differs() {
        assert_eq!(names(&[("", "barrier", false)]), ["barrier"]);
        assert_eq!(names(&[("A", "barrier", false), ("B", "bcast", true)]), ["A", "B"]);
        assert_eq!(
            names(&[
                ("", "barrier", false),
                ("", "barrier", true),
                ("", "bcast", false),
                ("", "bcast", true)
            ]),
            ["barrier", "barrier, co-scheduled", "bcast", "bcast, co-scheduled"]
        );
    }
}

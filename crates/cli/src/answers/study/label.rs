//! Names of series: the parts in which they differ.

use straggler_analysis::study::{Coordinates, Series};
use straggler_model::units::write_bytes;

/// The parts of a name, in order; some may be empty.
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

/// A name for each series: the parts in which they differ.
pub fn labels(all: &[Series]) -> Vec<String> {
    let all: Vec<[String; 8]> = all.iter().filter_map(Series::coordinates).map(parts).collect();
    let varies: [bool; 8] = std::array::from_fn(|place| {
        all.iter().any(|one| all.first().is_some_and(|first| first[place] != one[place]))
    });
    let label = |one: &[String; 8]| {
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

    fn place(sweep: &str, workload: &str, machine: &str, cosched: bool) -> Coordinates {
        Coordinates {
            sweep: sweep.into(),
            workload: workload.into(),
            size: Some(8),
            network: machine.into(),
            network_scale: 1.0,
            noise: machine.into(),
            cosched,
            seed: 1,
            processes: 4,
        }
    }

    fn names_at(places: Vec<Coordinates>) -> Vec<String> {
        let point = |point| PointResult { point, quiet: Time(1), makespans: vec![Time(2)] };
        let results = Results { points: places.into_iter().map(point).collect() };
        labels(&straggler_analysis::study::series(&results, 0.1))
    }

    fn names(places: &[(&str, &str, bool)]) -> Vec<String> {
        names_at(
            places
                .iter()
                .map(|&(sweep, workload, cosched)| place(sweep, workload, "chic", cosched))
                .collect(),
        )
    }

    #[test]
    fn the_top_level_and_a_sweep_tell_their_machines() {
        let names =
            names_at(vec![place("", "barrier", "chic", false), place("Altix", "barrier", "altix", false)]);
        assert_eq!(names, ["network chic, noise chic", "Altix, network altix, noise altix"]);
    }

    #[test]
    fn by_what_differs() {
        assert_eq!(names(&[("", "barrier", false)]), ["barrier"]);
        assert_eq!(
            names(&[("A", "barrier", false), ("B", "bcast", true)]),
            ["A, barrier", "B, bcast, co-scheduled"]
        );
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

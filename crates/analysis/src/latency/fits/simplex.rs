//! Minimises a function of a few variables without derivatives: the Nelder–Mead simplex method.

const MOST_STEPS: usize = 600;
/// The search ends when the values at the corners of the simplex differ by less than this.
const CLOSE: f64 = 1e-7;

/// A local minimum near `start`, and its value. Values that are not finite count as very large.
pub fn minimise(start: &[f64], step: f64, function: impl Fn(&[f64]) -> f64) -> (Vec<f64>, f64) {
    let value = |point: &[f64]| Some(function(point)).filter(|value| value.is_finite()).unwrap_or(f64::MAX);
    let corner = |index: usize| {
        let mut point = start.to_vec();
        if let Some(moved) = index.checked_sub(1) {
            point[moved] += step;
        }
        let value = value(&point);
        (point, value)
    };
    let mut simplex: Vec<(Vec<f64>, f64)> = (0..=start.len()).map(corner).collect();
    for _ in 0..MOST_STEPS {
        simplex.sort_by(|a, b| a.1.total_cmp(&b.1));
        let last = simplex.len() - 1;
        if (simplex[last].1 - simplex[0].1).abs() < CLOSE {
            break;
        }
        let centre = centre(&simplex[..last]);
        let towards = |share: f64| {
            let worst = &simplex[last].0;
            let point: Vec<f64> = centre.iter().zip(worst).map(|(c, w)| c + share * (w - c)).collect();
            let value = value(&point);
            (point, value)
        };
        let mirrored = towards(-1.0);
        let next = if mirrored.1 < simplex[0].1 {
            let further = towards(-2.0);
            if further.1 < mirrored.1 { further } else { mirrored }
        } else if mirrored.1 < simplex[last - 1].1 {
            mirrored
        } else {
            towards(if mirrored.1 < simplex[last].1 { -0.5 } else { 0.5 })
        };
        if next.1 < simplex[last].1 {
            simplex[last] = next;
        } else {
            shrink(&mut simplex, value);
        }
    }
    simplex.into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default()
}

fn centre(points: &[(Vec<f64>, f64)]) -> Vec<f64> {
    let mut sum = vec![0.0; points.first().map_or(0, |point| point.0.len())];
    for (point, _) in points {
        sum.iter_mut().zip(point).for_each(|(sum, part)| *sum += part / points.len() as f64);
    }
    sum
}

/// Moves every corner halfway to the best one.
fn shrink(simplex: &mut [(Vec<f64>, f64)], value: impl Fn(&[f64]) -> f64) {
    let (best, others) = simplex.split_at_mut(1);
    for (point, old) in others {
        point.iter_mut().zip(&best[0].0).for_each(|(part, best)| *part = (*part + best) / 2.0);
        *old = value(point);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosenbrock's function, with its minimum at (1, 1).
    #[test]
    fn a_curved_valley() {
        let valley = |point: &[f64]| (1.0 - point[0]).powi(2) + 100.0 * (point[1] - point[0].powi(2)).powi(2);
        let (found, value) = minimise(&[-1.2, 1.0], 0.5, valley);
        assert!(value < 1e-5 && (found[0] - 1.0).abs() < 1e-2 && (found[1] - 1.0).abs() < 2e-2, "{found:?}");
        assert_eq!(minimise(&[1.0], 0.1, |_| f64::NAN).1, f64::MAX);
    }
}

//! Fits lines to the times of messages, for `predict --fit` and for the measurement of LogGP.
//!
//! [`least_squares`] solves weighted equations in two unknowns; both use it. The equations of `predict --fit`
//! describe whole programs, not points of a line, so the rest is only for LogGP. [`robust_line`] finds the points on
//! a line by the weighted median of all slopes (Theil–Sen), drops the others, and fits the rest by least squares.
//! [`segments`] cuts points into as many lines as their errors justify.

use straggler_model::stats::robust::MAD_TO_SIGMA;

/// The equation `first`·x + `second`·y = `value`, and its weight.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Equation {
    pub weight: f64,
    pub first: f64,
    pub second: f64,
    pub value: f64,
}

/// If 1 − cos² of the angle between the two columns is below this, the equations are too similar to separate x from
/// y.
const ALIKE: f64 = 0.01;

/// The x and y with the least weighted sum of squared errors; none if the equations are too similar or too few.
pub fn least_squares(equations: impl IntoIterator<Item = Equation>) -> Option<(f64, f64)> {
    let [mut aa, mut ab, mut bb, mut ay, mut by] = [0.0; 5];
    for Equation { weight, first: a, second: b, value: y } in equations {
        aa += weight * a * a;
        ab += weight * a * b;
        bb += weight * b * b;
        ay += weight * a * y;
        by += weight * b * y;
    }
    let determinant = aa * bb - ab * ab;
    let solved = || ((ay * bb - by * ab) / determinant, (by * aa - ay * ab) / determinant);
    (determinant > ALIKE * aa * bb).then(solved)
}

/// A value y at x, with the error of y.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    pub error: f64,
}

/// A fitted line: y = `at_zero` + `slope` · x.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Line {
    pub at_zero: f64,
    pub slope: f64,
}

impl Line {
    pub fn at(&self, x: f64) -> f64 {
        self.at_zero + self.slope * x
    }

    /// The distance of a point from the line, in errors of the point.
    fn miss(&self, point: &Point) -> f64 {
        (point.y - self.at(point.x)).abs() / point.error
    }
}

/// A point this many times as far off as usual is an outlier.
const OUTLIER: f64 = 3.0;

/// The line through most of the points, ignoring outliers. None if there are fewer than three values of x.
pub fn robust_line(points: &[Point]) -> Option<Line> {
    let through = median_line(points)?;
    let mut misses: Vec<f64> = points.iter().map(|point| through.miss(point)).collect();
    misses.sort_unstable_by(f64::total_cmp);
    // If errors are given too small, half of the points must not become outliers.
    let usual = (MAD_TO_SIGMA * misses[misses.len() / 2]).max(1.0);
    let kept = points.iter().filter(|point| through.miss(point) <= OUTLIER * usual);
    let refined = least_squares(kept.map(|point| Equation {
        weight: point.error.powi(-2),
        first: 1.0,
        second: point.x,
        value: point.y,
    }));
    Some(refined.map_or(through, |(at_zero, slope)| Line { at_zero, slope }))
}

/// The line whose slope is the median of the slopes between two points, each weighted by its precision.
fn median_line(points: &[Point]) -> Option<Line> {
    let mut slopes = Vec::with_capacity(points.len() * points.len() / 2);
    for (index, one) in points.iter().enumerate() {
        for other in &points[index + 1..] {
            let apart = other.x - one.x;
            if apart != 0.0 {
                slopes.push(((other.y - one.y) / apart, apart.abs() / (one.error + other.error)));
            }
        }
    }
    if slopes.len() < 3 {
        return None;
    }
    let slope = weighted_median(&mut slopes);
    let mut heights: Vec<(f64, f64)> =
        points.iter().map(|point| (point.y - slope * point.x, 1.0 / point.error)).collect();
    Some(Line { at_zero: weighted_median(&mut heights), slope })
}

/// The smallest value with at least half of the weight at or below it; 0 for no values.
fn weighted_median(values: &mut [(f64, f64)]) -> f64 {
    values.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let half = values.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut below = 0.0;
    let reached = values.iter().find(|(_, weight)| {
        below += weight;
        below >= half
    });
    reached.or(values.last()).map_or(0.0, |(value, _)| *value)
}

/// The fewest points of a line: the two that define it, one that confirms it, and one that may be an outlier.
pub const LEAST: usize = 4;

/// A single point costs at most this much, so an outlier does not become its own line.
const WORST: f64 = 8.0;

/// Cuts points, sorted by x, into pieces that each lie on a line. An additional line must pay for its three
/// parameters (height, slope, and start): it is kept only if the sum of misses falls by 3·ln n. That is the Bayesian
/// information criterion for errors with a Laplace distribution, doubled for caution.
pub fn segments(points: &[Point]) -> Vec<std::ops::Range<usize>> {
    let count = points.len();
    if count < 2 * LEAST {
        return (count > 0).then_some(0..count).into_iter().collect();
    }
    let penalty = 3.0 * (count as f64).ln();
    // The best way to cut the first `end` points: its cost, and the start of its last piece.
    let mut best = vec![(f64::INFINITY, 0); count + 1];
    best[0].0 = 0.0;
    for end in LEAST..=count {
        for start in (0..=end - LEAST).filter(|&start| start == 0 || start >= LEAST) {
            let total = best[start].0 + cost(&points[start..end]) + penalty;
            if total < best[end].0 {
                best[end] = (total, start);
            }
        }
    }
    let mut pieces = Vec::new();
    let mut end = count;
    while end > 0 {
        let start = best[end].1;
        pieces.push(start..end);
        end = start;
    }
    pieces.reverse();
    pieces
}

fn cost(points: &[Point]) -> f64 {
    match robust_line(points) {
        Some(line) => points.iter().map(|point| line.miss(point).min(WORST)).sum(),
        None => WORST * points.len() as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn points(of: impl Fn(f64) -> f64) -> Vec<Point> {
        let x = (0..20).map(|step| f64::from(1u32 << step) - 1.0);
        x.map(|x| Point { x, y: of(x), error: 0.005 * of(x) }).collect()
    }

    /// The ends of the pieces, each of which begins where the previous one ended.
    fn ends(points: &[Point]) -> Vec<usize> {
        let pieces = segments(points);
        assert!(pieces.windows(2).all(|pair| pair[0].end == pair[1].start));
        pieces.iter().map(|piece| piece.end).collect()
    }

    /// x + y = 3, x + 2y = 4, 2x + y = 5 are all solved by (2, 1), whatever the weights.
    #[test]
    fn equations_that_agree() {
        let equation = |weight, first, second, value| Equation { weight, first, second, value };
        let given =
            [equation(1.0, 1.0, 1.0, 3.0), equation(5.0, 1.0, 2.0, 4.0), equation(0.5, 2.0, 1.0, 5.0)];
        let (x, y) = least_squares(given).unwrap();
        assert!((x - 2.0).abs() < 1e-9 && (y - 1.0).abs() < 1e-9, "{x} {y}");
        assert_eq!(least_squares([equation(1.0, 1.0, 2.0, 3.0), equation(1.0, 2.0, 4.0, 6.0)]), None);
        assert_eq!(least_squares([]), None);
    }

    #[test]
    fn a_third_of_the_points_may_be_anything() {
        let mut given = points(|x| 5_000.0 + 0.25 * x);
        for (index, point) in given.iter_mut().enumerate().filter(|(index, _)| index % 3 == 1) {
            point.y *= 1.5 + index as f64;
        }
        let line = robust_line(&given).unwrap();
        assert!((line.slope / 0.25 - 1.0).abs() < 1e-6, "{line:?}");
        assert!((line.at_zero / 5_000.0 - 1.0).abs() < 1e-6, "{line:?}");
    }

    #[test]
    fn too_few_points_for_a_line() {
        let given = points(|x| 1.0 + x);
        assert_eq!(robust_line(&[]), None);
        assert_eq!(robust_line(&given[..2]), None);
        assert_eq!(robust_line(&[given[3]; 9]), None);
        assert!(ends(&[]).is_empty());
        assert_eq!(ends(&given[..5]), [5]);
    }

    #[test]
    fn a_change_is_found_where_it_is() {
        let two = points(|x| if x < 8_000.0 { 4_000.0 + x } else { 9_000.0 + 0.2 * x });
        assert_eq!(ends(&two), [13, 20]);
        assert_eq!(ends(&points(|x| 4_000.0 + x)), [20]);
    }

    #[test]
    fn one_bad_point_is_no_line() {
        let mut given = points(|x| 4_000.0 + x);
        given[15].y *= 3.0;
        given[7].y *= 2.0;
        assert_eq!(ends(&given), [20]);
    }

    proptest! {
        /// Errors of the stated size create no additional lines, and the slope stays within them.
        #[test]
        fn noise_makes_no_lines(noise in prop::collection::vec(-1.0..1.0f64, 20), slope in 0.01..10.0f64) {
            let mut given = points(|x| 5_000.0 + slope * x);
            for (point, noise) in given.iter_mut().zip(&noise) {
                point.y += noise * point.error;
            }
            prop_assert_eq!(segments(&given).len(), 1);
            let line = robust_line(&given).unwrap();
            prop_assert!((line.slope / slope - 1.0).abs() < 0.02, "{:?}", line);
        }
    }
}

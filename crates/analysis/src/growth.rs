//! How one quantity grows with another.

/// A straight line fitted to points by least squares.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Fit {
    pub slope: f64,
    pub at_zero: f64,
    /// The share of the variance of y that the line explains (r²); 1 if all points lie on the line.
    pub explained: f64,
}

/// None for fewer than three points, which cannot show a law, or if all x are equal.
pub fn straight_line(points: &[(f64, f64)]) -> Option<Fit> {
    let count = points.len() as f64;
    if points.len() < 3 {
        return None;
    }
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x_mean, y_mean) = (mean(|point| point.0), mean(|point| point.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        points.iter().map(|&(x, y)| of(x - x_mean, y - y_mean)).sum()
    };
    let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    if xx == 0.0 {
        return None;
    }
    let slope = xy / xx;
    // A level line fits its points perfectly.
    let explained = if yy == 0.0 { 1.0 } else { xy * xy / (xx * yy) };
    Some(Fit { slope, at_zero: y_mean - slope * x_mean, explained })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Anscombe's first set: slope 0.5, intercept 3, r² 0.67 (to two digits in the original).
    #[test]
    fn anscombe() {
        let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
        let points: Vec<(f64, f64)> = x.into_iter().zip(y).collect();
        let fit = straight_line(&points).unwrap();
        assert!((fit.slope - 0.5).abs() < 0.001 && (fit.at_zero - 3.0).abs() < 0.001, "{fit:?}");
        assert!((fit.explained - 0.67).abs() < 0.005, "{fit:?}");
    }

    #[test]
    fn too_little_for_a_law() {
        assert_eq!(straight_line(&[(1.0, 1.0), (2.0, 2.0)]), None);
        assert_eq!(straight_line(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(straight_line(&[(1.0, 4.0), (2.0, 4.0), (3.0, 4.0)]).unwrap().explained, 1.0);
    }
}

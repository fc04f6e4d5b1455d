//! How well two groupings of the same items agree.

use statrs::function::gamma::ln_gamma;

/// Adjusted mutual information (Vinh, Epps and Bailey, JMLR 11, 2010): 1 if each grouping determines the other, about
/// 0 if they agree no better than by chance. Normalised by the larger of both entropies; 0 if one of the groupings
/// has a single group.
pub fn adjusted_mutual_information(one: &[usize], other: &[usize]) -> f64 {
    let table = Table::new(one, other);
    let entropy = table.entropy(&table.rows).max(table.entropy(&table.columns));
    let expected = table.expected_information();
    if table.rows.len() < 2 || table.columns.len() < 2 || entropy - expected <= 1e-12 {
        return 0.0;
    }
    ((table.information() - expected) / (entropy - expected)).clamp(-1.0, 1.0)
}

/// The contingency table: how many items each pair of groups shares.
struct Table {
    cells: Vec<((usize, usize), f64)>,
    rows: Vec<f64>,
    columns: Vec<f64>,
    all: f64,
}

impl Table {
    fn new(one: &[usize], other: &[usize]) -> Table {
        let number = |labels: &[usize]| {
            let mut known: Vec<usize> = labels.to_vec();
            known.sort_unstable();
            known.dedup();
            labels.iter().map(|label| known.partition_point(|other| other < label)).collect::<Vec<usize>>()
        };
        let (one, other) = (number(one), number(other));
        let sizes = |labels: &[usize]| {
            let mut sizes = vec![0.0; labels.iter().max().map_or(0, |last| last + 1)];
            labels.iter().for_each(|&label| sizes[label] += 1.0);
            sizes
        };
        let mut pairs: Vec<(usize, usize)> = one.iter().copied().zip(other.iter().copied()).collect();
        pairs.sort_unstable();
        let cells = pairs.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as f64)).collect();
        Table { cells, rows: sizes(&one), columns: sizes(&other), all: pairs.len() as f64 }
    }

    fn entropy(&self, sizes: &[f64]) -> f64 {
        sizes.iter().map(|size| -size / self.all * (size / self.all).ln()).sum()
    }

    fn information(&self) -> f64 {
        let part = |&((row, column), count): &((usize, usize), f64)| {
            count / self.all * (self.all * count / (self.rows[row] * self.columns[column])).ln()
        };
        self.cells.iter().map(part).sum()
    }

    /// The expected mutual information of groups of these sizes, over all random assignments.
    fn expected_information(&self) -> f64 {
        let n = self.all;
        let factorial = |count: f64| ln_gamma(count + 1.0);
        let mut sum = 0.0;
        for &a in &self.rows {
            for &b in &self.columns {
                let fixed = factorial(a) + factorial(b) + factorial(n - a) + factorial(n - b) - factorial(n);
                let mut count = (a + b - n).max(1.0);
                while count <= a.min(b) {
                    let rest = factorial(count)
                        + factorial(a - count)
                        + factorial(b - count)
                        + factorial(n - a - b + count);
                    sum += count / n * (n * count / (a * b)).ln() * (fixed - rest).exp();
                    count += 1.0;
                }
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::draws::Draws;

    #[test]
    fn from_all_to_nothing() {
        let groups = [0, 0, 0, 1, 1, 2, 2, 2];
        assert!((adjusted_mutual_information(&groups, &groups) - 1.0).abs() < 1e-9);
        let renamed = [7, 7, 7, 3, 3, 9, 9, 9];
        assert!((adjusted_mutual_information(&groups, &renamed) - 1.0).abs() < 1e-9);
        assert_eq!(adjusted_mutual_information(&groups, &[0; 8]), 0.0);
        assert_eq!(adjusted_mutual_information(&[], &[]), 0.0);
        let mut draws = Draws::new(1, 0);
        let mut drawn = || (0..200).map(|_| (draws.unit() * 4.0) as usize).collect::<Vec<usize>>();
        let mean = (0..50).map(|_| adjusted_mutual_information(&drawn(), &drawn())).sum::<f64>() / 50.0;
        assert!(mean.abs() < 0.01, "{mean}");
    }

    /// Compares the expectation with the mean over all 24 assignments of four items.
    #[test]
    fn the_expectation_is_that_over_all_ways() {
        let one = [0, 0, 1, 1];
        let mut orders = vec![vec![]];
        for _ in 0..4 {
            orders = orders
                .iter()
                .flat_map(|order: &Vec<usize>| {
                    (0..4)
                        .filter(|next| !order.contains(next))
                        .map(|next| [order.clone(), vec![next]].concat())
                })
                .collect();
        }
        let other = [0, 0, 0, 1];
        let information = |order: &Vec<usize>| {
            Table::new(&one, &order.iter().map(|&place| other[place]).collect::<Vec<usize>>()).information()
        };
        let mean = orders.iter().map(information).sum::<f64>() / orders.len() as f64;
        assert!((Table::new(&one, &other).expected_information() - mean).abs() < 1e-9);
    }
}

//! What a few extreme values do not distort, and what "slow" means.
//!
//! Things are compared with others of their kind: nodes with the same processor, workers of the same stage. Most of them are
//! assumed to be alike, with a spread that does not depend on which are slow. Something is slow if it is slower than is
//! typical by a share that matters, and by more than chance explains.

use super::median_of;

/// The ratio of the standard deviation of normal values to their median absolute deviation.
pub const MAD_TO_SIGMA: f64 = 1.4826;

/// The median absolute deviation from a value, scaled to a standard deviation.
pub fn deviation_from(middle: f64, values: &[f64]) -> f64 {
    MAD_TO_SIGMA * median_of(values.iter().map(|value| (value - middle).abs()).collect())
}

/// The median absolute deviation from the median, scaled to a standard deviation.
pub fn deviation(values: &[f64]) -> f64 {
    deviation_from(median_of(values.to_vec()), values)
}

/// From when on something is slow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Slow {
    /// Slower than is typical by this share of it,
    pub share: f64,
    /// and by this many robust standard deviations of its kind.
    pub deviations: f64,
}

/// A node whose undisturbed loop takes longer than that of the median node.
pub const NODE: Slow = Slow { share: 0.05, deviations: 5.0 };
/// The same with too few nodes to estimate their spread.
pub const ONE_OF_FEW_NODES: Slow = Slow { share: 0.15, deviations: 5.0 };
/// A rank of a trace that computes longer than the fastest comparable one. All others may be slow, so nothing is known of
/// their spread.
pub const RANK: Slow = Slow { share: 0.05, deviations: 0.0 };
/// A worker of a training job that computes longer than the median of its stage.
pub const WORKER: Slow = Slow { share: 0.05, deviations: 5.0 };
/// A process whose messages take longer than those of others.
pub const PROCESS: Slow = Slow { share: 0.1, deviations: 5.0 };
/// A pair of processes whose messages take longer than its processes explain. There are many pairs, so chance does more.
pub const PAIR: Slow = Slow { share: 0.1, deviations: 6.0 };

impl Slow {
    /// How many times as long as is typical it takes, if chance is no explanation.
    pub const fn factor(self) -> f64 {
        1.0 + self.share
    }

    /// The smallest difference from the typical value that is slow.
    pub fn margin(self, typical: f64, deviation: f64) -> f64 {
        (self.share * typical).max(self.deviations * deviation)
    }

    /// The same on a logarithmic axis.
    pub fn log_margin(self, deviation: f64) -> f64 {
        self.share.ln_1p().max(self.deviations * deviation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_extreme_values_do_not_matter() {
        let values = [10.0, 11.0, 9.0, 10.5, 9.5, 1000.0];
        assert_eq!(deviation(&values), MAD_TO_SIGMA * 0.5);
        // Slower by 5 %, but within chance; then by 50 %.
        let margin = NODE.margin(10.0, deviation(&values));
        assert!(margin > 0.5 && margin < 5.0, "{margin}");
        assert_eq!(NODE.margin(10.0, 0.0), 0.5);
        assert_eq!(PAIR.log_margin(0.0), 0.1f64.ln_1p());
    }
}

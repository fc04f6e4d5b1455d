//! How long a simulation must be to meet rare detours.
//!
//! Detours are divided into classes of similar length, each up to twice as long as the one before. A simulation that
//! is expected to meet a class only a few times may miss it by chance.

use super::{CauseId, Noise};
use straggler_noise::recording::Detour;

/// A class of which fewer detours are expected is rare.
const REPRESENTED: f64 = 20.0;

/// The classes of a node's detours.
#[derive(Debug)]
pub(super) struct Rarity {
    classes: [Class; 64],
}

#[derive(Clone, Copy, Debug, Default)]
struct Class {
    /// Detours in a second of one process.
    rate: f64,
    /// The share of a process's time that they take.
    share: f64,
}

impl Rarity {
    pub fn new(noise: &Noise) -> Rarity {
        Rarity::without(noise, None)
    }

    /// The classes without the detours of a cause.
    pub fn without(noise: &Noise, removed: Option<CauseId>) -> Rarity {
        let ids = (0..noise.causes.len()).filter_map(|id| CauseId::try_from(id).ok());
        let lengths: Vec<f64> = ids.map(|id| noise.length_of(id).seconds()).collect();
        let mut classes = [Class::default(); 64];
        let left = noise.streams.iter().flat_map(|stream| &stream.detours);
        for detour in left.filter(|detour| Some(detour.source) != removed) {
            let length = lengths.get(usize::from(detour.source)).copied().unwrap_or(0.0);
            if let Some(class) = classes.get_mut(class_of(detour)).filter(|_| length > 0.0) {
                class.rate += 1.0 / length;
                class.share += detour.duration.seconds() / length;
            }
        }
        Rarity { classes }
    }

    /// The share of a process's time that rare detours take, if a simulation covers this much core time.
    pub fn rare_share(&self, core_seconds: f64) -> f64 {
        let is_rare = |class: &&Class| class.rate * core_seconds < REPRESENTED;
        self.classes.iter().filter(is_rare).map(|class| class.share).sum()
    }

    /// The least core time for which rare detours take at most this share of a process's time.
    pub fn core_seconds_for(&self, share: f64) -> f64 {
        let present = self.classes.iter().filter(|class| class.rate > 0.0);
        // A little more, so that rounding does not make the class rare again.
        let each = present.map(|class| 1.000_001 * REPRESENTED / class.rate);
        let enough = [0.0].into_iter().chain(each).filter(|&seconds| self.rare_share(seconds) <= share);
        enough.fold(f64::INFINITY, f64::min)
    }
}

fn class_of(detour: &Detour) -> usize {
    detour.duration.ps().checked_ilog2().unwrap_or(0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_noise::NoiseSpec;

    #[test]
    fn rare_detours_need_long_simulations() {
        let spec: NoiseSpec =
            "periodic:rate=100Hz,duration=10us+periodic:rate=1Hz,duration=10ms".parse().unwrap();
        let rarity = Rarity::new(&Noise::of_sources(&spec.load(1).unwrap().sources));
        let is = |one: f64, other: f64| assert!((one / other - 1.0).abs() < 1e-5, "{one} {other}");
        is(rarity.rare_share(0.0), 0.011);
        is(rarity.rare_share(1.0), 0.01);
        assert_eq!(rarity.rare_share(21.0), 0.0);
        // 20 of the frequent ones take 0.2 s, 20 of the rare ones 20 s.
        is(rarity.core_seconds_for(0.0), 20.0);
        is(rarity.core_seconds_for(0.0105), 0.2);
        assert_eq!(rarity.core_seconds_for(0.02), 0.0);
    }
}

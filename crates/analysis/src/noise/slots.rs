//! Divides time into slots and sums the noise in each.

use straggler_noise::recording::Core;

/// Slots of equal width that cover a length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slots {
    pub width_ps: u64,
    pub count: usize,
}

impl Slots {
    /// At most `most` slots that cover `length_ps`, each at least 1 ps wide.
    pub fn covering(length_ps: u64, most: usize) -> Slots {
        let width_ps = length_ps.div_ceil(most.max(1) as u64).max(1);
        Slots::of_width(length_ps, width_ps)
    }

    /// Whole slots of this width; the rest at the end is dropped, unless it is all there is.
    pub fn of_width(length_ps: u64, width_ps: u64) -> Slots {
        let width_ps = width_ps.max(1);
        Slots { width_ps, count: usize::try_from(length_ps / width_ps).unwrap_or(usize::MAX).max(1) }
    }

    /// Noise time in each slot, in ps. Noise beyond the last slot is dropped.
    pub fn noise(self, core: &Core) -> Vec<f64> {
        let mut slots = vec![0.0; self.count];
        for detour in &core.detours {
            let (mut from, end) = (detour.start.ps(), detour.end().ps());
            let mut slot = (from / self.width_ps) as usize;
            while from < end {
                let Some(sum) = slots.get_mut(slot) else { break };
                let border = (slot as u64 + 1).saturating_mul(self.width_ps).min(end);
                *sum += (border - from) as f64;
                from = border;
                slot += 1;
            }
        }
        slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::Time;
    use straggler_noise::recording::Detour;

    #[test]
    fn a_detour_over_several_slots() {
        let detour = |start, duration| Detour { start: Time(start), duration: Time(duration), source: 0 };
        let core =
            Core { length: Time(100), detours: vec![detour(5, 18), detour(95, 30)], ..Core::default() };
        let slots = Slots::of_width(100, 10);
        assert_eq!(slots.noise(&core), [5.0, 10.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0]);
        assert_eq!(Slots::covering(0, 10), Slots { width_ps: 1, count: 1 });
        assert_eq!(Slots::covering(u64::MAX, 1).noise(&core).len(), 1);
    }
}

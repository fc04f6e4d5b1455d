//! Who meets whom: rounds in which every process has one partner, until all pairs have met.

/// Rounds until all of `count` have met: with an odd number, one of them rests in each.
pub fn rounds(count: u32) -> u32 {
    if count < 2 { 0 } else { count - 1 + count % 2 }
}

/// The partner of `me` in a round; nobody for the one who rests. All but the last stand on a circle and meet by the sum
/// of their places, which is the round; with an even number, the last meets whoever would meet himself.
pub fn partner(count: u32, round: u32, me: u32) -> Option<u32> {
    let circle = rounds(count);
    if circle == 0 || round >= circle || me >= count {
        return None;
    }
    if me == circle {
        // Twice the place is the round.
        let half = if round.is_multiple_of(2) { round } else { round + circle };
        return Some(half / 2);
    }
    let other = (round + circle - me) % circle;
    if other != me { Some(other) } else { (circle < count).then_some(circle) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn all_pairs_meet_once_and_nobody_meets_two() {
        for count in 0..40 {
            let mut met = BTreeSet::new();
            for round in 0..rounds(count) {
                let resting = (0..count).filter(|&me| partner(count, round, me).is_none()).count();
                assert_eq!(resting as u32, count % 2);
                for me in 0..count {
                    let Some(other) = partner(count, round, me) else { continue };
                    assert_ne!(other, me);
                    assert_eq!(partner(count, round, other), Some(me));
                    assert!(met.insert((me, other)), "{count} {round} {me}");
                }
            }
            assert_eq!(met.len() as u32, count * count.saturating_sub(1));
        }
        assert_eq!(partner(4, 3, 0), None);
    }
}

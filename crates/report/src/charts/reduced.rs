//! Curves of many points, reduced to what pixels can show.

use super::canvas::Point;

/// Keeps at most four points per pixel column: where the curve enters it, its lowest and highest, and where
/// it leaves. `places` must be sorted from left to right.
pub fn reduced(places: &[Point]) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::new();
    let mut rest = places;
    while let Some(&(first, _)) = rest.first() {
        let column = first.floor();
        let end = rest.iter().position(|(x, _)| x.floor() != column).unwrap_or(rest.len());
        let (inside, after) = rest.split_at(end.max(1));
        push_column(inside, &mut kept);
        rest = after;
    }
    kept
}

fn push_column(inside: &[Point], kept: &mut Vec<Point>) {
    if inside.len() <= 4 {
        kept.extend(inside);
        return;
    }
    let by_height = |a: &usize, b: &usize| inside[*a].1.total_cmp(&inside[*b].1);
    let lowest = (0..inside.len()).min_by(by_height).unwrap_or(0);
    let highest = (0..inside.len()).max_by(by_height).unwrap_or(0);
    let mut which = [0, lowest.min(highest), lowest.max(highest), inside.len() - 1].to_vec();
    which.dedup();
    kept.extend(which.into_iter().map(|index| inside[index]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_survive() {
        let mut places: Vec<Point> = (0..100_000).map(|index| (f64::from(index) / 500.0, 10.0)).collect();
        places[33_333].1 = 99.0;
        places[77_777].1 = -5.0;
        let kept = reduced(&places);
        assert!(kept.len() <= 4 * 200, "{}", kept.len());
        assert!(kept.contains(&places[33_333]) && kept.contains(&places[77_777]));
        assert_eq!((kept.first(), kept.last()), (places.first(), places.last()));
        assert!(kept.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        assert_eq!(reduced(&places[..3]), &places[..3]);
        assert!(reduced(&[]).is_empty());
    }
}

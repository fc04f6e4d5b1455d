//! Dots of any two quantities, thinned out as the scatter of detours is.

use super::{axis, entry, legend, scale, shown};
use crate::charts::frame::{Frame, Mark};
use crate::charts::scatter::{Group, diameter, thinned};
use crate::charts::{Heading, palette, with_own_colours};
use crate::numbers::counted;
use crate::page::Scatter;

pub fn draw(plot: &Scatter, heading: &Heading) -> String {
    let scales = (scale(&plot.x), scale(&plot.y));
    let pairs: Vec<_> = plot.series.iter().map(|series| shown(&series.x, &series.y, scales)).collect();
    let left_out: usize = pairs.iter().map(|(_, left_out)| left_out).sum();
    let groups = groups(plot, pairs.into_iter().map(|(points, _)| points).collect());
    let points = || groups.iter().flat_map(|group| &group.points);
    let x = axis(&plot.x, points().map(|point| point.0));
    let y = axis(&plot.y, points().map(|point| point.1)).with_room(0.05, 0.05);
    let all = points().count();
    let entries = groups.iter().map(|group| entry(&group.name, group.colour, Mark::Dot)).collect();
    let entries = legend(entries);
    let room = Frame::with_axes(&heading.with_remark(" "), &entries, &x, &y);
    let dots = thinned(&groups, &x, &y, (room.width(), room.height()));
    let drawn: usize = dots.iter().map(|(_, places)| places.len()).sum();
    let mut frame = Frame::with_axes(&heading.with_remark(&remark(all, drawn, left_out)), &entries, &x, &y);
    if drawn == 0 {
        frame.draw_remark("no data");
    }
    for (colour, places) in dots {
        let places: Vec<_> = places.iter().map(|(x, y)| (frame.left + x, frame.bottom - y)).collect();
        frame.canvas.dots(&places, diameter(drawn), colour);
    }
    frame.finish()
}

/// Series with most points get their own colours; the rest share one.
fn groups(plot: &Scatter, points: Vec<Vec<(f64, f64)>>) -> Vec<Group> {
    let own = with_own_colours(&points.iter().map(|points| points.len() as f64).collect::<Vec<_>>());
    let mut groups: Vec<Group> = Vec::new();
    let mut others: Vec<(f64, f64)> = Vec::new();
    for (index, (series, points)) in plot.series.iter().zip(points).enumerate() {
        match own.contains(&index) {
            true => {
                let colour = palette::colour(groups.len());
                groups.push(Group { name: series.name.clone(), colour, points });
            }
            false => others.extend(points),
        }
    }
    if !others.is_empty() {
        groups.push(Group { name: "others".into(), colour: palette::OTHERS, points: others });
    }
    groups
}

fn remark(points: usize, drawn: usize, left_out: usize) -> String {
    let mut parts = vec![counted(points as u64, "point", "points")];
    if drawn < points {
        parts.push(format!("in {}", counted(drawn as u64, "dot", "dots")));
    }
    if left_out > 0 {
        parts.push(format!("{left_out} cannot be drawn"));
    }
    parts.join(", ")
}

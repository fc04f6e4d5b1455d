//! Dots of any two quantities, thinned out to what can be seen. If there are more series than colours, those
//! after the seventh share one: callers put the important series first.

use super::{entry, legend, shown};
use crate::charts::axis::{Axis, Extent};
use crate::charts::frame::{Entry, Frame, Mark};
use crate::charts::thinning::{Group, diameter, thinned};
use crate::charts::{Heading, Picture, palette};
use crate::numbers::{counted, grouped};
use crate::page::Scatter;

pub fn draw(plot: &Scatter, heading: &Heading) -> Picture {
    let scales = (plot.x.scale, plot.y.scale);
    let pairs: Vec<_> = plot.series.iter().map(|series| shown(&series.x, &series.y, scales)).collect();
    let left_out: usize = pairs.iter().map(|(_, left_out)| left_out).sum();
    let (x, y) = axes(plot);
    let groups = groups(plot, pairs.into_iter().map(|(points, _)| points).collect());
    let points: usize = groups.iter().map(|group| group.points.len()).sum();
    let detail = |group: &Group| counted(group.points.len() as u64, "point", "points");
    let entries = groups
        .iter()
        .map(|group| Entry { detail: detail(group), ..entry(&group.name, group.colour, Mark::Dot) });
    let entries = legend(entries.collect());
    // Thinning needs only the size of the area, and the remark's text does not change it.
    let room = Frame::with_axes(&heading.with_remark(" "), &entries, &x, &y);
    let dots = thinned(&groups, &x, &y, (room.width(), room.height()));
    let drawn: usize = dots.iter().map(|(_, places)| places.len()).sum();
    let remark = remark(points, drawn, left_out);
    let mut frame = Frame::with_axes(&heading.with_remark(&remark), &entries, &x, &y);
    if drawn == 0 {
        frame.draw_remark("no data");
    }
    for (colour, places) in dots {
        let places: Vec<_> = places.iter().map(|(x, y)| (frame.left + x, frame.bottom - y)).collect();
        frame.canvas.dots(&places, diameter(drawn), colour);
    }
    Picture { drawing: frame.finish(), dots: Some(drawn) }
}

pub fn axes(plot: &Scatter) -> (Axis, Axis) {
    let across = plot.series.iter().flat_map(|series| series.x.iter().copied());
    let up = plot.series.iter().flat_map(|series| series.y.iter().copied());
    let across = Extent::new(&plot.x, across).home(&plot.x, 0.02);
    let up = Extent::new(&plot.y, up).home(&plot.y, 0.04);
    (Axis::new(&plot.x, across), Axis::new(&plot.y, up))
}

fn groups(plot: &Scatter, points: Vec<Vec<(f64, f64)>>) -> Vec<Group> {
    let own = if points.len() > palette::SERIES.len() { palette::SERIES.len() - 1 } else { points.len() };
    let mut groups: Vec<Group> = Vec::new();
    let mut others: Vec<(f64, f64)> = Vec::new();
    for (index, (series, points)) in plot.series.iter().zip(points).enumerate() {
        match index < own {
            true => {
                let (name, colour) = (series.name.clone(), palette::series(index));
                groups.push(Group { name, colour, points });
            }
            false => others.extend(points),
        }
    }
    if plot.series.len() > own {
        let name = format!("{} others", grouped((plot.series.len() - own) as u64));
        groups.push(Group { name, colour: palette::OTHERS, points: others });
    }
    groups
}

fn remark(points: usize, drawn: usize, left_out: usize) -> String {
    let mut remark = counted(points as u64, "point", "points");
    if drawn < points {
        let dots = counted(drawn as u64, "dot", "dots");
        remark = format!("{remark} in {dots}: those that share a place are drawn once");
    }
    if left_out > 0 {
        remark = format!("{remark}; {} more omitted", grouped(left_out as u64));
    }
    remark
}

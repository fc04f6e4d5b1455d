//! Which estimates are reliable, and the notes on the others.

use super::estimate::{Estimates, Values};
use super::experiments::{Samples, Series};
use super::limit::Limit;
use super::words::{rate, time};
use super::{Estimate, LogGp, Measured, Protocol};
use crate::regression::Line;
use std::ops::Range;
use straggler_model::stats::median_in_place;
use straggler_model::units::Bytes;

/// An interval wider than this share of its value is reported as wide.
const WIDE: f64 = 0.25;

/// g counts as measured only if it exceeds what hides it by this factor.
const CLEARLY: f64 = 1.02;

/// Two ways to the same number may differ by this share.
const AGREE: f64 = 0.2;

/// The network file holds one line for all sizes; an error above this share is reported.
const OFF: f64 = 0.1;

pub(super) fn judge(samples: &Samples, estimates: &Estimates, limit: &Limit, silent: &Limit) -> LogGp {
    let mut doubts = Vec::new();
    let overheads = overheads(estimates, &mut doubts);
    let latency = latency(estimates, &mut doubts);
    let gap = gap(estimates, &mut doubts);
    let points = points(samples);
    let usual = usual_line(&points, &estimates.point);
    let (gap_per_byte, overhead_per_byte) = rates(estimates, usual, &points, &mut doubts);
    let stream_per_byte = stream(estimates, &mut doubts);
    eager_limit(limit, &mut doubts);
    doubts.extend(silent_limit(limit, silent));
    let measured = LogGp {
        latency,
        send_overhead: overheads.0,
        recv_overhead: overheads.1,
        gap,
        gap_per_byte,
        overhead_per_byte,
        eager_limit: limit.bytes,
        stream_per_byte,
        protocols: protocols(samples, estimates),
        points,
        doubts: Vec::new(),
    };
    wide(&measured, &mut doubts);
    doubts.extend(one_line(&measured));
    LogGp { doubts, ..measured }
}

fn overheads(estimates: &Estimates, doubts: &mut Vec<String>) -> (Estimate, Estimate) {
    let send = estimates.estimate(Values::send_overhead).at_least_nothing();
    let spaced = estimates.estimate(|values| values.spaced);
    if estimates.point.send.is_none() {
        doubts.push(
            "o_s is assumed to be a quarter of a one-way time: every send waits for its receiver, so its own cost \
             cannot be measured"
                .into(),
        );
    } else if disagree(&send, &spaced) {
        doubts.push(format!(
            "o_s is {} for single sends and {} for sends with computation between them: the cost of a send depends \
             on what precedes it",
            send.as_time(),
            spaced.as_time()
        ));
    }
    (send, estimates.estimate(|values| values.receive).at_least_nothing())
}

/// Whether two estimates of one quantity contradict each other.
fn disagree(one: &Estimate, other: &Estimate) -> bool {
    let apart = one.low_ps > other.high_ps || other.low_ps > one.high_ps;
    apart && (one.ps - other.ps).abs() > AGREE * one.ps.abs().max(other.ps.abs())
}

fn latency(estimates: &Estimates, doubts: &mut Vec<String>) -> Estimate {
    let latency = estimates.estimate(Values::latency);
    if latency.ps <= 0.0 {
        doubts.push(format!(
            "L is assumed to be 1 ns: o_s and o_r together already make up half a round trip, {}",
            time(estimates.point.trip / 2.0)
        ));
    }
    latency.at_least_nothing()
}

/// g is visible if messages follow each other more slowly than both overheads explain, or sends more slowly than o_s
/// explains, or if larger messages hold up their sender.
fn gap(estimates: &Estimates, doubts: &mut Vec<String>) -> Option<Estimate> {
    if estimates.point.send.is_none() {
        doubts.push(
            "g is assumed to be 0: messages that wait for their receiver do not follow each other closely"
                .into(),
        );
        return None;
    }
    let both = |values: &Values| values.send_overhead().max(values.receive);
    let period = estimates.estimate(|values| values.period);
    if estimates.estimate(|values| values.period - CLEARLY * both(values)).low_ps > 0.0 {
        return Some(period);
    }
    if estimates.estimate(|values| values.sent_period - CLEARLY * values.send_overhead()).low_ps > 0.0 {
        return Some(estimates.estimate(|values| values.sent_period));
    }
    if estimates.point.gap.is_some() {
        let gap = estimates.estimate(|values| values.gap.unwrap_or(0.0));
        if gap.low_ps > 0.0 && gap.width() < 2.0 * WIDE && gap.low_ps <= period.high_ps {
            return Some(gap);
        }
    }
    doubts.push(format!(
        "g is assumed to be 0: the time between messages, {}, does not exceed o_s or o_r, so g is at most that and \
         hidden by them",
        period.at_least_nothing().as_time()
    ));
    None
}

/// The protocol whose G fits all sizes best: the one with the smallest average factor between modelled and measured
/// times. No size dominates, because sizes are spread evenly over orders of magnitude.
fn usual_line(points: &[Measured], values: &Values) -> usize {
    let off = |line: &Line| -> f64 {
        let ratio = |point: &Measured| {
            let modelled = values.trip / 2.0 + point.bytes.saturating_sub(1) as f64 * line.slope;
            (modelled / point.one_way_ps).ln().abs()
        };
        points.iter().filter(|point| point.one_way_ps > 0.0 && values.trip > 0.0).map(ratio).sum()
    };
    let lines = values.lines.iter().enumerate();
    lines.min_by(|(_, one), (_, other)| off(one).total_cmp(&off(other))).map_or(0, |(index, _)| index)
}

/// Time per byte in messages of one protocol.
fn slope(estimates: &Estimates, protocol: usize) -> Estimate {
    estimates.estimate(|values| values.lines.get(protocol).map_or(0.0, |line| line.slope))
}

/// G and O.
fn rates(
    estimates: &Estimates,
    usual: usize,
    points: &[Measured],
    doubts: &mut Vec<String>,
) -> (Estimate, Estimate) {
    let gap = slope(estimates, usual);
    if points.iter().all(|point| point.bytes == points[0].bytes) {
        doubts.push(
            "G is assumed to be 0: messages of a single size do not determine the cost of a byte; measure with a \
             larger --largest".into(),
        );
    } else if gap.low_ps <= 0.0 {
        doubts.push(
            "G is statistically indistinguishable from 0: the noise exceeds the cost of the bytes".into(),
        );
    }
    let gap = gap.at_least_nothing();
    let Some(_) = estimates.point.overhead_per_byte else {
        doubts.push(
            "O is assumed to be 0: too few sizes are sent eagerly to determine the cost of a byte for the sender".into(),
        );
        return (gap, Estimate::exactly(0.0));
    };
    let overhead = estimates.estimate(|values| values.overhead_per_byte.unwrap_or(0.0));
    if overhead.low_ps <= 0.0 {
        if overhead.high_ps > 0.01 * gap.ps {
            doubts.push(format!(
                "O is assumed to be 0: noise hides the cost of a byte for the sender, which is at most {}",
                rate(overhead.high_ps)
            ));
        }
        return (gap, Estimate::exactly(0.0));
    }
    if overhead.ps > gap.ps {
        doubts.push(format!(
            "O is assumed to be G: eager sends cost the sender {} per byte, more than G. The model would charge that \
             for large messages too, which are not copied",
            rate(overhead.ps)
        ));
        return (gap, gap);
    }
    (gap, overhead)
}

fn stream(estimates: &Estimates, doubts: &mut Vec<String>) -> Estimate {
    let stream = estimates.estimate(|values| values.stream_per_byte);
    let single = slope(estimates, estimates.pieces.len().saturating_sub(1));
    if disagree(&stream, &single) {
        doubts.push(format!(
            "for the largest messages a byte takes {} in single messages and {} in streams: the model has one G for \
             both, that of single messages",
            rate(single.ps),
            rate(stream.ps)
        ));
    }
    stream.at_least_nothing()
}

fn eager_limit(limit: &Limit, doubts: &mut Vec<String>) {
    match limit.bytes {
        None => doubts.push(format!(
            "S is assumed to be unlimited: even sends of {} do not wait for a late receiver",
            Bytes(limit.largest)
        )),
        Some(bytes) if !limit.certain => doubts.push(format!(
            "S may not be {bytes} bytes: when repeated, sends of about that size waited differently for their receivers"
        )),
        Some(_) => {}
    }
    if limit.bytes.is_none() && !limit.certain {
        doubts.push(format!("sends of {} waited for their receiver some of the time", Bytes(limit.largest)));
    }
}

/// The note that senders wait until their receiver is inside the library, in any call.
fn silent_limit(limit: &Limit, silent: &Limit) -> Option<String> {
    let bytes = silent.bytes.filter(|&bytes| limit.is_eager(bytes.saturating_add(1)) && silent.certain)?;
    Some(format!(
        "sends above {bytes} bytes wait until their receiver is inside any MPI call, and above S until it posts the \
         receive: a receiver that computes delays them, which the model ignores"
    ))
}

fn protocols(samples: &Samples, estimates: &Estimates) -> Vec<Protocol> {
    let line = |values: &Values, index: usize| values.lines.get(index).copied();
    let protocol = |(index, piece): (usize, &Range<usize>)| Protocol {
        from_bytes: samples.sizes[piece.start],
        to_bytes: samples.sizes[piece.end - 1],
        at_zero: estimates
            .estimate(|values| line(values, index).map_or(0.0, |line| line.at_zero - values.trip / 2.0)),
        per_byte: estimates.estimate(|values| line(values, index).map_or(0.0, |line| line.slope)),
    };
    estimates.pieces.iter().enumerate().map(protocol).collect()
}

fn points(samples: &Samples) -> Vec<Measured> {
    let middle = |series: &Series| median_in_place(&mut series.clone()).unwrap_or(0) as f64;
    let back = samples.single.first().map_or(0.0, middle) / 2.0;
    let sizes = samples.sizes.iter().zip(&samples.single).zip(&samples.stream);
    let point = |((&bytes, single), stream)| Measured {
        bytes,
        one_way_ps: middle(single) - back,
        stream_ps: middle(stream),
    };
    sizes.map(point).collect()
}

/// Notes which parameters are uncertain.
fn wide(measured: &LogGp, doubts: &mut Vec<String>) {
    let times = [
        ("L", Some(measured.latency)),
        ("o_s", Some(measured.send_overhead)),
        ("o_r", Some(measured.recv_overhead)),
        ("g", measured.gap),
    ];
    let times = times.into_iter().filter_map(|(name, estimate)| Some((name, estimate?)));
    for (name, estimate) in times.filter(|(_, estimate)| estimate.width() > WIDE) {
        doubts.push(format!("{name} is uncertain: {}", estimate.as_time()));
    }
    if measured.gap_per_byte.width() > WIDE {
        doubts.push(format!("G is uncertain: {}", measured.gap_per_byte.as_rate()));
    }
}

/// The note on how far the single line of the model is off if there are several protocols.
fn one_line(measured: &LogGp) -> Option<String> {
    let link = measured.link();
    let flight = (link.flight() + link.recv_overhead).ps() as f64;
    let off = |point: &Measured| {
        let modelled = flight + point.bytes.saturating_sub(1) as f64 * measured.gap_per_byte.ps;
        modelled / point.one_way_ps - 1.0
    };
    let worst = measured.points.iter().filter(|point| point.one_way_ps > 0.0);
    // By factor: half as long is as far off as twice as long.
    let factor = |point: &Measured| off(point).ln_1p().abs();
    let worst = worst.max_by(|one, other| factor(one).total_cmp(&factor(other)))?;
    let share = off(worst);
    (share.abs() > OFF).then(|| {
        let direction = if share > 0.0 { "longer" } else { "shorter" };
        format!(
            "the model uses one line for all sizes, with L, o_s and o_r of one byte and one G: messages of {} take \
             {} and are modelled {:.0} % {direction}",
            Bytes(worst.bytes),
            time(worst.one_way_ps),
            100.0 * share.abs()
        )
    })
}

//! One clock for all ranks.
//!
//! Calls are timed with the processor's counter. Every block relates it to the operating system's
//! clock, so a rank's ticks become its nanoseconds. Ranks under one operating system share that
//! clock. Other ranks are aligned by exchanging times at the beginning and at the end, along a tree
//! with rank 0 at its root: a message to the partner, which reads its clock, and back bounds the
//! difference by half its round-trip time.

use super::read::{Exchange, Stream};
use crate::trace::Clock;
use straggler_model::Time;

/// A rank's ticks on the clock of the run, in picoseconds: `start_ps + (ticks − from) · tick_ps`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Conversion {
    from: u64,
    start_ps: f64,
    tick_ps: f64,
    pub clock: Clock,
}

impl Conversion {
    pub fn picoseconds(&self, ticks: u64) -> f64 {
        self.start_ps + ticks.wrapping_sub(self.from) as i64 as f64 * self.tick_ps
    }

    /// Converts a length in ticks.
    pub fn length(&self, ticks: u64) -> Time {
        Time((ticks as f64 * self.tick_ps).round() as u64)
    }
}

/// Ticks of one rank as nanoseconds of its own operating system.
#[derive(Clone, Copy, Debug)]
struct Own {
    from: u64,
    /// Nanoseconds at `from`, counted from the reference of the run.
    start_ns: f64,
    tick_ns: f64,
    /// The largest distance of an anchor from the line, in nanoseconds.
    residual_ns: f64,
}

impl Own {
    /// Fits a line through the first and the last anchor. Times count from `reference_ns`, which keeps them small.
    fn new(stream: &Stream, reference_ns: u64) -> Own {
        let first = stream.anchors.first().copied().unwrap_or_default();
        let last = stream.anchors.last().copied().unwrap_or(first);
        let ticks = last.0.wrapping_sub(first.0) as i64 as f64;
        let ns = last.1.wrapping_sub(first.1) as i64 as f64;
        let stated = stream.head.tick_ps / 1000.0;
        let stated = if stated.is_finite() && stated > 0.0 { stated } else { 1.0 };
        // Anchors that are a millisecond apart give a better rate than the first measurement.
        let tick_ns = if ticks > 0.0 && ns > 1e6 { ns / ticks } else { stated };
        let start_ns = first.1.wrapping_sub(reference_ns) as i64 as f64;
        let mut own = Own { from: first.0, start_ns, tick_ns, residual_ns: 0.0 };
        let off = stream
            .anchors
            .iter()
            .map(|&(ticks, ns)| (own.ns(ticks) - ns.wrapping_sub(reference_ns) as i64 as f64).abs());
        own.residual_ns = off.fold(0.0, f64::max);
        own
    }

    fn ns(&self, ticks: u64) -> f64 {
        self.start_ns + ticks.wrapping_sub(self.from) as i64 as f64 * self.tick_ns
    }
}

/// Converts a rank's nanoseconds to the run's: `offset + rate · ns`.
#[derive(Clone, Copy, Debug)]
struct Map {
    offset: f64,
    rate: f64,
    error_ns: Option<f64>,
}

impl Map {
    const SAME: Map = Map { offset: 0.0, rate: 1.0, error_ns: Some(0.0) };

    fn apply(&self, ns: f64) -> f64 {
        self.offset + self.rate * ns
    }
}

/// The conversions of all ranks; `streams` are in order of rank and may have gaps.
pub fn align(streams: &[Option<Stream>]) -> Vec<Option<Conversion>> {
    let reference =
        streams.iter().flatten().find_map(|stream| stream.anchors.first()).map_or(0, |anchor| anchor.1);
    let own: Vec<Option<Own>> =
        streams.iter().map(|stream| stream.as_ref().map(|stream| Own::new(stream, reference))).collect();
    let mut maps: Vec<Option<Map>> = vec![None; streams.len()];
    let home = streams.iter().flatten().next().map(|stream| stream.head.boot.clone()).unwrap_or_default();
    // A partner in the tree has a smaller rank, so one pass is enough.
    for rank in 0..streams.len() {
        let Some(stream) = &streams[rank] else { continue };
        let shares_clock = !home.is_empty() && stream.head.boot == home;
        maps[rank] = Some(if shares_clock { Map::SAME } else { by_exchange(rank, streams, &own, &maps) });
    }
    let joined = own.iter().zip(&maps).map(|(own, map)| Some(join((*own)?, (*map)?)));
    joined.collect()
}

fn join(own: Own, map: Map) -> Conversion {
    let error = map.error_ns.map(|error| Time(((error + own.residual_ns) * 1000.0).round() as u64));
    Conversion {
        from: own.from,
        start_ps: map.apply(own.start_ns) * 1000.0,
        tick_ps: own.tick_ns * map.rate * 1000.0,
        clock: Clock {
            error,
            offset_ps: ((map.apply(own.start_ns) - own.start_ns) * 1000.0).round() as i64,
            drift_ppm: (1.0 / map.rate - 1.0) * 1e6,
        },
    }
}

/// The map of a rank on another machine, by way of its partner's map.
fn by_exchange(rank: usize, streams: &[Option<Stream>], own: &[Option<Own>], maps: &[Option<Map>]) -> Map {
    let unknown = Map { error_ns: None, ..Map::SAME };
    let (Some(stream), Some(mine)) = (&streams[rank], own[rank]) else { return unknown };
    let mut points = stream.exchanges.iter().filter_map(|exchange| point(exchange, rank, &mine, own, maps));
    let Some(first) = points.next() else { return unknown };
    let last = points.next_back().unwrap_or(first);
    let rate =
        if last.mine - first.mine > 1e6 { (last.run - first.run) / (last.mine - first.mine) } else { 1.0 };
    let error_ns = first.error.and_then(|a| last.error.map(|b| a.max(b)));
    Map { offset: first.run - rate * first.mine, rate, error_ns }
}

/// One moment as two clocks show it.
#[derive(Clone, Copy)]
struct Point {
    mine: f64,
    run: f64,
    error: Option<f64>,
}

fn point(
    exchange: &Exchange,
    rank: usize,
    mine: &Own,
    own: &[Option<Own>],
    maps: &[Option<Map>],
) -> Option<Point> {
    let partner = exchange.partner as usize;
    if partner >= rank {
        return None;
    }
    let (theirs, map) = ((*own.get(partner)?)?, (*maps.get(partner)?)?);
    let (before, after) = (mine.ns(exchange.before), mine.ns(exchange.after));
    let half = (after - before) / 2.0;
    Some(Point {
        mine: before + half,
        run: map.apply(theirs.ns(exchange.theirs)),
        error: map.error_ns.map(|error| error + half.abs()),
    })
}

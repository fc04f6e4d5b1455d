//! The ports of shared links in the reference engine, each with a queue of the segments that wait for it.

use crate::execution::Incoming;
use crate::ports::{Fabric, Load, Passage, Segment, serve};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use straggler_model::topology::Port;
use straggler_model::{Rank, Time};

/// A segment on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight<S> {
    pub incoming: Incoming<S>,
    pub to: Rank,
    pub segment: Segment,
    pub passage: Passage,
}

/// The order of segments at a port, and the place of the flight.
type Waiting = (Time, u64, Rank, u32, u32, usize);

#[derive(Debug)]
pub(super) struct Ports<S> {
    queues: Vec<BinaryHeap<Reverse<Waiting>>>,
    free: Vec<Time>,
    loads: Vec<Load>,
    flights: Vec<Flight<S>>,
    vacant: Vec<usize>,
    /// The least time from a send to the ports of each stage; they are served in the order of their time without it, so
    /// that all segments that reach a port at one time are there when the first is served.
    delays: Vec<Time>,
}

impl<S: Copy> Ports<S> {
    pub fn new(fabric: Option<&Fabric>, least_entry: Time) -> Ports<S> {
        let count = fabric.map_or(0, |fabric| fabric.topology.ports() as usize);
        let delay = |fabric: &Fabric, stage: usize| match fabric.topology.is_feed_forward() {
            true => least_entry + fabric.stages[stage].delay,
            false => Time::ZERO,
        };
        let measured = fabric.is_some_and(|fabric| fabric.measured);
        Ports {
            queues: (0..count).map(|_| BinaryHeap::new()).collect(),
            free: vec![Time::ZERO; count],
            loads: vec![Load::default(); if measured { count } else { 0 }],
            flights: Vec::new(),
            vacant: Vec::new(),
            delays: fabric.map_or_else(Vec::new, |fabric| {
                (0..fabric.stages.len()).map(|stage| delay(fabric, stage)).collect()
            }),
        }
    }

    /// Lets a segment wait for a port. Returns when the port is to be asked, and its stage.
    pub fn enter(&mut self, fabric: &Fabric, port: Port, flight: Flight<S>) -> (Time, usize) {
        let place = self.vacant.pop().unwrap_or(self.flights.len());
        match self.flights.get_mut(place) {
            Some(slot) => *slot = flight,
            None => self.flights.push(flight),
        }
        let (head, source) = (flight.passage.head, flight.incoming.message.from);
        let (tie, number) = (fabric.tie(port, source, head), flight.incoming.transit.number);
        let waiting = (head, tie, source, number, flight.segment.number, place);
        self.queues[port as usize].push(Reverse(waiting));
        let stage = fabric.stages.iter().position(|stage| stage.ports.contains(&port)).unwrap_or(0);
        (if head == Time::NEVER { head } else { head - self.delays[stage] }, stage)
    }

    /// Serves the next segment of a port.
    pub fn serve(&mut self, fabric: &Fabric, port: Port) -> Option<Flight<S>> {
        let Reverse((head, .., place)) = self.queues[port as usize].pop()?;
        let mut flight = self.flights[place];
        self.vacant.push(place);
        let costs = fabric.topology.costs(port);
        let work = flight.segment.work(costs.gap_per_byte);
        let start = serve(costs.latency, work, &mut self.free[port as usize], &mut flight.passage);
        if let Some(load) = self.loads.get_mut(port as usize) {
            load.count(&costs, &flight.segment, head, start);
        }
        Some(flight)
    }

    pub fn into_loads(self) -> Vec<Load> {
        self.loads
    }
}

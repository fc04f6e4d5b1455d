//! The ports of shared links that one thread serves.
//!
//! After the processes of a window have run, the ports are served stage by stage: a stage takes every segment that reaches
//! it before the end of the window plus the least time from a send to the stage. All of those are known by then. Segments
//! that come later wait in the calendar of their group of ports, like messages in that of a block.
//!
//! ```text
//! processes ─► stage 0 ─► stage 1 ─► … ─► messages for the next windows         in a tree
//! processes ─► all ports ─► messages and segments for the next windows          in a graph: windows are a hop long
//! ```
//! A port with one segment in a window serves it at once; the segments of other ports are sorted first.

mod plan;

pub(super) use plan::Plan;

use super::actors::Actors;
use super::calendar::{Bucket, Calendar, Chunks};
use super::frame::Frame;
use super::layout::Layout;
use super::message_count::{self, ONE, Oversubscribed};
use super::outgoing::{Outgoing, Parcel};
use super::transport::{Agreed, State, Transport};
use crate::checkpoint::{Unsound, ensure};
use crate::message::{Body, Message, Stamp, Timed, Transit};
use crate::outcome::RunError;
use crate::ports::{Fabric, LinkLoads, Load, Passage, Segment, serve};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use straggler_model::Time;
use straggler_model::topology::{Costs, Port};

/// A segment on its way. The arrival of its message is that of the segment's head at the port, and its transit has the
/// segment's tail.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, packed)]
pub(super) struct Flight<B, S> {
    message: Message<B, S>,
    port: Port,
    segment: u32,
}

impl<B: Body, S: Stamp> Flight<B, S> {
    #[inline(always)]
    fn passage(&self) -> Passage {
        let tail = { self.message.stamp }.transit().tail().unwrap_or(Time::ZERO);
        Passage { head: self.arrival(), tail }
    }

    /// The segment when it reaches another port.
    #[inline(always)]
    fn at(&self, port: Port, passage: &Passage) -> Flight<B, S> {
        let mut stamp = self.message.stamp;
        stamp.set_transit(Transit::whole(stamp.transit().number, passage.tail));
        let message = Message { arrival: passage.head.ps(), stamp, ..self.message };
        Flight { message, port, ..*self }
    }
}

impl<B: Copy, S: Copy> Timed for Flight<B, S> {
    #[inline(always)]
    fn arrival(&self) -> Time {
        Time(self.message.arrival)
    }
}

impl<B: bytemuck::Pod, S: bytemuck::Pod> Serialize for Flight<B, S> {
    fn serialize<Z: serde::Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        serializer.serialize_bytes(bytemuck::bytes_of(self))
    }
}

impl<'de, B: bytemuck::Pod, S: bytemuck::Pod> Deserialize<'de> for Flight<B, S> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = <&[u8]>::deserialize(deserializer)?;
        bytemuck::try_pod_read_unaligned(bytes).map_err(serde::de::Error::custom)
    }
}

/// The flights of a run, and the ports of a part of it.
pub(super) type FlightOf<A> = Flight<<A as Actors>::Body, <A as Actors>::Stamp>;
pub(super) type PortsOf<'a, A> = Ports<'a, <A as Actors>::Body, <A as Actors>::Stamp>;

/// The state of neighbouring ports.
#[derive(Debug)]
struct Group {
    number: u32,
    first: Port,
    /// What all of them cost, if they cost the same.
    costs: Option<Costs>,
    /// When each is free.
    free: Vec<Time>,
    /// How many segments each has in the window: see [`message_count`].
    marks: Vec<u8>,
    /// Empty unless measured.
    loads: Vec<Load>,
}

/// The state of a group between two windows.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct Saved<B: bytemuck::Pod, S: bytemuck::Pod> {
    free: Vec<Time>,
    loads: Vec<Load>,
    /// By window.
    buckets: Vec<(u64, Vec<Flight<B, S>>)>,
}

pub(super) struct Ports<'a, B, S> {
    fabric: &'a Fabric,
    plan: &'a Plan,
    layout: &'a Layout,
    part: usize,
    /// The groups of this part, in order; and the flights that wait for each.
    groups: Vec<Group>,
    calendars: Vec<Calendar<Flight<B, S>>>,
    /// By stage: window → groups with something to do in it.
    due: Vec<BTreeMap<u64, Vec<u32>>>,
    /// Flights to the ports of other parts.
    outgoing: Outgoing<Flight<B, S>>,
    chunks: Chunks<Flight<B, S>>,
    crowd: Oversubscribed<Flight<B, S>>,
    line: Vec<Flight<B, S>>,
    /// Messages that leave their last port.
    arrived: Vec<Message<B, S>>,
    /// Whether nothing can wait for the first port of a message.
    skips_first: bool,
    /// What all first ports cost, if they cost the same.
    first_costs: Option<Costs>,
    overflown: bool,
}

/// The calendar's number of a window: it must be above that of the window that was taken last.
fn numbered(window: u64) -> u64 {
    window.saturating_add(1)
}

impl<'a, B: Body, S: Stamp> Ports<'a, B, S> {
    /// `alone` says that a process sends on one NIC, in order of time.
    pub fn new(fabric: &'a Fabric, plan: &'a Plan, layout: &'a Layout, part: usize, alone: bool) -> Self {
        let group = |&number: &u32| {
            let (_, ports) = plan.ports(number);
            let count = ports.len();
            Group {
                number,
                first: ports.start,
                costs: fabric.topology.common_costs(ports),
                free: vec![Time::ZERO; count],
                marks: vec![0; count],
                loads: vec![Load::default(); if fabric.measured { count } else { 0 }],
            }
        };
        let groups: Vec<Group> = layout.blocks(part).iter().map(group).collect();
        let ports = groups.iter().map(|group| group.free.len()).sum();
        Ports {
            fabric,
            plan,
            layout,
            part,
            calendars: groups.iter().map(|_| Calendar::new()).collect(),
            groups,
            due: vec![BTreeMap::new(); plan.stages()],
            outgoing: Outgoing::new(layout.count()),
            chunks: Chunks::new(ports),
            crowd: Oversubscribed::default(),
            line: Vec::new(),
            arrived: Vec::new(),
            first_costs: fabric
                .stages
                .first()
                .and_then(|first| fabric.topology.common_costs(first.ports.clone())),
            skips_first: alone && fabric.has_own_first_ports(),
            overflown: false,
        }
    }

    /// The first window in which a port has something to do.
    pub fn next_window(&self) -> u64 {
        let first = |due: &BTreeMap<u64, _>| due.first_key_value().map(|(&window, _)| window);
        self.due.iter().filter_map(first).min().unwrap_or(u64::MAX)
    }

    /// Sends messages to their first ports, segment by segment.
    pub fn launch(&mut self, frame: &Frame, messages: &mut Vec<Message<B, S>>) {
        for message in messages.drain(..) {
            let Some(port) = self.fabric.first(message.from, message.to) else { continue };
            let bytes = { message.body }.bytes();
            if self.skips_first {
                self.skip(frame, port, &message, bytes);
                continue;
            }
            for segment in 0..self.fabric.topology.segment.count(bytes) {
                self.enter(frame, Flight { message, port, segment });
            }
        }
    }

    /// Lets a message pass a first port that only it can be using: its process sends the next one when the port is free.
    #[inline(always)]
    fn skip(&mut self, frame: &Frame, port: Port, message: &Message<B, S>, bytes: u64) {
        let costs = self.first_costs.unwrap_or_else(|| self.fabric.topology.costs(port));
        let (mut free, count) = (Time::ZERO, self.fabric.topology.segment.count(bytes));
        for number in 0..count {
            let segment = Segment::new(&self.fabric.topology, bytes, number);
            let flight = Flight { message: *message, port, segment: number };
            let mut passage = flight.passage();
            serve(&costs, &mut free, &mut passage, &segment);
            self.go_on(frame, &flight, &segment, &passage);
        }
    }

    /// Sends a segment that was served on to its next port, or to its receiver.
    #[inline(always)]
    fn go_on(&mut self, frame: &Frame, flight: &Flight<B, S>, segment: &Segment, passage: &Passage) {
        match self.fabric.next(flight.port, flight.message.from, flight.message.to) {
            Some(port) => self.enter(frame, flight.at(port, passage)),
            None => {
                self.arrive(Message { arrival: passage.head.ps(), ..flight.message }, segment, passage.tail)
            }
        }
    }

    /// Lets a segment wait for a port.
    #[inline(always)]
    fn enter(&mut self, frame: &Frame, flight: Flight<B, S>) {
        let (group, stage) = self.plan.group(flight.port);
        let head = flight.arrival();
        if head == Time::NEVER {
            self.overflown = true;
            return;
        }
        let window = frame.window_at(head - self.plan.delay(stage));
        if self.layout.part(group) != Ok(self.part) {
            return self.outgoing.push(&mut self.chunks, group, window == frame.window, flight);
        }
        let place = self.layout.place(group);
        let bucket = self.calendars[place as usize].bucket(numbered(window), frame.window);
        if bucket.is_empty() {
            self.due[stage].entry(window).or_default().push(place);
        }
        self.chunks.push(&mut bucket.chunks, flight);
    }

    /// Serves the ports in the window of `frame`, which all processes have run, and gives away the messages that leave
    /// their last port. `transport` joins the parts, if there are several.
    pub fn serve<T: Transport<Flight<B, S>>>(
        &mut self,
        frame: &Frame,
        transport: Option<&mut T>,
        give: &mut impl FnMut(Message<B, S>),
    ) -> Result<(), RunError> {
        match transport {
            None => (0..self.plan.stages()).for_each(|stage| self.serve_stage(frame, stage)),
            Some(transport) => self.serve_together(frame, transport)?,
        }
        self.arrived.drain(..).for_each(give);
        if self.overflown { Err(RunError::TimeOverflow) } else { Ok(()) }
    }

    /// The parts agree on the next stage in which any of them has something to do.
    fn serve_together<T: Transport<Flight<B, S>>>(
        &mut self,
        frame: &Frame,
        transport: &mut T,
    ) -> Result<(), RunError> {
        let mut stage = 0;
        loop {
            let mut due = self.next_stage(frame, stage);
            for (group, parcel) in self.outgoing.drain() {
                if parcel.has_soon() {
                    due = due.min(self.plan.ports(group).0 as u64);
                }
                transport.send(group, parcel, &mut self.chunks);
            }
            let agreed =
                transport.agree(&mut || State { due, messages: 0, failed: false, checkpoint: false });
            let (calendars, dues) = (&mut self.calendars, &mut self.due);
            let (plan, layout) = (self.plan, self.layout);
            transport.receive(&mut self.chunks, |chunks, group, parcel| {
                let (place, stage) = (layout.place(group), plan.ports(group).0);
                let note = |window: u64| dues[stage].entry(window).or_default().push(place);
                accept(&mut calendars[place as usize], parcel, frame, plan.delay(stage), chunks, note);
            });
            match agreed {
                Agreed::Finished => return Ok(()),
                Agreed::Failed => return Err(RunError::Interrupted),
                Agreed::Window(next) => stage = next as usize,
            }
            self.serve_stage(frame, stage);
            stage += 1;
        }
    }

    /// The first stage from `stage` on with something to do in this window.
    fn next_stage(&self, frame: &Frame, stage: usize) -> u64 {
        let is_due = |stage: &usize| self.due[*stage].contains_key(&frame.window);
        (stage..self.plan.stages()).find(is_due).map_or(u64::MAX, |stage| stage as u64)
    }

    fn serve_stage(&mut self, frame: &Frame, stage: usize) {
        let Some(mut places) = self.due[stage].remove(&frame.window) else { return };
        // A group may have been added twice: while the window was far, and after it came near.
        places.sort_unstable();
        places.dedup();
        for place in places {
            let bucket = self.calendars[place as usize].take(numbered(frame.window));
            self.serve_group(frame, place as usize, bucket);
        }
    }

    /// Serves the segments that reach a group of ports in this window.
    #[inline(never)]
    fn serve_group(&mut self, frame: &Frame, place: usize, bucket: Bucket<Flight<B, S>>) {
        let mut group = std::mem::replace(&mut self.groups[place], Group::empty());
        for flight in bucket.chunks.iter().flatten() {
            message_count::count(&mut group.marks[(flight.port - group.first) as usize]);
        }
        let mut crowd = std::mem::take(&mut self.crowd);
        for flight in bucket.chunks.iter().flatten() {
            let port = (flight.port - group.first) as usize;
            if group.marks[port] == ONE {
                group.marks[port] = 0;
                self.serve_one(frame, &mut group, port, flight);
            } else {
                crowd.add(port, flight);
            }
        }
        let mut line = std::mem::take(&mut self.line);
        for number in 0..crowd.len() {
            let (port, flights) = crowd.take(number);
            line.extend(flights);
            group.marks[port] = 0;
            self.sort(&mut line);
            line.drain(..).for_each(|flight| self.serve_one(frame, &mut group, port, &flight));
        }
        crowd.clear();
        (self.crowd, self.line) = (crowd, line);
        self.groups[place] = group;
        bucket.chunks.into_iter().for_each(|chunk| self.chunks.put(chunk));
    }

    /// Sorts the segments of one port.
    #[inline(never)]
    fn sort(&self, flights: &mut [Flight<B, S>]) {
        let rest = |flight: &Flight<B, S>| {
            let source = flight.message.from;
            let tie = self.fabric.tie(flight.port, source, flight.arrival());
            (tie, source, { flight.message.stamp }.transit().number, { flight.segment })
        };
        flights.sort_unstable_by(|one, other| {
            one.arrival().cmp(&other.arrival()).then_with(|| rest(one).cmp(&rest(other)))
        });
    }

    #[inline(always)]
    fn serve_one(&mut self, frame: &Frame, group: &mut Group, place: usize, flight: &Flight<B, S>) {
        let Flight { message, port, .. } = *flight;
        let costs = group.costs.unwrap_or_else(|| self.fabric.topology.costs(port));
        let segment = Segment::new(&self.fabric.topology, { message.body }.bytes(), flight.segment);
        let mut passage = flight.passage();
        let start = serve(&costs, &mut group.free[place], &mut passage, &segment);
        if let Some(load) = group.loads.get_mut(place) {
            load.count(&costs, &segment, flight.arrival(), start);
        }
        self.go_on(frame, flight, &segment, &passage);
    }

    /// A segment has left its last port. The receiver is told of the first and, if there are several, of the last.
    #[inline(always)]
    fn arrive(&mut self, mut message: Message<B, S>, segment: &Segment, tail: Time) {
        let mut stamp = message.stamp;
        let number = stamp.transit().number;
        if segment.is_first() {
            stamp.set_transit(segment.transit(number, tail));
            message.stamp = stamp;
            self.arrived.push(message);
        }
        if segment.is_last() && segment.count > 1 {
            let body = { message.body }.last_segment();
            self.arrived.push(Message { arrival: tail.ps(), body, ..message });
        }
    }

    /// The numbers of the groups of this part.
    pub fn groups(&self) -> impl Iterator<Item = u32> + '_ {
        self.groups.iter().map(|group| group.number)
    }

    /// The state of each group before window `next`, with its number.
    pub fn states(&self, next: u64) -> impl Iterator<Item = (u32, Result<Vec<u8>, postcard::Error>)> + '_ {
        self.groups.iter().zip(&self.calendars).map(move |(group, calendar)| {
            let flights =
                |(window, bucket): (u64, &Bucket<Flight<B, S>>)| (window - 1, bucket.chunks.concat());
            let buckets = calendar.buckets(numbered(next)).map(flights).collect();
            let saved = Saved { free: group.free.clone(), loads: group.loads.clone(), buckets };
            (group.number, postcard::to_allocvec(&saved))
        })
    }

    /// Restores the state of a group before window `next`.
    pub fn restore(&mut self, number: u32, bytes: &[u8], next: u64, processes: u32) -> Result<(), Unsound> {
        let saved: Saved<B, S> = postcard::from_bytes(bytes).map_err(|_| "it cannot be parsed")?;
        let place = self.layout.place(number);
        let (stage, ports) = self.plan.ports(number);
        let group = &mut self.groups[place as usize];
        let counts = (saved.free.len(), saved.loads.len());
        ensure(next > 0 && counts == (group.free.len(), group.loads.len()), "it belongs to another run")?;
        for (window, flights) in saved.buckets {
            ensure((next..u64::MAX / 2).contains(&window), "a window is over, or never comes")?;
            for flight in &flights {
                let Message { from, to, body, .. } = flight.message;
                ensure(
                    from.max(to) < processes && ports.contains(&{ flight.port }),
                    "a segment is elsewhere",
                )?;
                let count = self.fabric.topology.segment.count(body.bytes());
                ensure(
                    flight.segment < count && body.bytes() <= RunError::LARGEST_MESSAGE,
                    "a segment is none",
                )?;
                let passes = self.fabric.on_route(flight.port, from, to);
                ensure(passes, "a segment is not on its way")?;
            }
            let bucket = self.calendars[place as usize].bucket(numbered(window), next);
            self.chunks.extend(&mut bucket.chunks, &flights);
            self.due[stage].entry(window).or_default().push(place);
        }
        (group.free, group.loads) = (saved.free, saved.loads);
        Ok(())
    }

    pub fn into_loads(self) -> LinkLoads {
        self.groups
            .into_iter()
            .filter(|group| !group.loads.is_empty())
            .map(|group| (group.first, group.loads))
            .collect()
    }
}

impl Group {
    /// Stands for a group that is served.
    fn empty() -> Group {
        let (free, marks, loads) = (Vec::new(), Vec::new(), Vec::new());
        Group { number: 0, first: 0, costs: None, free, marks, loads }
    }
}

/// Accepts flights from another part.
fn accept<B: Body, S: Stamp>(
    calendar: &mut Calendar<Flight<B, S>>,
    parcel: Parcel<Flight<B, S>>,
    frame: &Frame,
    delay: Time,
    chunks: &mut Chunks<Flight<B, S>>,
    mut note: impl FnMut(u64),
) {
    let (mut soon, later) = parcel.into_parts();
    if !soon.is_empty() {
        let bucket = calendar.bucket(numbered(frame.window), frame.window);
        if bucket.is_empty() {
            note(frame.window);
        }
        bucket.chunks.append(&mut soon);
    }
    for flight in &later {
        let window = frame.window_at(flight.arrival() - delay);
        let bucket = calendar.bucket(numbered(window), frame.window);
        if bucket.is_empty() {
            note(window);
        }
        chunks.push(&mut bucket.chunks, *flight);
    }
}

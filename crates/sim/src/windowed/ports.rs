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
//! A part that is alone serves a group as soon as all that lead to it are served, while its segments are in a cache: in a
//! tree those of a pod on the way up, then those of a pod on the way down.

mod lines;
mod plan;
mod sweep;

pub(super) use plan::Plan;

use super::actors::Actors;
use super::calendar::{Bucket, Calendar, Chunk, Chunks};
use super::frame::Frame;
use super::layout::Layout;
use super::outgoing::{Outgoing, Parcel};
use super::transport::{Agreed, State, Transport};
use crate::checkpoint::{Unsound, ensure};
use crate::message::{Body, Message, Stamp, Timed, Transit};
use crate::outcome::RunError;
use crate::ports::{Fabric, LinkLoads, Load, Passage, Segment, serve};
use lines::{flight_of, line_up, port_of};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use straggler_model::topology::{Costs, Port};
use straggler_model::{Rank, Time};
use sweep::Sweep;

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

    /// Sets when head and tail reach the port.
    #[inline(always)]
    fn set_passage(&mut self, passage: &Passage) {
        let mut stamp = self.message.stamp;
        stamp.set_transit(Transit::whole(stamp.transit().number, passage.tail));
        (self.message.arrival, self.message.stamp) = (passage.head.ps(), stamp);
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
    kind: usize,
    /// The usual size of messages, and the work that they are for a port; no message has the size if ports differ.
    usual: u64,
    usual_work: Time,
    /// What all of them cost, if they cost the same.
    costs: Option<Costs>,
    /// When each is free.
    free: Vec<Time>,
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
    /// Flights of this window, and all flights to the ports of other parts.
    outgoing: Outgoing<Flight<B, S>>,
    sweep: Sweep,
    chunks: Chunks<Flight<B, S>>,
    /// Flights of a group by port: the port, and the place of the flight.
    order: Vec<u64>,
    keys: Vec<Key>,
    /// By port of a group.
    counts: Vec<u32>,
    /// Messages that leave their last port.
    arrived: Vec<Message<B, S>>,
    first: FirstPorts,
    /// What all first ports cost, if they cost the same.
    first_costs: Option<Costs>,
    overflown: bool,
}

/// The calendar's number of a window: it must be above that of the window that was taken last.
fn numbered(window: u64) -> u64 {
    window.saturating_add(1)
}

/// The order of the segments of a port: by head, tie, source, number and segment; and the flight.
type Key = (Time, u64, Rank, u32, u32, u64);

/// Takes messages that leave their last port out of the list.
pub(super) type Give<'g, B, S> = &'g mut dyn FnMut(&mut Vec<Message<B, S>>);

/// How messages enter the shared links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FirstPorts {
    Serve,
    /// Nothing can wait for the first port of a message.
    Skip,
    /// No message has more than a byte, so none occupies a port; or nothing is to wait.
    SkipAll,
}

/// What the ports need to know of the processes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Senders {
    /// A process sends on one NIC, in order of time.
    pub alone: bool,
    pub largest_message: u64,
}

impl<'a, B: Body, S: Stamp> Ports<'a, B, S> {
    pub fn new(
        fabric: &'a Fabric,
        plan: &'a Plan,
        layout: &'a Layout,
        part: usize,
        senders: Senders,
    ) -> Self {
        let largest = senders.largest_message;
        let usual = if fabric.topology.segment.count(largest) == 1 { largest } else { u64::MAX };
        let group = |&number: &u32| {
            let (stage, ports) = plan.ports(number);
            let count = ports.len();
            let (first, costs) = (ports.start, fabric.topology.common_costs(ports));
            let usual = costs.map(|costs| (usual, Segment::whole(usual).work(costs.gap_per_byte)));
            let (usual, usual_work) = usual.unwrap_or((u64::MAX, Time::ZERO));
            Group {
                number,
                first,
                kind: plan.kind(stage),
                usual,
                usual_work,
                costs,
                free: vec![Time::ZERO; count],
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
            sweep: Sweep::new(fabric, plan, layout.blocks(part)),
            chunks: Chunks::new(ports),
            order: Vec::new(),
            keys: Vec::new(),
            counts: Vec::new(),
            arrived: Vec::new(),
            first_costs: fabric
                .stages
                .first()
                .and_then(|first| fabric.topology.common_costs(first.ports.clone())),
            first: match senders {
                _ if !fabric.waits => FirstPorts::SkipAll,
                Senders { largest_message: 0 | 1, .. } if !fabric.measured => FirstPorts::SkipAll,
                Senders { alone: true, .. } if fabric.has_own_first_ports() => FirstPorts::Skip,
                _ => FirstPorts::Serve,
            },
            overflown: false,
        }
    }

    /// The first window in which a port has something to do.
    pub fn next_window(&self) -> u64 {
        let first = |due: &BTreeMap<u64, _>| due.first_key_value().map(|(&window, _)| window);
        self.due.iter().filter_map(first).min().unwrap_or(u64::MAX)
    }

    /// Begins a window: segments that waited for it are ready.
    pub fn begin(&mut self, frame: &Frame) {
        for due in &mut self.due {
            due.remove(&frame.window).into_iter().flatten().for_each(|place| self.sweep.ready(place));
        }
    }

    /// Sends messages to their first ports, segment by segment.
    pub fn launch(&mut self, frame: &Frame, messages: &mut Vec<Message<B, S>>) {
        for message in messages.iter() {
            let Some(port) = self.fabric.first(message.from, message.to) else { continue };
            match self.first {
                FirstPorts::Serve => self.launch_one(frame, port, message),
                FirstPorts::Skip => self.skip(frame, port, message),
                FirstPorts::SkipAll => self.skip_all(message),
            }
        }
        messages.clear();
    }

    fn launch_one(&mut self, frame: &Frame, port: Port, message: &Message<B, S>) {
        let passage = Passage { head: Time(message.arrival), tail: Time::ZERO };
        for segment in 0..self.fabric.topology.segment.count({ message.body }.bytes()) {
            let flight = Flight { message: *message, port, segment };
            self.enter(frame, (self.plan.kind(0), port), &passage, |room| room.push(flight));
        }
    }

    /// Lets a message pass a first port that only it can be using: its process sends the next one when the port is free.
    #[inline(always)]
    fn skip(&mut self, frame: &Frame, port: Port, message: &Message<B, S>) {
        let bytes = { message.body }.bytes();
        let costs = self.first_costs.unwrap_or_else(|| self.fabric.topology.costs(port));
        match self.fabric.topology.segment.count(bytes) {
            1 => self.skip_with(frame, (port, &costs, &mut Time::default()), message, &Segment::whole(bytes)),
            count => self.skip_segments(frame, (port, &costs), message, count),
        }
    }

    #[inline(never)]
    fn skip_segments(
        &mut self,
        frame: &Frame,
        (port, costs): (Port, &Costs),
        message: &Message<B, S>,
        count: u32,
    ) {
        let mut free = Time::ZERO;
        for number in 0..count {
            let segment = Segment::new(&self.fabric.topology, { message.body }.bytes(), number);
            self.skip_with(frame, (port, costs, &mut free), message, &segment);
        }
    }

    #[inline(always)]
    fn skip_with(
        &mut self,
        frame: &Frame,
        (port, costs, free): (Port, &Costs, &mut Time),
        message: &Message<B, S>,
        segment: &Segment,
    ) {
        let mut passage = Passage { head: Time(message.arrival), tail: Time::ZERO };
        serve(costs.latency, segment.work(costs.gap_per_byte), free, &mut passage);
        match self.fabric.next_in((self.plan.kind(0), port), message.from, message.to) {
            Some(next) => self.enter(frame, next, &passage, |room| {
                room.push(Flight { message: *message, port: next.1, segment: segment.number });
            }),
            None => self.arrive(*message, segment, &passage),
        }
    }

    /// Lets a message pass its ports without waiting.
    #[inline(always)]
    fn skip_all(&mut self, message: &Message<B, S>) {
        let arrival = Time(message.arrival) + self.fabric.latency(message.from, message.to);
        self.arrived.push(*message);
        self.arrived.last_mut().into_iter().for_each(|message| message.arrival = arrival.ps());
    }

    /// Sends a segment that was served on to its next port, or to its receiver.
    #[inline(always)]
    fn go_on(
        &mut self,
        frame: &Frame,
        kind: usize,
        flight: &Flight<B, S>,
        segment: &Segment,
        passage: &Passage,
    ) {
        match self.fabric.next_in((kind, flight.port), flight.message.from, flight.message.to) {
            Some(next) => self.enter(frame, next, passage, |room| {
                room.push(*flight);
                room.last_mut().into_iter().for_each(|flight| flight.port = next.1);
            }),
            None => self.arrive(flight.message, segment, passage),
        }
    }

    /// Lets a segment wait for a port. `copy` puts it there, and then it is changed: if it were built from parts and copied
    /// as a whole, the processor would wait for the parts to be written.
    #[inline(always)]
    fn enter(
        &mut self,
        frame: &Frame,
        port: (usize, Port),
        passage: &Passage,
        copy: impl FnOnce(&mut Vec<Flight<B, S>>),
    ) {
        let (group, stage, delay) = self.plan.group(port);
        let room = match passage.head - delay < frame.until {
            true => self.outgoing.room_soon(&mut self.chunks, group),
            false => match self.room_later(frame, passage.head, group, stage) {
                Some(room) => room,
                None => return,
            },
        };
        copy(room);
        room.last_mut().into_iter().for_each(|flight| flight.set_passage(passage));
    }

    /// Where a segment waits that reaches a group in a later window. None if simulated time overflows.
    #[inline(never)]
    fn room_later(
        &mut self,
        frame: &Frame,
        head: Time,
        group: u32,
        stage: usize,
    ) -> Option<&mut Vec<Flight<B, S>>> {
        if head == Time::NEVER {
            self.overflown = true;
            return None;
        }
        if self.layout.part(group) != Ok(self.part) {
            return Some(self.outgoing.room_later(group));
        }
        let window = frame.window_of(head - self.plan.delay(stage));
        let place = self.layout.place(group);
        let bucket = self.calendars[place as usize].bucket(numbered(window), frame.window);
        if bucket.is_empty() {
            self.due[stage].entry(window).or_default().push(place);
        }
        Some(self.chunks.room(&mut bucket.chunks))
    }

    /// All messages of the ranks before `end` have been launched: serves what is complete, as long as it is in a cache.
    /// Only for a part that is alone.
    pub fn sweep_until(&mut self, frame: &Frame, end: Rank) {
        if self.fabric.is_in_order() {
            let end = self.sweep.first_groups(end);
            // Messages that arrive are kept until all processes have run.
            self.serve_sweep(frame, 0, end, &mut |_| ());
        }
    }

    /// Serves the ports in the window of `frame`, which all processes have run, and gives away the messages that leave
    /// their last port. `transport` joins the parts, if there are several.
    pub fn serve<T: Transport<Flight<B, S>>>(
        &mut self,
        frame: &Frame,
        transport: Option<&mut T>,
        give: Give<'_, B, S>,
    ) -> Result<(), RunError> {
        match transport {
            None => self.serve_sweep(frame, 0, self.sweep.end(0), give),
            Some(transport) => self.serve_together(frame, transport, give)?,
        }
        self.sweep.restart();
        give(&mut self.arrived);
        if self.overflown { Err(RunError::TimeOverflow) } else { Ok(()) }
    }

    /// Serves the groups of a stage before `end` and, as soon as they are complete, groups of later stages: their segments
    /// are then still in a cache.
    fn serve_sweep(&mut self, frame: &Frame, stage: usize, end: u32, give: Give<'_, B, S>) {
        loop {
            self.note_touched();
            let next = self.sweep.next(stage, end);
            if let Some(place) = next {
                self.serve_group(frame, place as usize, give);
            }
            if let Some(complete) = self.sweep.complete(stage + 1) {
                self.serve_sweep(frame, stage + 1, complete, give);
            }
            if next.is_none() {
                return;
            }
        }
    }

    /// Marks the own groups that have got flights of this window.
    fn note_touched(&mut self) {
        while let Some(group) = self.outgoing.take_touched() {
            self.sweep.ready(self.layout.place(group));
        }
    }

    /// The parts agree on the next stage in which any of them has something to do.
    fn serve_together<T: Transport<Flight<B, S>>>(
        &mut self,
        frame: &Frame,
        transport: &mut T,
        give: Give<'_, B, S>,
    ) -> Result<(), RunError> {
        let mut stage = 0;
        loop {
            let due = self.send(transport).min(self.sweep.next_stage(stage));
            let agreed =
                transport.agree(&mut || State { due, messages: 0, failed: false, checkpoint: false });
            let (calendars, dues, sweep) = (&mut self.calendars, &mut self.due, &mut self.sweep);
            let (plan, layout) = (self.plan, self.layout);
            transport.receive(&mut self.chunks, |chunks, group, parcel| {
                let (place, stage) = (layout.place(group), plan.ports(group).0);
                let note = |window: u64| match window == frame.window {
                    true => sweep.ready(place),
                    false => dues[stage].entry(window).or_default().push(place),
                };
                accept(&mut calendars[place as usize], parcel, frame, plan.delay(stage), chunks, note);
            });
            match agreed {
                Agreed::Finished => return Ok(()),
                Agreed::Failed => return Err(RunError::Interrupted),
                Agreed::Window(next) => stage = next as usize,
            }
            while let Some(place) = self.sweep.next(stage, self.sweep.end(stage)) {
                self.serve_group(frame, place as usize, give);
            }
            stage += 1;
        }
    }

    /// Sends flights to the groups of other parts. Returns the first stage in which any of them has something to do.
    fn send<T: Transport<Flight<B, S>>>(&mut self, transport: &mut T) -> u64 {
        let mut due = u64::MAX;
        while let Some(group) = self.outgoing.take_touched() {
            if self.layout.part(group) == Ok(self.part) {
                self.sweep.ready(self.layout.place(group));
                continue;
            }
            let parcel = self.outgoing.take(group);
            if parcel.has_soon() {
                due = due.min(self.plan.ports(group).0 as u64);
            }
            transport.send(group, parcel, &mut self.chunks);
        }
        due
    }

    /// Serves the segments that reach a group of ports in this window.
    #[inline(never)]
    fn serve_group(&mut self, frame: &Frame, place: usize, give: Give<'_, B, S>) {
        let mut group = std::mem::replace(&mut self.groups[place], Group::empty());
        let mut flights = self.calendars[place].take(numbered(frame.window)).chunks;
        let (mut soon, _) = self.outgoing.take(group.number).into_parts();
        flights.append(&mut soon);
        let mut order = std::mem::take(&mut self.order);
        line_up(&flights, &group, &mut self.counts, &mut order);
        let (mut begin, mut end) = (0, 0);
        while begin < order.len() {
            let port = port_of(order[begin]);
            while order.get(end).is_some_and(|&other| port_of(other) == port) {
                end += 1;
            }
            if end - begin > 1 {
                self.sort(&mut order[begin..end], &flights);
            }
            for &entry in &order[begin..end] {
                self.serve_one(frame, &mut group, port, flight_of(entry, &flights));
            }
            begin = end;
        }
        self.order = order;
        self.groups[place] = group;
        flights.into_iter().for_each(|chunk| self.chunks.put(chunk));
        give(&mut self.arrived);
    }

    /// Sorts the segments of one port.
    #[inline(never)]
    fn sort(&mut self, entries: &mut [u64], flights: &[Chunk<Flight<B, S>>]) {
        let fabric = self.fabric;
        let key = |&entry: &u64| -> Key {
            let flight = flight_of(entry, flights);
            let (head, source) = (flight.arrival(), flight.message.from);
            let tie = fabric.tie(flight.port, source, head);
            (head, tie, source, { flight.message.stamp }.transit().number, flight.segment, entry)
        };
        // The usual case: two, and the hash is not needed if their heads differ.
        if let [one, other] = entries {
            let heads = [&*one, &*other].map(|&entry| flight_of(entry, flights).arrival());
            if heads[1] < heads[0] || heads[1] == heads[0] && key(other) < key(one) {
                entries.swap(0, 1);
            }
            return;
        }
        self.keys.extend(entries.iter().map(key));
        self.keys.sort_unstable();
        entries.iter_mut().zip(self.keys.drain(..)).for_each(|(entry, (.., sorted))| *entry = sorted);
    }

    #[inline(always)]
    fn serve_one(&mut self, frame: &Frame, group: &mut Group, place: usize, flight: &Flight<B, S>) {
        let bytes = { flight.message.body }.bytes();
        let costs = group.costs.unwrap_or_else(|| self.fabric.topology.costs(flight.port));
        let (segment, work) = if bytes == group.usual {
            (Segment::whole(bytes), group.usual_work)
        } else {
            let segment = Segment::new(&self.fabric.topology, bytes, flight.segment);
            (segment, segment.work(costs.gap_per_byte))
        };
        let mut passage = flight.passage();
        let start = serve(costs.latency, work, &mut group.free[place], &mut passage);
        if let Some(load) = group.loads.get_mut(place) {
            load.count(&costs, &segment, flight.arrival(), start);
        }
        self.go_on(frame, group.kind, flight, &segment, &passage);
    }

    /// A segment has left its last port. The receiver is told of the first and, if there are several, of the last.
    #[inline(always)]
    fn arrive(&mut self, message: Message<B, S>, segment: &Segment, passage: &Passage) {
        let mut stamp = message.stamp;
        if segment.is_first() {
            stamp.set_transit(segment.transit(stamp.transit().number, passage.tail));
            self.arrived.push(message);
            let last = self.arrived.last_mut();
            last.into_iter().for_each(|new| (new.arrival, new.stamp) = (passage.head.ps(), stamp));
        }
        if segment.is_last() && segment.count > 1 {
            let body = { message.body }.last_segment();
            self.arrived.push(Message { arrival: passage.tail.ps(), body, stamp, ..message });
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
        Group {
            number: 0,
            first: 0,
            kind: 0,
            usual: u64::MAX,
            usual_work: Time::ZERO,
            costs: None,
            free: Vec::new(),
            loads: Vec::new(),
        }
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

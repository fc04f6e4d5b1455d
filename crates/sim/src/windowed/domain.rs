//! The part of a simulation that one thread runs: some blocks and the messages they send.

use super::actors::{Actors, MessageOf, Turn};
use super::block::{Block, Restored, Scratch};
use super::calendar::Chunks;
use super::frame::Frame;
use super::layout::Layout;
use super::outgoing::{Outgoing, Parcel};
use super::ports::{FlightOf, PortsOf};
use super::transport::Transport;
use crate::checkpoint::{Checkpoints, Position, write_record};
use crate::outcome::{Remains, RunError};
use crate::ports::LinkLoads;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use straggler_model::Time;

/// In a cluster, outgoing messages are sent after this many simulated processes have run, several times per window.
const AT_ONCE: u32 = 8192;
const OFTEN: u32 = 8;

pub(super) struct Domain<'a, A: Actors> {
    actors: &'a A,
    layout: &'a Layout,
    part: usize,
    blocks: Vec<Block<'a, A>>,
    /// Window → blocks with something to do in it.
    due: BTreeMap<u64, Vec<u32>>,
    outgoing: Outgoing<MessageOf<A>>,
    chunks: Chunks<MessageOf<A>>,
    /// Messages between own blocks, sent in the window that has run.
    own: Vec<(u32, Parcel<MessageOf<A>>)>,
    scratch: Scratch<A>,
    /// The shared links, if there are any, and the messages that are to use them.
    ports: Option<PortsOf<'a, A>>,
    launched: Vec<MessageOf<A>>,
    observer: A::Observer,
    /// Messages that ran.
    pub messages: u64,
    pub error: Option<RunError>,
}

impl<'a, A: Actors> Domain<'a, A> {
    /// `slots` holds the processes of the part's blocks, in order of rank.
    pub fn new(
        actors: &'a A,
        layout: &'a Layout,
        part: usize,
        slots: &'a mut [A::Slot],
        ports: Option<PortsOf<'a, A>>,
        observer: A::Observer,
    ) -> Self {
        let blocks = layout.blocks(part);
        Domain {
            actors,
            layout,
            part,
            due: BTreeMap::from([(0, (0..blocks.len() as u32).collect())]),
            outgoing: Outgoing::new(layout.count()),
            own: Vec::new(),
            chunks: Chunks::new(slots.len()),
            scratch: Scratch::new(),
            // Only the last block of a run may have fewer processes than the others.
            blocks: blocks
                .iter()
                .zip(slots.chunks_mut(1 << layout.shift()))
                .map(|(&block, slots)| Block::new(actors, layout.ranks(block), slots))
                .collect(),
            ports,
            launched: Vec::new(),
            observer,
            messages: 0,
            error: None,
        }
    }

    /// The first window in which a block has something to do, as far as is known.
    pub fn next_window(&self) -> u64 {
        let ports = self.ports.as_ref().map_or(u64::MAX, |ports| ports.next_window());
        self.due.first_key_value().map_or(u64::MAX, |(&window, _)| window).min(ports)
    }

    /// Runs every block that has something to do in this window, and hands messages for other parts to the transport.
    /// Returns the first window in which any of them arrives.
    pub fn run(
        &mut self,
        frame: &Frame,
        stop: &AtomicBool,
        transport: &mut impl Transport<MessageOf<A>>,
        flights: Option<&mut impl Transport<FlightOf<A>>>,
    ) -> u64 {
        let mut blocks = self.due.remove(&frame.window).unwrap_or_default();
        let mut first = u64::MAX;
        // With shared links, only flights travel between members before all ports are served.
        let (shared, at_once) = (self.layout.is_shared() && self.ports.is_none(), self.at_once());
        // A block may have been added twice: while the window was far, and after it came near.
        blocks.sort_unstable();
        blocks.dedup();
        self.ports.iter_mut().for_each(|ports| ports.begin(frame));
        for (count, index) in (1..).zip(blocks) {
            if shared && count % at_once == 0 {
                first = first.min(self.send_away(frame, transport));
            }
            let block = &mut self.blocks[index as usize];
            let mut lanes = std::mem::take(&mut block.lanes);
            let mut turn = Turn {
                frame: *frame,
                outgoing: &mut self.outgoing,
                chunks: &mut self.chunks,
                lanes: &mut lanes,
                latency: self.actors.rules().latency,
                launched: &mut self.launched,
                observer: &mut self.observer,
                stop,
                processes: self.actors.processes(),
                operations: 0,
                messages: 0,
                error: None,
            };
            let due = &mut self.due;
            let mut note = |window: u64| due.entry(window).or_default().push(index);
            block.run(self.actors, &mut turn, &mut self.scratch, &mut note);
            self.messages += turn.messages;
            self.error = self.error.take().or(turn.error);
            block.lanes = lanes;
            if let Some(ports) = &mut self.ports {
                ports.launch(frame, &mut self.launched);
                if flights.is_none() {
                    ports.sweep_until(
                        frame,
                        self.layout.ranks(self.layout.blocks(self.part)[index as usize]).end,
                    );
                }
            }
            if stop.load(Ordering::Relaxed) {
                self.error.get_or_insert(RunError::Interrupted);
            }
            if self.error.is_some() {
                break;
            }
        }
        self.serve_ports(frame, flights);
        first.min(self.send(frame, transport))
    }

    /// Serves the shared links. All parts do, also one that has failed, since they wait for each other.
    fn serve_ports(&mut self, frame: &Frame, flights: Option<&mut impl Transport<FlightOf<A>>>) {
        let Some(ports) = &mut self.ports else { return };
        let (outgoing, chunks) = (&mut self.outgoing, &mut self.chunks);
        let (layout, part) = (self.layout, self.part);
        let mut blocks = Blocks { layout, blocks: &mut self.blocks, due: &mut self.due };
        let served = ports.serve(frame, flights, &mut |arrived| {
            for message in arrived.drain(..) {
                let block = message.to >> frame.shift;
                if layout.part(block) == Ok(part) {
                    blocks.accept_one(block, message, frame, chunks);
                } else {
                    let soon = Time(message.arrival) < frame.next_until;
                    outgoing.push(chunks, block, soon, message);
                }
            }
        });
        if let Err(error) = served {
            self.error.get_or_insert(error);
        }
    }

    /// After how many blocks messages are sent to other members of a cluster.
    fn at_once(&self) -> u32 {
        (self.blocks.len() as u32 / OFTEN).clamp(1, (AT_ONCE >> self.layout.shift()).max(1))
    }

    /// Hands messages for other members of a cluster to the transport while blocks have yet to run, so that they
    /// travel meanwhile and their chunks are reused in the same window.
    fn send_away(&mut self, frame: &Frame, transport: &mut impl Transport<MessageOf<A>>) -> u64 {
        let mut first = u64::MAX;
        for (block, parcel) in self.outgoing.drain_if(|block| self.layout.part(block).is_err()) {
            first = first.min(parcel.first_window(frame));
            transport.send(block, parcel, &mut self.chunks);
        }
        transport.poll(&mut self.chunks);
        first
    }

    /// Hands all other messages of the window to the transport or, for own blocks, to `own`.
    fn send(&mut self, frame: &Frame, transport: &mut impl Transport<MessageOf<A>>) -> u64 {
        let mut first = u64::MAX;
        for (block, parcel) in self.outgoing.drain() {
            if self.layout.part(block) == Ok(self.part) {
                self.own.push((block, parcel));
            } else {
                first = first.min(parcel.first_window(frame));
                transport.send(block, parcel, &mut self.chunks);
            }
        }
        first
    }

    /// Delivers messages between own blocks.
    pub fn settle(&mut self, frame: &Frame) {
        let mut blocks = Blocks { layout: self.layout, blocks: &mut self.blocks, due: &mut self.due };
        for (block, parcel) in self.own.drain(..) {
            blocks.accept(block, parcel, frame, &mut self.chunks);
        }
    }

    /// Receives messages that others sent to own blocks in the window of `frame`.
    pub fn receive(&mut self, frame: &Frame, transport: &mut impl Transport<MessageOf<A>>) {
        let mut blocks = Blocks { layout: self.layout, blocks: &mut self.blocks, due: &mut self.due };
        transport
            .receive(&mut self.chunks, |chunks, block, parcel| blocks.accept(block, parcel, frame, chunks));
    }

    /// Writes the state of every block before window `next`.
    pub fn save(&self, checkpoints: &dyn Checkpoints, next: u64) -> io::Result<()> {
        self.save_ports(checkpoints, next)?;
        let numbers = self.layout.blocks(self.part);
        let Some(&first) = numbers.first() else { return Ok(()) };
        checkpoints.write(next, first, &mut |out| {
            for (&number, block) in numbers.iter().zip(&self.blocks) {
                // The first block carries the message count of the part, since a resumed run may assign blocks to
                // other parts.
                let messages = if number == first { self.messages } else { 0 };
                let state =
                    postcard::to_allocvec(&(messages, block.state(next))).map_err(io::Error::other)?;
                write_record(out, number, &state)?;
            }
            Ok(())
        })
    }

    /// Writes the state of every group of ports before window `next`. Their numbers follow those of the blocks.
    fn save_ports(&self, checkpoints: &dyn Checkpoints, next: u64) -> io::Result<()> {
        let Some(ports) = &self.ports else { return Ok(()) };
        let first_group = self.layout.count() as u32;
        let Some(first) = ports.groups().next() else { return Ok(()) };
        checkpoints.write(next, first_group + first, &mut |out| {
            ports.states(next).try_for_each(|(group, state)| {
                write_record(out, first_group + group, &state.map_err(io::Error::other)?)
            })
        })
    }

    fn restore_ports(&mut self, checkpoints: &dyn Checkpoints, next: u64) -> io::Result<()> {
        let Some(ports) = &mut self.ports else { return Ok(()) };
        let first_group = self.layout.count() as u32;
        for group in ports.groups().collect::<Vec<_>>() {
            let bytes = checkpoints.read(first_group + group)?;
            ports.restore(group, &bytes, next, self.actors.processes()).map_err(|why| {
                let fix = "Start over in a new folder";
                io::Error::other(format!("the state of group {group} of ports is damaged: {why}. {fix}"))
            })?;
        }
        Ok(())
    }

    /// The position of the run before the window of `frame`.
    pub fn position(&self, frame: &Frame, windows: u64) -> Position {
        Position {
            window: frame.window,
            simulated_ps: frame.begin().ps(),
            windows,
            shift: self.layout.shift(),
            processes: self.actors.processes(),
        }
    }

    /// Restores the state of every block before window `next`.
    pub fn restore(&mut self, checkpoints: &dyn Checkpoints, next: u64) -> io::Result<()> {
        self.due.clear();
        self.restore_ports(checkpoints, next)?;
        for (index, (&number, block)) in (0..).zip(self.layout.blocks(self.part).iter().zip(&mut self.blocks))
        {
            let bytes = checkpoints.read(number)?;
            let unsound = |why: &dyn std::fmt::Display| {
                io::Error::other(format!(
                    "the state of block {number} is damaged: {why}. Start over in a new folder"
                ))
            };
            let (messages, state): (u64, Restored<A>) =
                postcard::from_bytes(&bytes).map_err(|error| unsound(&error))?;
            block.check(self.actors, &state, next).map_err(|why| unsound(&why))?;
            let due = &mut self.due;
            let mut note = |window: u64| due.entry(window).or_default().push(index);
            block.restore(state, next, &mut self.chunks, &mut note);
            self.messages =
                self.messages.checked_add(messages).ok_or_else(|| unsound(&"it counts too many messages"))?;
        }
        Ok(())
    }

    /// Frees the processes block by block, once no message is left, and writes their finish times.
    pub fn conclude(self, mut finish: &mut [Time]) -> Concluded<A::Observer> {
        let Domain { actors, blocks, observer, outgoing, chunks, ports, .. } = self;
        drop((outgoing, chunks));
        let loads = ports.map_or_else(LinkLoads::new, |ports| ports.into_loads());
        let mut concluded = Concluded { remains: Remains::default(), loads, observer };
        for block in blocks {
            let own = finish.split_off_mut(..block.len()).unwrap_or_default();
            block.conclude(actors, own, &mut concluded.remains);
        }
        concluded
    }
}

/// The blocks of a domain, as receivers of messages.
struct Blocks<'b, 'a, A: Actors> {
    layout: &'a Layout,
    blocks: &'b mut [Block<'a, A>],
    due: &'b mut BTreeMap<u64, Vec<u32>>,
}

impl<A: Actors> Blocks<'_, '_, A> {
    /// Accepts messages for one of the blocks, sent in the window of `frame`.
    fn accept(
        &mut self,
        block: u32,
        parcel: Parcel<MessageOf<A>>,
        frame: &Frame,
        chunks: &mut Chunks<MessageOf<A>>,
    ) {
        let index = self.layout.place(block);
        let due = &mut self.due;
        let mut note = |window: u64| due.entry(window).or_default().push(index);
        self.blocks[index as usize].accept(parcel, frame, chunks, &mut note);
    }

    /// Accepts a message that left its last port in the window of `frame`.
    #[inline(always)]
    fn accept_one(
        &mut self,
        block: u32,
        message: MessageOf<A>,
        frame: &Frame,
        chunks: &mut Chunks<MessageOf<A>>,
    ) {
        let index = self.layout.place(block);
        let due = &mut self.due;
        let mut note = |window: u64| due.entry(window).or_default().push(index);
        self.blocks[index as usize].accept_one(message, frame, chunks, &mut note);
    }
}

/// The final state of a domain.
#[derive(Debug)]
pub(super) struct Concluded<O> {
    pub remains: Remains,
    pub loads: LinkLoads,
    pub observer: O,
}

//! The windowed engine: no global queue.
//!
//! Nothing a process does at t reaches another before t + lookahead. So time is cut into windows of
//! that length, and inside a window every process runs alone, on any thread, against the messages
//! that are already known; what it sends arrives in a later window. Only processes with something to
//! do in a window are touched, and windows in which nobody has anything to do are skipped.
//!
//! ```text
//! block of ranks ──► slots      one process each: host, agenda, program state (64 bytes if implicit)
//!                ──► calendar   window → messages that arrive, processes that wake
//! domain = some blocks, run by one thread; what leaves a block goes through `Outgoing`
//! window: every domain runs its due blocks ─► exchange of outgoing messages ─► next due window
//! ```

mod block;
mod calendar;
mod domain;
mod hoard;
mod mail;
mod process;

use crate::agenda::Agenda;
use crate::control::{Control, Progress};
use crate::message::Message;
use crate::observer::Observer;
use crate::outcome::{Outcome, Remains, RunError};
use crate::program::Program;
use crate::rules::Rules;
use domain::{Concluded, Domain};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::Ordering;
use straggler_model::noise::Noise;
use straggler_model::{Network, Rank, Time};

/// The message type of a program under an observer.
type MessageOf<P, S> = Message<<<P as Program>::Agenda as Agenda>::Body, S>;

/// Ranks in a block: their state stays in a core's second-level cache while the block runs.
fn block_shift(processes: u32) -> u32 {
    if processes > 1 << 24 { 14 } else { 12 }
}

/// Runs a program to its end. `observer` makes one observer for each part of the ranks, in order: it is
/// given the number of the part and its ranks.
pub fn run<P: Program, N: Noise, O: Observer>(
    program: &P,
    rules: &Rules<'_, N>,
    control: &mut Control<'_>,
    mut observer: impl FnMut(u32, Range<Rank>) -> O,
) -> Result<(Outcome, Vec<O>), RunError> {
    let lookahead = rules.lookahead(program.largest_message());
    if lookahead == Time::ZERO {
        return Err(RunError::NoLookahead);
    }
    let shift = control.block_shift.unwrap_or_else(|| block_shift(program.processes())).min(20);
    let blocks = program.processes().div_ceil(1 << shift);
    let threads = control.threads.clamp(1, blocks.max(1) as usize);
    let count = if threads == 1 { 1 } else { (threads as u32 * 4).min(blocks) };
    let edge = |domain: u32| (u64::from(blocks) * u64::from(domain) / u64::from(count.max(1))) as u32;
    let first_rank = |block: u32| (u64::from(block) << shift).min(u64::from(program.processes())) as Rank;
    let parts: Vec<(Range<u32>, O)> = (0..count)
        .map(|part| {
            let blocks = edge(part)..edge(part + 1);
            let observer = observer(part, first_rank(blocks.start)..first_rank(blocks.end));
            (blocks, observer)
        })
        .collect();
    let domain = |(blocks, observer)| Domain::new(program, blocks, shift, observer);
    // Memory is touched first where it will be used, and by all threads at once.
    let pool =
        (threads > 1).then(|| rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok()).flatten();
    let mut domains: Vec<Domain<P, O>> = match &pool {
        Some(pool) => pool.install(|| parts.into_par_iter().with_max_len(1).map(domain).collect()),
        None => parts.into_iter().map(domain).collect(),
    };
    let windows = run_windows(program, rules, control, lookahead, shift, &mut domains, pool.as_ref())?;
    let (outcome, observers) = conclude(program, rules.network, domains, pool.as_ref())?;
    Ok((Outcome { windows, threads, ..outcome }, observers))
}

fn run_windows<P: Program, N: Noise, O: Observer>(
    program: &P,
    rules: &Rules<'_, N>,
    control: &mut Control<'_>,
    lookahead: Time,
    shift: u32,
    domains: &mut [Domain<P, O>],
    pool: Option<&rayon::ThreadPool>,
) -> Result<u64, RunError> {
    let mut owner = Vec::new();
    for (index, domain) in domains.iter().enumerate() {
        owner.resize(domain.blocks().end as usize, index as u32);
    }
    let stop = control.stop;
    let mut windows = 0;
    while let Some(window) = domains.iter().filter_map(Domain::next_window).min() {
        windows += 1;
        let frame = block::Frame::new(window, lookahead, shift);
        let due = domains.iter().filter(|domain| domain.next_window() == Some(window)).count();
        match pool {
            Some(pool) if due > 1 => pool.install(|| {
                domains
                    .par_iter_mut()
                    .with_max_len(1)
                    .for_each(|domain| domain.run(program, rules, &frame, stop));
            }),
            _ => domains.iter_mut().for_each(|domain| domain.run(program, rules, &frame, stop)),
        }
        exchange(domains, &owner, &frame);
        if let Some(error) = domains.iter().find_map(|domain| domain.error.clone()) {
            return Err(error);
        }
        if control.stop.load(Ordering::Relaxed) {
            return Err(RunError::Interrupted);
        }
        (control.progress)(Progress {
            simulated: frame.until,
            messages: domains.iter().map(|domain| domain.messages).sum(),
        });
    }
    Ok(windows)
}

/// The one narrow place through which messages pass from domain to domain.
fn exchange<P: Program, O: Observer>(domains: &mut [Domain<P, O>], owner: &[u32], frame: &block::Frame) {
    for sender in 0..domains.len() {
        let mut outgoing = std::mem::take(&mut domains[sender].outgoing);
        for block in outgoing.drain_touched() {
            let receiver = &mut domains[owner[block as usize] as usize];
            receiver.accept(block, outgoing.take(block), frame);
        }
        domains[sender].outgoing = outgoing;
    }
}

fn conclude<P: Program, O: Observer>(
    program: &P,
    network: &Network,
    mut domains: Vec<Domain<P, O>>,
    pool: Option<&rayon::ThreadPool>,
) -> Result<(Outcome, Vec<O>), RunError> {
    domains.iter_mut().for_each(Domain::free_messages);
    let messages = domains.iter().map(|domain| domain.messages).sum();
    let conclude = |domain: Domain<P, O>| domain.conclude(program, network);
    let parts: Vec<Concluded<O>> = match pool {
        Some(pool) => pool.install(|| domains.into_par_iter().with_max_len(1).map(conclude).collect()),
        None => domains.into_iter().map(conclude).collect(),
    };
    let mut outcome = Outcome { messages, ..Outcome::default() };
    outcome.finish.reserve_exact(program.processes() as usize);
    let mut remains = Remains::default();
    let mut observers = Vec::with_capacity(parts.len());
    for mut part in parts {
        outcome.finish.append(&mut part.finish);
        remains.append(part.remains);
        observers.push(part.observer);
    }
    outcome.stuck = remains.conclude(&outcome.finish)?;
    Ok((outcome, observers))
}

//! Where the program calls from: return addresses become numbers, each described once in the stream.
//!
//! A thread remembers the numbers of the addresses it has seen. A new address is looked up in the process's table, and one
//! that is new there is described by its module and its offset in it, in a block of its own that is written before any call
//! that refers to it.
//!
//! Where MPI's own Fortran library calls its C functions, the return address lies in that library. Then the stack is
//! unwound to the program's frame, which takes about ten microseconds.

use crate::modules::{self, Loaded};
use crate::output;
use crate::requests::ByHandle;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use straggler_trace::format::block::BlockKind;
use straggler_trace::format::sites::{self, put_module, put_site};
use straggler_trace::format::write::Pairs;
use straggler_trace::sites::CallSite;

static WANTED: AtomicBool = AtomicBool::new(false);

/// Places are recorded from now on.
pub fn want() {
    WANTED.store(true, Ordering::Relaxed);
}

pub fn are_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// Stands for an address inside of the MPI library: the caller is further up the stack.
const BEHIND_LIBRARY: u32 = u32::MAX;

/// The number of addresses that a thread remembers; a power of two.
const REMEMBERED: usize = 256;

/// The addresses that a thread has seen last, with their numbers.
#[derive(Debug)]
pub struct Callers(Box<[(usize, u32); REMEMBERED]>);

impl Default for Callers {
    fn default() -> Callers {
        Callers(Box::new([(0, sites::NONE); REMEMBERED]))
    }
}

impl Callers {
    /// The stream's number of a place.
    #[inline]
    pub fn number(&mut self, address: usize) -> u32 {
        // Multiplied, as addresses of one function differ in few bits.
        let place = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - REMEMBERED.ilog2());
        let slot = &mut self.0[place];
        if slot.0 != address {
            *slot = (address, with(|table| table.number(address)));
        }
        if slot.1 == BEHIND_LIBRARY { beyond_library() } else { slot.1 }
    }
}

/// More places than this are not told apart: code that is made at run time may have any number.
const MOST: usize = 1 << 16;

/// The places of the process.
#[derive(Debug, Default)]
struct Table {
    numbers: ByHandle<u32>,
    modules: Vec<Loaded>,
    next: u32,
}

static TABLE: Mutex<Option<Table>> = Mutex::new(None);

fn with<R>(work: impl FnOnce(&mut Table) -> R) -> R {
    let mut table = TABLE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    work(table.get_or_insert_default())
}

impl Table {
    fn number(&mut self, address: usize) -> u32 {
        if let Some(&number) = self.numbers.get(&address) {
            return number;
        }
        if self.numbers.len() >= MOST {
            return sites::NONE;
        }
        let number = self.describe(address);
        self.numbers.insert(address, number);
        number
    }

    /// Gives a place its number and writes its description.
    fn describe(&mut self, address: usize) -> u32 {
        let mut pairs = Pairs::new();
        let known = self.modules.iter().position(|module| module.holds(address));
        let module = match known {
            Some(module) => module,
            None => {
                let Some(found) = modules::holding(address) else { return sites::NONE };
                self.modules.push(found);
                self.modules.len() - 1
            }
        };
        let found = &self.modules[module];
        if found.is_mpi {
            return BEHIND_LIBRARY;
        }
        if !found.described.replace(true) {
            pairs = put_module(pairs, module as u32, &found.module);
        }
        self.next += 1;
        let site = CallSite { module: module as u32, offset: found.offset(address) };
        output::write_pairs(BlockKind::Sites, put_site(pairs, self.next, site));
        self.next
    }
}

/// The number of the first caller up the stack that belongs neither to MPI nor to this library.
#[cold]
fn beyond_library() -> u32 {
    const FRAMES: usize = 24;
    let mut frames = [std::ptr::null_mut(); FRAMES];
    // SAFETY: there is room for as many frames as are asked for.
    let count = unsafe { libc::backtrace(frames.as_mut_ptr(), FRAMES as libc::c_int) };
    let frames = frames.into_iter().take(count.max(0) as usize).map(|frame| frame as usize);
    with(|table| {
        let frames =
            frames.skip_while(|&frame| !modules::is_own(frame)).skip_while(|&frame| modules::is_own(frame));
        frames
            .map(|frame| table.number(frame))
            .find(|&number| number != BEHIND_LIBRARY)
            .unwrap_or(sites::NONE)
    })
}

//! Call sites: return addresses become numbers, each described once in the stream.
//!
//! A thread caches the numbers of the addresses it has seen. A new address is looked up in the
//! process's table. If it is new there too, its module and its offset in it are described in a
//! separate block, which is written before any call that refers to it.
//!
//! If MPI's own Fortran library calls its C functions, the return address lies in that library.
//! Then the stack is unwound to the program's frame, which takes about ten microseconds.

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

/// Turns the recording of call sites on.
pub fn want() {
    WANTED.store(true, Ordering::Relaxed);
}

pub fn are_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// Marks an address inside the MPI library: the caller is further up the stack.
const BEHIND_LIBRARY: u32 = u32::MAX;

/// The number of addresses that a thread caches; a power of two.
const REMEMBERED: usize = 256;

/// The addresses that a thread has seen most recently, with their numbers.
#[derive(Debug)]
pub struct Callers(Box<[(usize, u32); REMEMBERED]>);

impl Default for Callers {
    fn default() -> Callers {
        Callers(Box::new([(0, sites::NONE); REMEMBERED]))
    }
}

impl Callers {
    /// The stream's number of a call site.
    #[inline]
    pub fn number(&mut self, address: usize) -> u32 {
        // Multiplied, since addresses in one function differ in few bits.
        let place = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - REMEMBERED.ilog2());
        let slot = &mut self.0[place];
        if slot.0 != address {
            *slot = (address, with(|table| table.number(address)));
        }
        if slot.1 == BEHIND_LIBRARY { beyond_library() } else { slot.1 }
    }
}

/// At most this many places are told apart, since code generated at run time may have any number.
const MOST: usize = 1 << 16;

/// The call sites of the process.
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

    /// Assigns a number to a place and writes its description.
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

/// The number of the first caller up the stack outside of MPI and this library.
#[cold]
fn beyond_library() -> u32 {
    const FRAMES: usize = 24;
    let mut frames = [std::ptr::null_mut(); FRAMES];
    // SAFETY: the array has room for as many frames as are requested.
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

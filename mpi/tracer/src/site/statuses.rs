//! Statuses: the program's, or ours if it ignores one that the record needs.

use super::{Length, Site, Words, pmpi};
use crate::abi::{Handle, LONGEST_STATUS, UNDEFINED, abi};
use crate::language::Language as _;
use crate::note::{peer, tag};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use straggler_trace::call::Matched;

/// A status of our own, uninitialised: it is read only after a call has filled it.
#[repr(C, align(8))]
struct Own(MaybeUninit<[u8; LONGEST_STATUS]>);

impl Own {
    #[inline(always)]
    fn new() -> Own {
        Own(MaybeUninit::uninit())
    }

    #[inline(always)]
    fn at(&mut self) -> usize {
        self.0.as_mut_ptr() as usize
    }
}

/// Which statuses the record needs.
#[derive(Debug)]
pub enum Wanted<'a> {
    None,
    One,
    /// A list; ours is stored in `room`.
    List {
        length: Length,
        room: &'a mut Vec<u64>,
    },
}

/// A status that a call has filled.
#[derive(Clone, Copy, Debug)]
pub struct Status<'a> {
    at: usize,
    call: PhantomData<&'a ()>,
}

impl Status<'_> {
    /// The source and tag of the message.
    #[inline(always)]
    pub fn matched(self) -> Matched {
        // SAFETY: the address of a status that MPI has filled, see `Site::status`.
        let (source, its_tag) = unsafe { abi().source_and_tag(self.at) };
        Matched { peer: peer(source), tag: tag(its_tag) }
    }

    /// The length of the message; `None` if it is too long for the library to express.
    #[inline]
    pub fn bytes(self) -> Option<u64> {
        // SAFETY: as above.
        unsafe { abi().bytes(self.at) }.or_else(|| self.counted())
    }

    fn counted(self) -> Option<u64> {
        let mut count = UNDEFINED;
        pmpi!(Get_count(self.at, abi().byte, &raw mut count));
        u64::try_from(count).ok()
    }

    pub fn was_cancelled(self) -> bool {
        let mut flag = 0i32;
        pmpi!(Test_cancelled(self.at, &raw mut flag));
        flag != 0
    }
}

impl<W: Words> Site<W> {
    /// Lets `work` run the call, with statuses of ours at `at` if the program ignores those that
    /// are wanted. They and their address are gone when it returns.
    #[inline(always)]
    pub fn with_statuses<R>(&mut self, at: usize, wanted: Wanted<'_>, work: impl FnOnce(&Self) -> R) -> R {
        let (theirs, mut own) = (self.word(at), Own::new());
        match wanted {
            Wanted::One if W::Language::ignores_status(theirs) => self.args.as_mut()[at] = own.at(),
            Wanted::List { length, room } if W::Language::ignores_status(theirs) => {
                let words = (self.length(length) * abi().status_bytes).div_ceil(8);
                room.clear();
                room.resize(words, 0);
                self.args.as_mut()[at] = room.as_mut_ptr() as usize;
            }
            _ => {}
        }
        let result = work(self);
        self.args.as_mut()[at] = theirs;
        result
    }

    /// A status that the call has filled: the program's, or that of `with_statuses`. `index` is 0
    /// if there is only one.
    #[inline(always)]
    pub fn status(&self, at: usize, index: usize) -> Status<'_> {
        Status { at: self.word(at) + index * abi().status_bytes, call: PhantomData }
    }
}

/// Whether an open request was cancelled, which cannot be queried once it is freed.
#[cold]
pub fn is_cancelled(handle: Handle) -> bool {
    let (mut flag, mut own) = (0i32, Own::new());
    let at = own.at();
    pmpi!(Request_get_status(handle, &raw mut flag, at));
    flag != 0 && Status { at, call: PhantomData }.was_cancelled()
}

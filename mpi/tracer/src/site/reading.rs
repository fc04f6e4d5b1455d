//! Reads the arguments of a call. Positions count from 0, as in C; Fortran has the same order.
//!
//! Every unsafe block here relies on the promise of [`Site::new`](super::Site::new): the word at a position
//! is what the standard says about that argument, and the calling routine names the right position.

use super::{Site, Words};
use crate::abi::Handle;
use crate::language::{Kind, Language};
use crate::note::size_of_type;
use libc::c_int;
use std::marker::PhantomData;

/// The length of a list according to the standard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    One,
    /// The value of the integer argument at this position.
    Argument(usize),
    /// One element for each member of a group, or for each neighbour.
    Members(u32),
}

impl<W: Words> Site<W> {
    /// An integer.
    #[inline(always)]
    pub fn int(&self, at: usize) -> i32 {
        // SAFETY: an INTEGER of the call: a value in C, a reference in Fortran.
        unsafe { W::Language::int(self.word(at)) }
    }

    /// An integer that the call has set, such as a flag or an index: passed by reference in every language.
    #[inline(always)]
    pub fn int_behind(&self, at: usize) -> i32 {
        // SAFETY: the address of an integer, which the call has accepted and set.
        unsafe { (self.word(at) as *const c_int).read() }
    }

    /// Integers that the call has set, as many as it has stored at `number`.
    #[inline(always)]
    pub fn ints_behind(&self, at: usize, number: usize) -> impl Iterator<Item = i32> {
        let list = self.word(at) as *const c_int;
        // SAFETY: the call has filled as many elements of the list as it says. MPI_UNDEFINED is below 0: none.
        (0..self.int_behind(number).max(0) as usize).map(move |nth| unsafe { list.add(nth).read() })
    }

    /// The bytes of `count` elements of a datatype.
    #[inline]
    pub fn bytes(&self, count: usize, datatype: usize) -> u64 {
        // SAFETY: a count of the call: a value in C, a reference in Fortran.
        let count = unsafe { W::Language::count(self.word(count)) };
        count.saturating_mul(size_of_type(self.handle(Kind::Datatype, datatype)))
    }

    /// A list of counts.
    #[inline]
    pub fn counts(&self, at: usize, length: Length) -> impl Iterator<Item = u64> {
        let list = self.word(at);
        // SAFETY: the list has as many counts as the standard says.
        (0..self.length(length)).map(move |index| unsafe { W::Language::count_at(list, index) })
    }

    /// A handle passed by value.
    #[inline(always)]
    pub fn handle(&self, kind: Kind, at: usize) -> Handle {
        // SAFETY: a handle of the call: a value in C, a reference in Fortran.
        unsafe { W::Language::handle(kind, self.word(at)) }
    }

    /// A handle passed by reference, read before the call; 0 if a call that will fail passed a null address.
    #[inline(always)]
    pub fn first_handle(&self, kind: Kind, at: usize) -> Handle {
        // SAFETY: the address of a handle, or 0.
        unsafe { W::Language::first_handle(kind, self.word(at)) }
    }

    /// A handle that the call has set.
    #[inline(always)]
    pub fn handle_behind(&self, kind: Kind, at: usize) -> Handle {
        // SAFETY: the address of a handle, which the call has accepted and set.
        unsafe { W::Language::handle_at(kind, self.word(at), 0) }
    }

    /// A list of handles; empty if its address is null.
    #[inline(always)]
    pub fn handles(&self, kind: Kind, at: usize, length: Length) -> Handles<'_, W::Language> {
        let array = self.word(at);
        let length = if array == 0 { 0 } else { self.length(length) };
        Handles { kind, array, length, call: PhantomData }
    }

    #[inline(always)]
    pub fn is_in_place(&self, buffer: usize) -> bool {
        W::Language::is_in_place(self.word(buffer))
    }

    #[inline(always)]
    pub(super) fn length(&self, length: Length) -> usize {
        match length {
            Length::One => 1,
            Length::Argument(at) => self.int(at).max(0) as usize,
            Length::Members(members) => members as usize,
        }
    }
}

/// A list of handles among the arguments of a call, read on demand, since the call may change them.
#[derive(Debug)]
pub struct Handles<'a, L> {
    kind: Kind,
    array: usize,
    length: usize,
    call: PhantomData<&'a L>,
}

impl<'a, L: Language> Handles<'a, L> {
    #[inline(always)]
    pub fn get(&self, index: usize) -> Option<Handle> {
        // SAFETY: the array has `length` handles (`Site::handles`), and this one is among them.
        (index < self.length).then(|| unsafe { L::handle_at(self.kind, self.array, index) })
    }

    /// The index of the first handle that is not `null`.
    #[inline(always)]
    pub fn first_but(&self, null: Handle) -> Option<usize> {
        (0..self.length).find(|&index| self.get(index) != Some(null))
    }

    /// The handles from `first` on, with their indices.
    #[inline(always)]
    pub fn from(&self, first: usize) -> impl Iterator<Item = (usize, Handle)> + use<'a, L> {
        let (kind, array) = (self.kind, self.array);
        // SAFETY: as for `get`: every index is below `length`.
        (first..self.length).map(move |index| (index, unsafe { L::handle_at(kind, array, index) }))
    }
}

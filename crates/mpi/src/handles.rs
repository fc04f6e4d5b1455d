//! Handles and statuses that MPI writes: their width is that of the library's family.
#![allow(unsafe_code)]

use straggler_trace::mpi_abi::{Abi, Handle, LONGEST_STATUS};

/// One handle, in the library's width at the beginning of a machine word.
#[derive(Debug)]
pub struct Slot(Handle);

impl Slot {
    #[inline]
    pub fn new(abi: &Abi, handle: Handle) -> Slot {
        let mut slot = Slot(0);
        // SAFETY: a handle is no longer than a word.
        unsafe { abi.put_handle(&raw mut slot.0 as usize, 0, handle) };
        slot
    }

    /// Where MPI writes the handle.
    #[inline]
    pub fn out(&mut self) -> *mut Handle {
        &raw mut self.0
    }

    #[inline]
    pub fn get(&self, abi: &Abi) -> Handle {
        // SAFETY: as above.
        unsafe { abi.handle_at(&raw const self.0 as usize, 0) }
    }
}

/// Several handles, one after the other in the library's width.
#[derive(Debug)]
pub struct Slots(Vec<Handle>);

impl Slots {
    pub fn new(abi: &Abi, handles: impl ExactSizeIterator<Item = Handle>) -> Slots {
        let mut slots = Slots(vec![0; handles.len()]);
        let at = slots.0.as_mut_ptr() as usize;
        for (place, handle) in handles.enumerate() {
            // SAFETY: a handle is no longer than a word, and there is a word for each.
            unsafe { abi.put_handle(at, place, handle) };
        }
        slots
    }

    pub fn out(&mut self) -> *mut Handle {
        self.0.as_mut_ptr()
    }
}

/// Statuses, one after the other in the library's layout.
#[derive(Debug)]
pub struct Statuses {
    words: Vec<u64>,
    count: usize,
}

impl Statuses {
    pub fn new(abi: &Abi, count: usize) -> Statuses {
        Statuses { words: vec![0; (count * abi.status_bytes).div_ceil(8)], count }
    }

    pub fn out(&mut self) -> *mut u64 {
        self.words.as_mut_ptr()
    }

    /// The sender of a completed receive.
    pub fn source(&self, abi: &Abi, place: usize) -> Option<u32> {
        assert!(place < self.count);
        // SAFETY: there are as many statuses.
        let (source, _) =
            unsafe { abi.source_and_tag(self.words.as_ptr() as usize + place * abi.status_bytes) };
        u32::try_from(source).ok()
    }
}

/// One status, long enough for any library.
#[derive(Debug, Default)]
pub struct Status([u64; LONGEST_STATUS / 8]);

impl Status {
    #[inline]
    pub fn out(&mut self) -> *mut u64 {
        self.0.as_mut_ptr()
    }

    pub fn source_and_tag(&self, abi: &Abi) -> (i32, i32) {
        // SAFETY: no status is longer.
        unsafe { abi.source_and_tag(self.0.as_ptr() as usize) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_trace::mpi_abi::Family;

    #[test]
    fn handles_have_the_width_of_their_family() {
        for (family, bytes) in [(Family::OpenMpi, 8), (Family::Mpich, 4), (Family::Standard, 8)] {
            let Ok(abi) = Abi::new(family, |_| Ok::<_, std::convert::Infallible>(0));
            let mut slots = Slots::new(&abi, [7, 0x2c00_0000, 9].into_iter());
            let at = slots.out() as usize;
            // SAFETY: three handles of this width are there.
            let (all, second) = unsafe {
                let all = [0, 1, 2].map(|place| abi.handle_at(at, place));
                (all, (at as *const u8).add(bytes + 3).read())
            };
            assert_eq!((all, second), ([7, 0x2c00_0000, 9], 0x2c));
            assert_eq!(Slot::new(&abi, abi.request_null).get(&abi), abi.request_null);
        }
    }
}

//! What requests stand for in a recording.

/// An instruction of the rank that is read, by its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub thread: u16,
    pub number: u32,
}

/// The instructions of one operation: they follow one another on one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Places {
    thread: u16,
    first: u32,
    count: u32,
}

impl Places {
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    pub fn push(&mut self, place: Place) {
        match self.count {
            0 => *self = Places { thread: place.thread, first: place.number, count: 1 },
            _ => self.count += 1,
        }
        debug_assert_eq!((self.thread, self.first + self.count), (place.thread, place.number + 1));
    }

    pub fn iter(self) -> impl Iterator<Item = Place> {
        let Places { thread, first, count } = self;
        (first..first + count).map(move |number| Place { thread, number })
    }
}

impl From<Place> for Places {
    fn from(place: Place) -> Places {
        Places { thread: place.thread, first: place.number, count: 1 }
    }
}

/// What an operation of the trace has become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Behind {
    /// These; none where nothing has to be done.
    Instructions(Places),
    /// Something that the trace does not describe, or that has no model.
    Untold,
}

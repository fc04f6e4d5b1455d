//! The instructions that requests stand for in a recording.

/// Place of an instruction of the rank being read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct InstructionPlace {
    pub thread: u16,
    pub number: u32,
}

/// The instructions of one operation, consecutive on one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct InstructionPlaces {
    thread: u16,
    first: u32,
    count: u32,
}

impl InstructionPlaces {
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    pub fn push(&mut self, place: InstructionPlace) {
        match self.count {
            0 => *self = InstructionPlaces { thread: place.thread, first: place.number, count: 1 },
            _ => self.count += 1,
        }
        debug_assert_eq!((self.thread, self.first + self.count), (place.thread, place.number + 1));
    }

    pub fn iter(self) -> impl Iterator<Item = InstructionPlace> {
        let InstructionPlaces { thread, first, count } = self;
        (first..first + count).map(move |number| InstructionPlace { thread, number })
    }
}

impl From<InstructionPlace> for InstructionPlaces {
    fn from(place: InstructionPlace) -> InstructionPlaces {
        InstructionPlaces { thread: place.thread, first: place.number, count: 1 }
    }
}

/// What an operation of the trace was translated to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Behind {
    /// These instructions; none if there is nothing to do.
    Instructions(InstructionPlaces),
    /// Something that the trace does not describe, or that cannot be modelled.
    NotReplayed,
}

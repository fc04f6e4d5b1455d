//! Visits the calls of a rank one by one, with what each does.

use super::{Encoded, Given, Operation, Operations};
use crate::call::{Call, Details};
use crate::{Class, HowMany};

/// A call, and what it does.
#[derive(Clone, Copy, Debug)]
pub struct Acted<'o, 'a> {
    pub number: u32,
    pub call: &'a Call,
    pub details: &'a Details,
    /// The first row that it began.
    pub first: u32,
    /// The operations it began, in order.
    pub begun: &'o [Operation],
    given: &'o [Encoded],
    finished: &'o [Encoded],
}

impl<'o> Acted<'o, '_> {
    /// What the requests in its list stand for, in the order of [`Details::requests`].
    pub fn given(&self) -> impl ExactSizeIterator<Item = Given> + Clone + 'o {
        self.given.iter().map(|given| given.decode())
    }

    /// What it completed, in the order given by the call: all requests if it waits for its list as
    /// a whole, else those it names. Empty for a test that failed.
    pub fn finished(&self) -> impl ExactSizeIterator<Item = Given> + Clone + 'o {
        self.finished.iter().map(|given| given.decode())
    }

    /// Whether it completed everything it was given.
    pub fn finishes_all(&self) -> bool {
        Lists::new(self.call, self.details).finished == Finished::Given
    }

    /// The operations it began, with their row numbers.
    pub fn rows(&self) -> impl Iterator<Item = (u32, &'o Operation)> + use<'o> {
        (self.first..).zip(self.begun)
    }
}

/// Walks over the calls of a rank; see [`Operations::walk`].
#[derive(Clone, Debug)]
pub struct Walk<'o, 'a> {
    operations: &'o Operations<'a>,
    number: u32,
    row: usize,
    given: usize,
    finished: usize,
}

impl<'o, 'a> Walk<'o, 'a> {
    pub(super) fn new(operations: &'o Operations<'a>) -> Walk<'o, 'a> {
        Walk { operations, number: 0, row: 0, given: 0, finished: 0 }
    }
}

impl<'o, 'a> Iterator for Walk<'o, 'a> {
    type Item = Acted<'o, 'a>;

    fn next(&mut self) -> Option<Acted<'o, 'a>> {
        let Walk { operations, number, .. } = *self;
        let call = operations.call(number)?;
        let details = operations.details(call);
        let rows = operations.rows.get(self.row..).unwrap_or_default();
        let begun = rows.iter().take_while(|row| row.begun == number).count();
        let (begun, first) = (rows.get(..begun).unwrap_or_default(), self.row as u32);
        let lists = Lists::new(call, details);
        let given = take(&operations.given, &mut self.given, lists.given);
        let finished = match lists.finished {
            Finished::Given => given,
            Finished::Told(count) => take(&operations.finished, &mut self.finished, count),
        };
        self.row += begun.len();
        self.number += 1;
        Some(Acted { number, call, details, first, begun, given, finished })
    }
}

fn take<'o>(all: &'o [Encoded], from: &mut usize, count: usize) -> &'o [Encoded] {
    let taken = all.get(*from..*from + count).unwrap_or_default();
    *from += count;
    taken
}

/// How many requests a call names and completes. The code that writes the lists and the code that
/// reads them both rely on this.
pub(super) struct Lists {
    pub(super) given: usize,
    pub(super) finished: Finished,
}

/// What a call has completed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Finished {
    /// Everything it was given.
    Given,
    /// This many requests, which it lists.
    Told(usize),
}

impl Lists {
    pub(super) fn new(call: &Call, details: &Details) -> Lists {
        let (given, told) = (details.requests.len(), details.completed.len());
        let completes = |how: HowMany, found: bool| match how {
            _ if !found => Finished::Told(0),
            // Formats without requests may still list what was completed.
            HowMany::One | HowMany::All if given > 0 => Finished::Given,
            _ => Finished::Told(told),
        };
        match call.function.class() {
            Class::Wait(how) => Lists { given, finished: completes(how, true) },
            Class::Test(how) => Lists { given, finished: completes(how, details.found) },
            Class::Begin | Class::Drop => Lists { given, finished: Finished::Told(0) },
            _ => Lists { given: 0, finished: Finished::Told(0) },
        }
    }
}

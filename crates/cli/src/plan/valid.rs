//! Typed options that need no conversion, only a check.

use crate::exit::Outcome;
use std::ops::Deref;

/// Options that may contradict each other, or name places where nothing can be written.
pub trait Check {
    /// Everything that can be found out without doing the work.
    fn check(&self) -> Outcome<()>;
}

/// What was typed, and makes sense. Commands take nothing else.
#[derive(Debug)]
pub struct Valid<T>(T);

impl<T: Check> Valid<T> {
    pub fn new(typed: T) -> Outcome<Valid<T>> {
        typed.check()?;
        Ok(Valid(typed))
    }
}

impl<T> Deref for Valid<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

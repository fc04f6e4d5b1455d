//! Typed options that need no conversion, only a check.

use crate::kernel::exit::Outcome;
use std::ops::Deref;

/// Options that may contradict each other, or name places that cannot be written.
pub trait Check {
    /// Checks everything that can be checked without doing the work.
    fn check(&self) -> Outcome<()>;
}

/// Options that passed their check.
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

//! An optional value that takes the space of a pointer while it is absent.

use std::ops::{Deref, DerefMut};

/// A value that is mostly absent. Reading an absent value gives the empty one; writing to it creates it.
#[derive(Clone, Debug)]
pub struct Seldom<T>(Option<Box<T>>);

/// The value as which an absent [`Seldom`] reads.
pub trait Empty: 'static {
    const EMPTY: &'static Self;
}

impl<T: 'static> Empty for Vec<T> {
    const EMPTY: &'static Vec<T> = &Vec::new();
}

impl<T> Seldom<T> {
    pub const NOTHING: Seldom<T> = Seldom(None);

    /// The value, if present; unlike a plain write, this does not create it.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }
}

impl<T> Default for Seldom<T> {
    fn default() -> Seldom<T> {
        Seldom::NOTHING
    }
}

impl<T: Empty> Deref for Seldom<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::EMPTY)
    }
}

impl<T: Empty + Default> DerefMut for Seldom<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

/// An absent value equals an empty one.
impl<T: Empty + PartialEq> PartialEq for Seldom<T> {
    fn eq(&self, other: &Seldom<T>) -> bool {
        **self == **other
    }
}

impl<T: Empty + Eq> Eq for Seldom<T> {}

impl<T: Empty + PartialEq> From<T> for Seldom<T> {
    fn from(value: T) -> Seldom<T> {
        Seldom((value != *T::EMPTY).then(|| Box::new(value)))
    }
}

impl<T: PartialEq + 'static> FromIterator<T> for Seldom<Vec<T>> {
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Seldom<Vec<T>> {
        Vec::from_iter(all).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_is_not_there() {
        let mut list: Seldom<Vec<u32>> = Vec::new().into();
        assert!(list.is_empty() && list.get_mut().is_none());
        list.push(7);
        assert_eq!(*list, [7]);
        list.clear();
        assert_eq!(list, Seldom::NOTHING);
        assert!(list.get_mut().is_some());
    }
}

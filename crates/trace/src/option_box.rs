//! An optional value that takes the space of a pointer while it is absent.

use std::ops::{Deref, DerefMut};

/// A value that is mostly absent. Reading an absent value gives the empty one; writing to it creates it.
#[derive(Clone, Debug)]
pub struct OptionBox<T>(Option<Box<T>>);

/// The value as which an absent [`OptionBox`] reads.
pub trait Empty: 'static {
    const EMPTY: &'static Self;
}

impl<T: 'static> Empty for Vec<T> {
    const EMPTY: &'static Vec<T> = &Vec::new();
}

impl<T> OptionBox<T> {
    pub const NOTHING: OptionBox<T> = OptionBox(None);

    /// The value, if present; unlike a plain write, this does not create it.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }
}

impl<T> Default for OptionBox<T> {
    fn default() -> OptionBox<T> {
        OptionBox::NOTHING
    }
}

impl<T: Empty> Deref for OptionBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::EMPTY)
    }
}

impl<T: Empty + Default> DerefMut for OptionBox<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

/// An absent value equals an empty one.
impl<T: Empty + PartialEq> PartialEq for OptionBox<T> {
    fn eq(&self, other: &OptionBox<T>) -> bool {
        **self == **other
    }
}

impl<T: Empty + Eq> Eq for OptionBox<T> {}

impl<T: Empty + PartialEq> From<T> for OptionBox<T> {
    fn from(value: T) -> OptionBox<T> {
        OptionBox((value != *T::EMPTY).then(|| Box::new(value)))
    }
}

impl<T: PartialEq + 'static> FromIterator<T> for OptionBox<Vec<T>> {
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> OptionBox<Vec<T>> {
        Vec::from_iter(all).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_is_not_there() {
        let mut list: OptionBox<Vec<u32>> = Vec::new().into();
        assert!(list.is_empty() && list.get_mut().is_none());
        list.push(7);
        assert_eq!(*list, [7]);
        list.clear();
        assert_eq!(list, OptionBox::NOTHING);
        assert!(list.get_mut().is_some());
    }
}

//! The execution model and its engines.

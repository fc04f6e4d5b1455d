//! Reduce: the root gets the reduction of everyone's data.

mod binomial;

pub use binomial::Binomial;

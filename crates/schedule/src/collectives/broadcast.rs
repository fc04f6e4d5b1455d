//! Broadcast: everyone gets the root's data.

mod binomial;

pub use binomial::Binomial;

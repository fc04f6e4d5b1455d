//! Allreduce: everyone gets the reduction of everyone's data.

mod dissemination;
mod recursive_doubling;
mod ring;

pub use dissemination::Dissemination;
pub use recursive_doubling::RecursiveDoubling;
pub use ring::Ring;

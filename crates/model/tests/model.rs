//! Units, networks, and the error messages users see.

#[path = "model/errors.rs"]
mod errors;
#[path = "model/units.rs"]
mod units;

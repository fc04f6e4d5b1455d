//! Noise files, injection and units, and the error messages users see.

#[path = "model/errors.rs"]
mod errors;
#[path = "model/formats.rs"]
mod formats;
#[path = "model/injection.rs"]
mod injection;
#[path = "model/units.rs"]
mod units;

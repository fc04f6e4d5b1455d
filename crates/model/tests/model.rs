//! Noise files, injection and units, and the sentences users read when something is wrong.

#[path = "model/errors.rs"]
mod errors;
#[path = "model/formats.rs"]
mod formats;
#[path = "model/injection.rs"]
mod injection;
#[path = "model/units.rs"]
mod units;

//! Noise files and injection, and the error messages users see.

#[path = "noise/errors.rs"]
mod errors;
#[path = "noise/formats.rs"]
mod formats;
#[path = "noise/injection.rs"]
mod injection;

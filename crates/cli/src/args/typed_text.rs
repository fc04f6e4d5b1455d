//! Options that take a name, a description or a path, and keep it as text.

use clap::builder::{OsStringValueParser, PathBufValueParser, TypedValueParser};
use std::path::PathBuf;
use straggler_model::noise::NoiseSpec;
use straggler_model::path_text::text_of;

/// Parses text that may hold a path, which need not be UTF-8.
pub fn text() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().map(|typed| text_of(&typed))
}

/// Parses noise: the path of an existing file, or else a noise spec.
pub fn noise() -> impl TypedValueParser<Value = NoiseSpec> {
    OsStringValueParser::new().try_map(|typed| NoiseSpec::of_typed(&text_of(&typed)))
}

/// Parses a path whose name must pass a check.
pub fn path(pleases: fn(PathBuf) -> Result<PathBuf, String>) -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(pleases)
}

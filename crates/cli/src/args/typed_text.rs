//! Options that take a name, a description or a path, and keep it as text.

use clap::builder::{OsStringValueParser, PathBufValueParser, TypedValueParser};
use std::path::PathBuf;
use straggler_model::noise::NoiseSpec;
use straggler_model::path_text::text_of;

/// A text that may hold a path, which need not be UTF-8.
pub fn text() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().map(|typed| text_of(&typed))
}

/// Noise: the path of a file that is there, else a description.
pub fn noise() -> impl TypedValueParser<Value = NoiseSpec> {
    OsStringValueParser::new().try_map(|typed| NoiseSpec::of_typed(&text_of(&typed)))
}

/// The path of a file whose name must please.
pub fn path(pleases: fn(PathBuf) -> Result<PathBuf, String>) -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(pleases)
}

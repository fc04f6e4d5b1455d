//! Flat tables as Parquet files: a reader of what other programs write, and a writer.
//!
//! ```text
//! PAR1 │ group 0: column 0: page, page, … │ column 1: … │ group 1: … │ footer │ length of the footer │ PAR1
//!
//! footer (thrift) ─► Metadata: Schema, groups ─► Reader ─► Rows of a group ─► ColumnValues, some rows at a time
//! page: header (thrift) ─► compression ─► levels (which rows have a value) + encodings (their values)
//! ```
//! Files may come from anywhere and may be damaged: every length, offset and count in them is checked before it
//! is used, memory grows only with bytes that were really read or decompressed, and errors name the column, the
//! row group and the page. Nothing here panics because of a file's content.
//!
//! Nested columns (lists, structs, maps) are listed in the [`Schema`] but cannot be read.

mod compression;
mod encodings;
mod error;
mod metadata;
mod page_header;
mod pages;
mod reader;
mod schema;
mod sealed;
mod thrift;
mod values;
mod write;

pub use compression::Codec;
pub use error::Error;
pub use metadata::Group;
pub use reader::{Input, Reader, Rows};
pub use schema::{Column, ColumnType, Logical, Physical, Schema, Unit};
pub use sealed::{check_seal, read_sealed};
pub use values::{ColumnValues, Strings, Texts, Values};
pub use write::{Field, Kind, Layout, Seal, pages, write};

/// The first and the last bytes of a file.
const MAGIC: &[u8; 4] = b"PAR1";

// One test program for the crate: unit tests beside the code, and in `tests` those of what the crate offers.
#[cfg(test)]
extern crate self as straggler_parquet;
#[cfg(test)]
#[path = "../tests/parquet.rs"]
mod tests;

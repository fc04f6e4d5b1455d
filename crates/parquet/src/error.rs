//! Why a file cannot be read.

use std::io;

/// Why a file cannot be read as Parquet.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("a Parquet file begins with `PAR1`, this file does not")]
    NoMagic,
    #[error("the footer is missing: the file is truncated. Copy it again, or let its writer finish")]
    NoFooter,
    #[error("the footer is damaged ({0}). Copy the file again, or write it again")]
    Footer(Fault),
    #[error(
        "its checksum is wrong: it was changed or damaged after straggler wrote it. Copy it again, or write it again"
    )]
    Seal,
    #[error("the footer is encrypted: write the table without encryption")]
    EncryptedFooter,
    #[error("column {column} is encrypted: write the table without encryption")]
    EncryptedColumn { column: String },
    #[error("column {column} is nested (a list, struct or map): only flat columns can be read")]
    Nested { column: String },
    #[error("column {column} is in another file, which is not read: write the table as one file")]
    OtherFile { column: String },
    #[error(
        "column {column} is compressed with {codec}, which is not supported: write the table with zstd, snappy or \
         gzip, in pandas with `to_parquet(path, compression=\"zstd\")`"
    )]
    Codec { column: String, codec: String },
    #[error(
        "page {page} of column {column} in row group {group} is encoded as {encoding}, which is not supported: \
         write the table with plain or dictionary encoding"
    )]
    Encoding { column: String, group: usize, page: usize, encoding: String },
    #[error(
        "page {page} of column {column} in row group {group} is damaged ({fault}). Copy the file again, or write it \
         again"
    )]
    Page { column: String, group: usize, page: usize, fault: Fault },
}

/// What is wrong with some bytes.
pub type Fault = std::borrow::Cow<'static, str>;

/// A fault with numbers in it.
macro_rules! fault {
    ($($text:tt)*) => { crate::error::Fault::Owned(format!($($text)*)) };
}
pub(crate) use fault;

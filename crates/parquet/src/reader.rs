//! Files: the footer, and the rows of each group.

use crate::MAGIC;
use crate::compression::Codec;
use crate::error::{Error, Fault};
use crate::metadata::{Group, Metadata};
use crate::pages::ColumnReader;
use crate::schema::Schema;
use crate::values::ColumnValues;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes that can be read at any place, by several threads at once.
pub trait Input: Sync + fmt::Debug {
    fn length(&self) -> io::Result<u64>;
    /// Fills `into` with the bytes from `at` on.
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()>;
}

impl Input for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(into, at)
    }
}

impl Input for &[u8] {
    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let bytes = usize::try_from(at).ok().and_then(|at| self.get(at..)?.get(..into.len()));
        into.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// Bytes after the footer: its length and the final magic.
const BEHIND: u64 = 8;
const ENCRYPTED: &[u8; 4] = b"PARE";

/// A file whose footer was read.
#[derive(Debug)]
pub struct Reader<'a> {
    input: &'a dyn Input,
    metadata: Metadata,
}

impl<'a> Reader<'a> {
    /// Reads the footer.
    pub fn open(input: &'a dyn Input) -> Result<Reader<'a>, Error> {
        let length = input.length()?;
        let mut magic = [0; 4];
        if length >= 4 {
            input.read_at(0, &mut magic)?;
        }
        match &magic {
            MAGIC => {}
            ENCRYPTED => return Err(Error::EncryptedFooter),
            _ => return Err(Error::NoMagic),
        }
        let footer_end = length.checked_sub(BEHIND).filter(|&end| end >= 4).ok_or(Error::NoFooter)?;
        let mut behind = [0; BEHIND as usize];
        input.read_at(footer_end, &mut behind)?;
        let (stated, magic) = behind.split_at(4);
        match magic {
            magic if magic == MAGIC => {}
            magic if magic == ENCRYPTED => return Err(Error::EncryptedFooter),
            _ => return Err(Error::NoFooter),
        }
        let stated = u32::from_le_bytes([stated[0], stated[1], stated[2], stated[3]]);
        let longer = || Error::Footer("it is longer than the file".into());
        let at = footer_end.checked_sub(stated.into()).filter(|&at| at >= 4).ok_or_else(longer)?;
        let mut footer = vec![0; stated as usize];
        input.read_at(at, &mut footer)?;
        Ok(Reader { input, metadata: Metadata::decode(&footer, at).map_err(Error::Footer)? })
    }

    pub fn schema(&self) -> &Schema {
        &self.metadata.schema
    }

    pub fn groups(&self) -> &[Group] {
        &self.metadata.groups
    }

    /// The rows of a group, with some columns of the schema, in the order in which they are given.
    ///
    /// # Errors
    /// A column cannot be read: it is nested, encrypted or in another file, or its codec is not supported.
    pub fn rows(&self, group: usize, columns: &[usize]) -> Result<Rows<'a>, Error> {
        let missing = |what: &'static str| Error::Footer(Fault::Borrowed(what));
        let chunks = self.metadata.groups.get(group).ok_or_else(|| missing("it lists fewer row groups"))?;
        let rows = usize::try_from(chunks.rows).map_err(|_| missing("it states too many rows"))?;
        let open = |&place: &usize| {
            let column = self.schema().columns.get(place).zip(chunks.chunks.get(place));
            let (column, chunk) = column.ok_or_else(|| missing("it lists fewer columns"))?;
            let name = || column.name.clone();
            if column.nested {
                return Err(Error::Nested { column: name() });
            }
            if chunk.encrypted {
                return Err(Error::EncryptedColumn { column: name() });
            }
            if chunk.in_other_file {
                return Err(Error::OtherFile { column: name() });
            }
            let codec = Codec::of_number(chunk.codec);
            let codec = codec.map_err(|codec| Error::Codec { column: name(), codec })?;
            Ok(ColumnReader::new(self.input, column, group, rows, chunk, codec))
        };
        Ok(Rows { left: rows, columns: columns.iter().map(open).collect::<Result<_, _>>()? })
    }
}

/// The rows of a group, some at a time.
#[derive(Debug)]
pub struct Rows<'a> {
    left: usize,
    columns: Vec<ColumnReader<'a>>,
}

impl Rows<'_> {
    /// Reads up to `most` rows of each column in place of those before; returns their number, 0 after the last and
    /// without columns.
    pub fn next(&mut self, most: usize) -> Result<usize, Error> {
        if self.columns.is_empty() {
            return Ok(0);
        }
        let count = most.min(self.left);
        for column in &mut self.columns {
            column.read(count)?;
        }
        self.left -= count;
        if self.left == 0 {
            self.columns.iter().try_for_each(ColumnReader::check_end)?;
        }
        Ok(count)
    }

    /// Whether a page so far has no checksum, so that changes of its bytes may go unnoticed.
    pub fn are_unchecked(&self) -> bool {
        self.columns.iter().any(ColumnReader::is_unchecked)
    }

    /// The rows that were read last, of the column with this place among those that were asked for.
    pub fn column(&self, place: usize) -> &ColumnValues {
        self.columns[place].values()
    }
}

//! The anchor file, which lists what an archive consists of. It is one chunk without event numbers.

use super::bytes::Cursor;
use super::error::Fault;

/// Plain files, not inside a container.
pub(super) const POSIX: u8 = 1;
pub(super) const UNCOMPRESSED: u8 = 1;
pub(super) const MAGIC: &str = "OTF2";

/// What the anchor file says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Anchor {
    /// The version of the library that wrote the archive.
    pub(super) version: [u8; 3],
    pub(super) event_chunk: u64,
    pub(super) definition_chunk: u64,
    pub(super) substrate: u8,
    pub(super) compression: u8,
    pub(super) locations: u64,
    pub(super) definitions: u64,
    pub(super) machine: String,
    pub(super) creator: String,
    pub(super) description: String,
    pub(super) properties: Vec<(String, String)>,
}

impl Anchor {
    pub(super) fn parse(bytes: &[u8]) -> Result<Anchor, Fault> {
        let no_anchor = || Fault::new(0, "is not an OTF2 anchor file: give the file that ends in .otf2");
        let mut cursor = Cursor::open(bytes).map_err(|_| no_anchor())?;
        if cursor.text().ok().as_deref() != Some(MAGIC) {
            return Err(no_anchor());
        }
        // Two bytes with the version of the format itself, the same from libotf2 2.0 to 3.0.
        cursor.u8()?;
        cursor.u8()?;
        let version = [cursor.u8()?, cursor.u8()?, cursor.u8()?];
        let event_chunk = cursor.full_u64()?;
        let definition_chunk = cursor.full_u64()?;
        let (substrate, compression) = (cursor.u8()?, cursor.u8()?);
        let (locations, definitions) = (cursor.full_u64()?, cursor.full_u64()?);
        let (machine, creator, description) = (cursor.text()?, cursor.text()?, cursor.text()?);
        let count = cursor.full_u32()? as usize;
        let mut properties = Vec::with_capacity(count.min(cursor.left()));
        for _ in 0..count {
            properties.push((cursor.text()?, cursor.text()?));
        }
        Ok(Anchor {
            version,
            event_chunk,
            definition_chunk,
            substrate,
            compression,
            locations,
            definitions,
            machine,
            creator,
            description,
            properties,
        })
    }
}

//! How pages are compressed. Memory grows with what is really decompressed, never beyond what the header states.

mod lz4;
mod zstd;

use crate::error::{Fault, fault};
use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use std::io::{self, Read, Write};

/// The compression of a column's pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Codec {
    None,
    Snappy,
    Gzip,
    Zstd,
    Lz4,
    /// LZ4 as Hadoop frames it.
    HadoopLz4,
}

impl Codec {
    /// The codec with this number in `parquet.thrift`.
    ///
    /// # Errors
    /// The name of a codec that is not supported.
    pub fn of_number(number: i32) -> Result<Codec, String> {
        Ok(match number {
            0 => Codec::None,
            1 => Codec::Snappy,
            2 => Codec::Gzip,
            3 => return Err("LZO".into()),
            4 => return Err("Brotli".into()),
            5 => Codec::HadoopLz4,
            6 => Codec::Zstd,
            7 => Codec::Lz4,
            other => return Err(format!("the unknown codec {other}")),
        })
    }

    pub(crate) fn number(self) -> i32 {
        match self {
            Codec::None => 0,
            Codec::Snappy => 1,
            Codec::Gzip => 2,
            Codec::HadoopLz4 => 5,
            Codec::Zstd => 6,
            Codec::Lz4 => 7,
        }
    }

    /// How many bytes a byte can stand for at most, with room to spare.
    fn most_per_byte(self) -> usize {
        match self {
            Codec::None => 1,
            // A copy of 64 bytes takes 3.
            Codec::Snappy => 32,
            Codec::Gzip => 1100,
            Codec::Lz4 | Codec::HadoopLz4 => 256,
            // A block of 128 kB takes 4 bytes.
            Codec::Zstd => 1 << 15,
        }
    }
}

/// Decompresses pages, one after the other, with the same memory.
#[derive(Default)]
pub struct Unpacker {
    zstd: Option<Box<ruzstd::decoding::FrameDecoder>>,
}

impl std::fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Unpacker")
    }
}

/// For very short pages: headers, and room for small constants.
const ROOM: usize = 1024;

impl Unpacker {
    /// Appends exactly `length` bytes.
    pub fn unpack(
        &mut self,
        codec: Codec,
        packed: &[u8],
        length: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        if length == 0 {
            return Ok(());
        }
        if length > packed.len().saturating_mul(codec.most_per_byte()).saturating_add(ROOM) {
            return Err(fault!("{} bytes cannot stand for {length}", packed.len()));
        }
        let first = out.len();
        match codec {
            Codec::None => out.extend_from_slice(packed),
            Codec::Snappy => snappy(packed, length, out)?,
            Codec::Gzip => {
                let mut unpacked = MultiGzDecoder::new(packed).take(length as u64 + 1);
                unpacked.read_to_end(out).map_err(|error| fault!("gzip: {error}"))?;
            }
            Codec::Zstd => zstd::unpack(self.zstd.get_or_insert_default(), packed, length, out)?,
            Codec::Lz4 => lz4::unpack(packed, length, out)?,
            Codec::HadoopLz4 => lz4::unpack_hadoop(packed, length, out)?,
        }
        match out.len() - first == length {
            true => Ok(()),
            false => Err(fault!("it decompresses to another length than {length} bytes")),
        }
    }
}

fn snappy(packed: &[u8], length: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
    let text = |error: snap::Error| fault!("snappy: {error}");
    if snap::raw::decompress_len(packed).map_err(text)? != length {
        return Err(fault!("it decompresses to another length than {length} bytes"));
    }
    let first = out.len();
    out.resize(first + length, 0);
    snap::raw::Decoder::new().decompress(packed, &mut out[first..]).map_err(text)?;
    Ok(())
}

/// Compresses a page.
pub fn pack(codec: Codec, bytes: &[u8]) -> io::Result<Vec<u8>> {
    match codec {
        Codec::None => Ok(bytes.to_vec()),
        Codec::Snappy => snap::raw::Encoder::new().compress_vec(bytes).map_err(io::Error::other),
        Codec::Gzip => {
            let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
            packer.write_all(bytes)?;
            packer.finish()
        }
        Codec::Zstd | Codec::Lz4 | Codec::HadoopLz4 => {
            Err(io::Error::other(format!("pages are not compressed with {codec:?}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_gzip_follow_each_other() {
        let packed = [pack(Codec::Gzip, b"one ").unwrap(), pack(Codec::Gzip, b"two").unwrap()].concat();
        let mut out = b">".to_vec();
        Unpacker::default().unpack(Codec::Gzip, &packed, 7, &mut out).unwrap();
        assert_eq!(out, b">one two");
        assert!(Unpacker::default().unpack(Codec::Gzip, &packed, 6, &mut out).is_err());
    }

    /// A header may state any length.
    #[test]
    fn long_claims_cost_nothing() {
        for number in [0, 1, 2, 5, 6, 7] {
            let codec = Codec::of_number(number).unwrap();
            let mut out = Vec::new();
            let result = Unpacker::default().unpack(codec, &[0x20; 64], i32::MAX as usize, &mut out);
            assert!(result.is_err() && out.capacity() < 1 << 16, "{codec:?}");
        }
    }
}

//! zlib data, as PNG and PDF have them.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write;

pub fn compressed(data: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::with_capacity(data.len() / 8), Compression::default());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(data);
    encoder.finish().unwrap_or_default()
}

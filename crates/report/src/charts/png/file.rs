//! The PNG file format (ISO/IEC 15948), as far as pictures without transparency need it.

use crate::charts::zlib::compressed;
use tiny_skia::Pixmap;

const SIGNATURE: &[u8; 8] = b"\x89PNG\r\n\x1a\n";
/// Eight bits for each of red, green and blue; no interlacing.
const KIND: [u8; 5] = [8, 2, 0, 0, 0];
const CHANNELS: usize = 3;

/// The bytes of the file. Pixels are opaque: the paper is.
pub fn encoded(pixels: &Pixmap) -> Vec<u8> {
    let mut header = Vec::with_capacity(13);
    header.extend(pixels.width().to_be_bytes());
    header.extend(pixels.height().to_be_bytes());
    header.extend(KIND);
    let mut file = SIGNATURE.to_vec();
    push_chunk(&mut file, b"IHDR", &header);
    push_chunk(&mut file, b"IDAT", &compressed(&rows(pixels)));
    push_chunk(&mut file, b"IEND", &[]);
    file
}

/// Each row starts with a zero: its bytes are not filtered. Charts are mostly of one colour, and compress
/// best so.
fn rows(pixels: &Pixmap) -> Vec<u8> {
    let (width, height) = (pixels.width() as usize, pixels.height() as usize);
    let mut rows = Vec::with_capacity(height * (1 + CHANNELS * width));
    for row in pixels.pixels().chunks(width.max(1)) {
        rows.push(0);
        rows.extend(row.iter().flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]));
    }
    rows
}

fn push_chunk(file: &mut Vec<u8>, name: &[u8; 4], data: &[u8]) {
    file.extend((data.len() as u32).to_be_bytes());
    let start = file.len();
    file.extend(name);
    file.extend(data);
    let sum = crc32fast::hash(&file[start..]);
    file.extend(sum.to_be_bytes());
}

//! Zstandard.

use crate::error::{Fault, fault};
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::Read;

/// Frames may look back this far, even if the page is shorter: writers that do not know its length state as much.
const WINDOW: u64 = 1 << 23;
/// Decompressed at a time.
const PART: usize = 1 << 20;

/// Appends the content of all frames, at most a few bytes more than `length`.
pub fn unpack(
    decoder: &mut FrameDecoder,
    mut packed: &[u8],
    length: usize,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let text = |error: FrameDecoderError| fault!("zstd: {error}");
    let first = out.len();
    decoder.set_max_window_size(WINDOW.max(length as u64));
    while !packed.is_empty() {
        match decoder.init(&mut packed) {
            Ok(()) => {}
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length, ..
            })) => {
                packed = packed.get(length as usize..).ok_or("zstd: a frame ends too early")?;
                continue;
            }
            Err(error) => return Err(text(error)),
        }
        loop {
            decoder.decode_blocks(&mut packed, BlockDecodingStrategy::UptoBytes(PART)).map_err(text)?;
            let ready = decoder.can_collect();
            if ready > length - (out.len() - first) {
                return Err(fault!("it decompresses to more than {length} bytes"));
            }
            let at = out.len();
            out.resize(at + ready, 0);
            decoder.read_exact(&mut out[at..]).map_err(|error| fault!("zstd: {error}"))?;
            if decoder.is_finished() {
                break;
            }
        }
    }
    Ok(())
}

//! Converts SVG to pixels, at twice its nominal size, with bundled fonts, so that a machine without fonts
//! draws the same picture.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use std::sync::Arc;

/// Noto Sans, under the Open Font License; see `fonts/OFL.txt`.
const FACES: [&[u8]; 2] =
    [include_bytes!("../../fonts/NotoSans-Regular.ttf"), include_bytes!("../../fonts/NotoSans-Bold.ttf")];
const FAMILY: &str = "Noto Sans";

/// Pixels of the PNG per pixel of the SVG.
const MAGNIFICATION: f32 = 2.0;

/// Why a picture cannot be converted to PNG.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    #[error("the picture is not an SVG that can be drawn: {0}")]
    Unreadable(String),
    #[error("a picture of {width} × {height} pixels does not fit in memory")]
    TooLarge { width: f32, height: f32 },
    #[error("the pixels cannot be encoded: {0}")]
    Encoding(String),
}

/// The bytes of a PNG file.
pub fn to_png(svg: &str) -> Result<Vec<u8>, PngError> {
    let tree = Tree::from_str(svg, &options()).map_err(|error| PngError::Unreadable(error.to_string()))?;
    let (width, height) = (tree.size().width() * MAGNIFICATION, tree.size().height() * MAGNIFICATION);
    let too_large = || PngError::TooLarge { width, height };
    let mut pixels = Pixmap::new(width.ceil() as u32, height.ceil() as u32).ok_or_else(too_large)?;
    resvg::render(&tree, Transform::from_scale(MAGNIFICATION, MAGNIFICATION), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| PngError::Encoding(error.to_string()))
}

/// Options with only the bundled fonts.
pub(super) fn options() -> Options<'static> {
    let mut fonts = fontdb::Database::new();
    for face in FACES {
        fonts.load_font_data(face.to_vec());
    }
    fonts.set_sans_serif_family(FAMILY);
    Options { fontdb: Arc::new(fonts), font_family: FAMILY.into(), ..Options::default() }
}

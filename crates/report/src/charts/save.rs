//! Writes pictures to files; the file name selects the format.

use super::Picture;
use super::png::PngError;
use crate::{ReplaceError, replace_file};
use std::path::{Path, PathBuf};

/// A kind of picture file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImageFormat {
    Svg,
    Png,
    Pdf,
}

/// Why a picture was not written.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    #[error("{}: pictures are written as SVG, PNG or PDF: end the name with .svg, .png or .pdf", .0.display())]
    UnknownFormat(PathBuf),
    #[error("{}: {fault}", path.display())]
    Png { path: PathBuf, fault: PngError },
    #[error(transparent)]
    Unwritable(#[from] ReplaceError),
}

impl ImageFormat {
    /// Selects the format by the file extension, ignoring case.
    pub fn from_path(path: &Path) -> Result<ImageFormat, SaveError> {
        let extension = path.extension().map(|end| end.to_string_lossy().to_ascii_lowercase());
        match extension.as_deref() {
            Some("svg") => Ok(ImageFormat::Svg),
            Some("png") => Ok(ImageFormat::Png),
            Some("pdf") => Ok(ImageFormat::Pdf),
            _ => Err(SaveError::UnknownFormat(path.into())),
        }
    }
}

/// Writes a picture atomically.
pub fn save(path: &Path, picture: &Picture) -> Result<(), SaveError> {
    let bytes = match ImageFormat::from_path(path)? {
        ImageFormat::Svg => picture.svg().into_bytes(),
        ImageFormat::Png => picture.png().map_err(|fault| SaveError::Png { path: path.into(), fault })?,
        ImageFormat::Pdf => picture.pdf(),
    };
    Ok(replace_file(path, |out| out.write_all(&bytes))?)
}

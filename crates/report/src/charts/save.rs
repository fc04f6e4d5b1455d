//! Pictures become files; the name says which kind.

use super::png::{PngError, to_png};
use crate::{ReplaceError, replace_file};
use std::path::{Path, PathBuf};

/// A kind of picture file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImageFormat {
    Svg,
    Png,
}

/// Why a picture was not written.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    #[error("{}: pictures are written as SVG or PNG: end the name with .svg or .png", .0.display())]
    UnknownFormat(PathBuf),
    #[error("{}: {fault}", path.display())]
    Png { path: PathBuf, fault: PngError },
    #[error(transparent)]
    Unwritable(#[from] ReplaceError),
}

impl ImageFormat {
    /// By the end of the name, in small letters or capitals.
    pub fn of(path: &Path) -> Result<ImageFormat, SaveError> {
        let extension = path.extension().map(|end| end.to_string_lossy().to_ascii_lowercase());
        match extension.as_deref() {
            Some("svg") => Ok(ImageFormat::Svg),
            Some("png") => Ok(ImageFormat::Png),
            _ => Err(SaveError::UnknownFormat(path.into())),
        }
    }
}

/// Writes a picture, whole or not at all.
pub fn save(path: &Path, svg: &str) -> Result<(), SaveError> {
    let png;
    let bytes = match ImageFormat::of(path)? {
        ImageFormat::Svg => svg.as_bytes(),
        ImageFormat::Png => {
            png = to_png(svg).map_err(|fault| SaveError::Png { path: path.into(), fault })?;
            &png
        }
    };
    Ok(replace_file(path, |out| out.write_all(bytes))?)
}

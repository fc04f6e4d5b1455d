//! Converts SVG to PDF: lines and texts stay vector graphics, in the bundled fonts.

use super::png::options;
use resvg::usvg::Tree;
use svg2pdf::{ConversionOptions, PageOptions};

/// Why a picture cannot be converted to PDF.
#[derive(Debug, thiserror::Error)]
pub enum PdfError {
    #[error("the picture is not an SVG that can be drawn: {0}")]
    Unreadable(String),
    #[error("the picture cannot be converted to PDF: {0}")]
    Conversion(String),
}

/// The bytes of a PDF file of one page, as large as the picture at 96 pixels an inch.
pub fn to_pdf(svg: &str) -> Result<Vec<u8>, PdfError> {
    let tree = Tree::from_str(svg, &options()).map_err(|error| PdfError::Unreadable(error.to_string()))?;
    let page = PageOptions { dpi: 96.0 };
    svg2pdf::to_pdf(&tree, ConversionOptions::default(), page)
        .map_err(|error| PdfError::Conversion(error.to_string()))
}

//! Pictures as PDF (ISO 32000-1) of one page. Lines stay vector graphics, and texts stay texts that can be
//! searched and copied: the page refers to the bundled font by glyph, and a table in the file maps glyphs
//! back to letters.

mod file;
mod fonts;
mod page;
mod subset;

use super::canvas::Drawing;
use super::svg::Number;
use file::{File, text_string};
use page::Page;
use std::fmt::Write;

/// Points per pixel: pages are as large as the picture at 96 pixels an inch.
const POINTS: f64 = 72.0 / 96.0;

/// The bytes of a PDF file.
pub fn to_pdf(drawing: &Drawing) -> Vec<u8> {
    let page = Page::new(drawing);
    let mut file = File::new();
    let [catalog, pages, leaf, content, info] = std::array::from_fn(|_| file.reserve());
    file.object(catalog, &format!("<</Type/Catalog/Pages {pages}>>"));
    file.object(pages, &format!("<</Type/Pages/Kids[{leaf}]/Count 1>>"));
    let resources = resources(&mut file, &page);
    let [width, height] = [drawing.width, drawing.height].map(|length| Number(length * POINTS));
    file.object(
        leaf,
        &format!(
            "<</Type/Page/Parent {pages}/MediaBox[0 0 {width} {height}]/Contents {content}\
             /Resources<<{resources}>>/Group<</S/Transparency/CS/DeviceRGB>>>>"
        ),
    );
    file.stream(content, "", page.operators.as_bytes());
    let (title, subject) = (text_string(&drawing.title), text_string(&drawing.description));
    file.object(info, &format!("<</Title{title}/Subject{subject}/Creator(straggler)>>"));
    file.finish(catalog, info)
}

/// The fonts and opacities of a page.
fn resources(file: &mut File, page: &Page) -> String {
    let mut resources = String::from("/Font<<");
    for used in &page.fonts {
        if let Some(font) = fonts::embed(file, used) {
            let _ = write!(resources, "/{} {font}", used.name());
        }
    }
    resources.push_str(">>/ExtGState<<");
    for percent in &page.opacities {
        let _ = write!(resources, "/A{percent}<</ca {}>>", Number(f64::from(*percent) / 100.0));
    }
    resources.push_str(">>");
    resources
}

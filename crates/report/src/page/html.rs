//! A page and its viewer, in one file.

use super::Page;
use crate::charts::escaped;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// Built from `web/report`, with two placeholders.
const TEMPLATE: &str = include_str!("../../page/report.html");
const TITLE: &str = "@@TITLE@@";
const DATA: &str = "@@DATA@@";

impl Page {
    /// The whole report: one file that works from disk, without a network.
    pub fn to_html(&self) -> String {
        // The data are inserted last and consist of letters, digits, `+`, `/` and `=`, so they can neither
        // end the element they are in nor be taken for a placeholder.
        let (before, after) = TEMPLATE.split_once(DATA).unwrap_or((TEMPLATE, ""));
        let title = escaped(&self.title);
        let data = BASE64_STANDARD.encode(self.to_container());
        [&before.replace(TITLE, &title), &data, &after.replace(TITLE, &title)].map(String::as_str).concat()
    }

    /// Extracts the page from a report that [`Page::to_html`] wrote; `None` if there is none.
    pub fn from_html(html: &str) -> Option<Result<Page, super::PageError>> {
        let (_, rest) = html.split_once("<script id=\"data\"")?;
        let (data, _) = rest.split_once('>')?.1.split_once("</script>")?;
        let bytes = BASE64_STANDARD.decode(data.trim()).ok()?;
        Some(Page::from_container(&bytes))
    }
}

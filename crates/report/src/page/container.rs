//! The container of a page: a JSON header followed by columns, compressed. `docs/report-format.md` describes
//! the layout.
//!
//! The reader trusts nothing: lengths are checked against the data before anything is allocated, and a small
//! file that would become a huge page is refused.

use super::columns::Exchange;
use super::plot::TYPES;
use super::{Block, Chart, Facts, Page, Plot, Section, Table};
use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{Read, Write};

const MAGIC: &[u8; 17] = b"straggler page 1\n";
/// Length of the magic and the header length.
const BEFORE_HEADER: usize = MAGIC.len() + 4;
/// Alignment of columns.
const ALIGNMENT: usize = 8;
/// The largest page that is read, header and columns.
const MOST_BYTES: usize = 1 << 30;

/// Why bytes are not a page.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    #[error("it is not a compressed page, or it is damaged: {0}")]
    Compression(std::io::Error),
    #[error("it holds more than {} GiB", MOST_BYTES >> 30)]
    TooLarge,
    #[error("it does not start like a page")]
    Magic,
    #[error("it has version {0} of the format, and only version 1 is supported: use a newer straggler")]
    Version(String),
    #[error("it ends in the middle of its header")]
    Truncated,
    #[error("its header cannot be parsed: {0}")]
    Header(serde_json::Error),
    #[error("its column {index} is {problem}")]
    Column { index: usize, problem: &'static str },
}

/// A plot with column numbers instead of columns.
type Indices = Plot<usize, usize, usize>;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Type {
    F64,
    U32,
    U8,
}

impl Type {
    fn size(self) -> usize {
        match self {
            Type::F64 => 8,
            Type::U32 => 4,
            Type::U8 => 1,
        }
    }
}

/// The location of a column: its offset in bytes from the first column, and its number of entries.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct ColumnAt {
    r#type: Type,
    offset: usize,
    length: usize,
}

#[derive(Serialize, Deserialize)]
struct Header<B> {
    columns: Vec<ColumnAt>,
    #[serde(flatten)]
    body: Body<B>,
}

#[derive(Serialize, Deserialize)]
struct Body<B> {
    #[serde(default)]
    title: String,
    #[serde(default)]
    summary: Vec<String>,
    #[serde(default)]
    facts: Facts,
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    #[serde(default = "Vec::new")]
    sections: Vec<HeaderSection<B>>,
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Body<B>>,
}

#[derive(Serialize, Deserialize)]
struct HeaderSection<B> {
    #[serde(default)]
    title: String,
    #[serde(default)]
    text: Vec<String>,
    #[serde(default = "Vec::new")]
    blocks: Vec<B>,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum WrittenBlock<'a> {
    Table(&'a Table),
    Chart(Box<Chart<Indices>>),
}

impl Page {
    /// Encodes the page as a `.page` file; the same page gives the same bytes.
    pub fn to_container(&self) -> Vec<u8> {
        let mut columns = Packing::default();
        let body = body(self, &mut columns);
        let header = Header { columns: columns.places, body };
        // Serialisation cannot fail: the header consists of texts and numbers with textual keys.
        let mut header = serde_json::to_vec(&header).unwrap_or_default();
        let end = aligned(BEFORE_HEADER + header.len());
        header.resize(end - BEFORE_HEADER, b' ');
        let length = (header.len() as u32).to_le_bytes();
        compressed(&[MAGIC, &length, &header, &columns.bytes])
    }

    /// Decodes the output of [`Page::to_container`]. Blocks of unknown kinds are left out, with a warning in
    /// the page.
    pub fn from_container(bytes: &[u8]) -> Result<Page, PageError> {
        let bytes = inflated(bytes)?;
        let (header, columns) = split(&bytes)?;
        let header: Header<Value> = serde_json::from_slice(header).map_err(PageError::Header)?;
        let mut reading =
            Unpacking { places: &header.columns, bytes: columns, left: MOST_BYTES, unknown: Vec::new() };
        let mut page = reading.page(header.body)?;
        page.warnings.extend(reading.unknown);
        Ok(page)
    }
}

fn body<'a>(page: &'a Page, columns: &mut Packing) -> Body<WrittenBlock<'a>> {
    Body {
        title: page.title.clone(),
        summary: page.summary.clone(),
        facts: page.facts.clone(),
        warnings: page.warnings.clone(),
        notes: page.notes.clone(),
        sections: page.sections.iter().map(|section| written(section, columns)).collect(),
        parts: page.parts.iter().map(|part| body(part, columns)).collect(),
    }
}

fn written<'a>(section: &'a Section, columns: &mut Packing) -> HeaderSection<WrittenBlock<'a>> {
    let block = |block: &'a Block| match block {
        Block::Table(table) => WrittenBlock::Table(table),
        Block::Chart(chart) => {
            let Ok(plot) = chart.plot.exchange(columns);
            let (title, note, command) = (chart.title.clone(), chart.note.clone(), chart.command.clone());
            WrittenBlock::Chart(Box::new(Chart { title, note, command, synthetic: chart.synthetic, plot }))
        }
    };
    HeaderSection {
        title: section.title.clone(),
        text: section.text.clone(),
        blocks: section.blocks.iter().map(block).collect(),
    }
}

/// Collects the columns while a container is written.
#[derive(Default)]
struct Packing {
    places: Vec<ColumnAt>,
    bytes: Vec<u8>,
}

impl Packing {
    fn add(&mut self, r#type: Type, length: usize, bytes: impl IntoIterator<Item = u8>) -> usize {
        let offset = aligned(self.bytes.len());
        self.bytes.resize(offset, 0);
        self.bytes.extend(bytes);
        self.places.push(ColumnAt { r#type, offset, length });
        self.places.len() - 1
    }
}

impl Exchange<Vec<f64>, Vec<u32>, Vec<u8>> for Packing {
    type F = usize;
    type U = usize;
    type B = usize;
    type Error = std::convert::Infallible;

    fn numbers(&mut self, column: &Vec<f64>) -> Result<usize, Self::Error> {
        Ok(self.add(Type::F64, column.len(), column.iter().flat_map(|value| value.to_le_bytes())))
    }

    fn whole(&mut self, column: &Vec<u32>) -> Result<usize, Self::Error> {
        Ok(self.add(Type::U32, column.len(), column.iter().flat_map(|value| value.to_le_bytes())))
    }

    fn bytes(&mut self, column: &Vec<u8>) -> Result<usize, Self::Error> {
        Ok(self.add(Type::U8, column.len(), column.iter().copied()))
    }
}

/// Extracts the columns while a container is read.
struct Unpacking<'a> {
    places: &'a [ColumnAt],
    bytes: &'a [u8],
    /// Bytes that may still be expanded into columns. Limited because many columns could share one location.
    left: usize,
    /// Warnings about parts that were left out.
    unknown: Vec<String>,
}

impl<'a> Unpacking<'a> {
    fn page(&mut self, body: Body<Value>) -> Result<Page, PageError> {
        let Body { title, summary, facts, warnings, notes, sections, parts } = body;
        let mut page = Page { title, summary, facts, warnings, notes, ..Page::default() };
        for section in sections {
            let mut blocks = Vec::new();
            for block in section.blocks {
                blocks.extend(self.block(block)?);
            }
            page.sections.push(Section { title: section.title, text: section.text, blocks });
        }
        page.parts = parts.into_iter().map(|part| self.page(part)).collect::<Result<_, _>>()?;
        Ok(page)
    }

    fn block(&mut self, block: Value) -> Result<Option<Block>, PageError> {
        let kind = block.get("kind").and_then(Value::as_str).unwrap_or_default();
        let plot = block.get("plot").and_then(|plot| plot.get("type")).and_then(Value::as_str);
        match (kind, plot) {
            ("table", _) => {
                let table: Table = serde_json::from_value(block).map_err(PageError::Header)?;
                Ok(Some(Block::Table(table)))
            }
            ("chart", Some(plot)) if TYPES.contains(&plot) => {
                let read: Chart<Indices> = serde_json::from_value(block).map_err(PageError::Header)?;
                let Chart { title, note, command, synthetic, plot } = read;
                let plot = plot.exchange(self)?;
                Ok(Some(Block::Chart(Chart { title, note, command, synthetic, plot })))
            }
            (kind, plot) => {
                let what = plot.unwrap_or(kind);
                self.unknown.push(format!("a part of the unknown kind `{what}` was left out"));
                Ok(None)
            }
        }
    }

    fn find(&mut self, index: usize, r#type: Type) -> Result<&'a [u8], PageError> {
        let fault = |problem| PageError::Column { index, problem };
        let place = self.places.get(index).ok_or_else(|| fault("missing"))?;
        if place.r#type != r#type {
            return Err(fault("of the wrong type for its plot"));
        }
        let length = place.length.checked_mul(r#type.size()).ok_or_else(|| fault("longer than the file"))?;
        let end = place.offset.checked_add(length).ok_or_else(|| fault("longer than the file"))?;
        let bytes = self.bytes.get(place.offset..end).ok_or_else(|| fault("longer than the file"))?;
        self.left = self.left.checked_sub(length).ok_or(PageError::TooLarge)?;
        Ok(bytes)
    }
}

impl Exchange<usize, usize, usize> for Unpacking<'_> {
    type F = Vec<f64>;
    type U = Vec<u32>;
    type B = Vec<u8>;
    type Error = PageError;

    fn numbers(&mut self, column: &usize) -> Result<Vec<f64>, PageError> {
        let (entries, _) = self.find(*column, Type::F64)?.as_chunks();
        Ok(entries.iter().map(|entry| f64::from_le_bytes(*entry)).collect())
    }

    fn whole(&mut self, column: &usize) -> Result<Vec<u32>, PageError> {
        let (entries, _) = self.find(*column, Type::U32)?.as_chunks();
        Ok(entries.iter().map(|entry| u32::from_le_bytes(*entry)).collect())
    }

    fn bytes(&mut self, column: &usize) -> Result<Vec<u8>, PageError> {
        Ok(self.find(*column, Type::U8)?.to_vec())
    }
}

fn aligned(offset: usize) -> usize {
    offset.next_multiple_of(ALIGNMENT)
}

/// Splits into the header and the columns.
fn split(bytes: &[u8]) -> Result<(&[u8], &[u8]), PageError> {
    if !bytes.starts_with(MAGIC) {
        let version =
            bytes.strip_prefix(b"straggler page ").and_then(|rest| rest.split(|&b| b == b'\n').next());
        return Err(match version {
            Some(version) if version.len() < 20 => {
                PageError::Version(String::from_utf8_lossy(version).into_owned())
            }
            _ => PageError::Magic,
        });
    }
    let length = bytes.get(MAGIC.len()..).and_then(|rest| rest.first_chunk()).ok_or(PageError::Truncated)?;
    let end = BEFORE_HEADER.saturating_add(u32::from_le_bytes(*length) as usize);
    let header = bytes.get(BEFORE_HEADER..end).ok_or(PageError::Truncated)?;
    Ok((header, bytes.get(aligned(end)..).unwrap_or_default()))
}

/// Compresses without a time or system in the gzip header, so that the output depends only on the page.
fn compressed(parts: &[&[u8]]) -> Vec<u8> {
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    for part in parts {
        let _ = encoder.write_all(part);
    }
    encoder.finish().unwrap_or_default()
}

fn inflated(bytes: &[u8]) -> Result<Vec<u8>, PageError> {
    let mut whole = Vec::new();
    let mut decoder = GzDecoder::new(bytes).take(MOST_BYTES as u64 + 1);
    decoder.read_to_end(&mut whole).map_err(PageError::Compression)?;
    if whole.len() > MOST_BYTES { Err(PageError::TooLarge) } else { Ok(whole) }
}

//! The container of a PDF: numbered objects, and a table of where each starts.

use crate::charts::zlib::compressed;
use std::fmt;
use std::io::Write;

/// A PDF that grows object by object.
#[derive(Debug)]
pub struct File {
    bytes: Vec<u8>,
    /// Where each object starts; zero until it is written.
    starts: Vec<usize>,
}

/// The number of an object; shown as a reference to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Id(usize);

impl fmt::Display for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} 0 R", self.0)
    }
}

impl File {
    pub fn new() -> File {
        // Bytes above 127 tell programs that the file is not text.
        File { bytes: b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n".to_vec(), starts: Vec::new() }
    }

    /// The number of an object to be written later; each must be.
    pub fn reserve(&mut self) -> Id {
        self.starts.push(0);
        Id(self.starts.len())
    }

    pub fn object(&mut self, id: Id, body: &str) {
        self.begin(id);
        self.bytes.extend(body.as_bytes());
        self.bytes.extend(b"\nendobj\n");
    }

    /// Writes data, compressed; `entries` go into its dictionary.
    pub fn stream(&mut self, id: Id, entries: &str, data: &[u8]) {
        let data = compressed(data);
        self.begin(id);
        let head = format!("<</Filter/FlateDecode/Length {}{entries}>>\nstream\n", data.len());
        self.bytes.extend(head.as_bytes());
        self.bytes.extend(&data);
        self.bytes.extend(b"\nendstream\nendobj\n");
    }

    fn begin(&mut self, id: Id) {
        if let Some(start) = self.starts.get_mut(id.0 - 1) {
            *start = self.bytes.len();
        }
        self.bytes.extend(format!("{} 0 obj\n", id.0).as_bytes());
    }

    /// Appends the table of objects and returns all bytes.
    pub fn finish(self, catalog: Id, info: Id) -> Vec<u8> {
        let File { mut bytes, starts } = self;
        let (table, size) = (bytes.len(), starts.len() + 1);
        // Each line of the table has 20 bytes; object 0 does not exist.
        bytes.extend(format!("xref\n0 {size}\n0000000000 65535 f \n").as_bytes());
        for start in starts {
            // Writing to memory cannot fail.
            let _ = writeln!(bytes, "{start:010} 00000 n ");
        }
        let trailer = format!("trailer\n<</Size {size}/Root {catalog}/Info {info}>>\nstartxref\n{table}\n");
        bytes.extend(trailer.as_bytes());
        bytes.extend(b"%%EOF\n");
        bytes
    }
}

/// A text for readers, as UTF-16 with its byte order mark.
pub fn text_string(text: &str) -> String {
    format!("<FEFF{}>", utf16(text))
}

/// UTF-16, big endian, in hexadecimal digits.
pub fn utf16(text: &str) -> String {
    text.encode_utf16().map(|unit| format!("{unit:04X}")).collect()
}

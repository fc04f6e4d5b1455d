//! Flat tables as Parquet, using only a few parts of the format: plain pages, gzip, one footer. Any Parquet
//! reader can read these files. [`read`] accepts only unchanged files written by [`write()`].
//!
//! ```text
//! PAR1 │ group 0: column 0: page, page, … │ column 1: … │ group 1: … │ footer │ length of the footer │ PAR1
//! ```
//! A page has [`PAGE_ROWS`] rows and a group [`GROUP_ROWS`], the last ones fewer, so the number of rows
//! determines where each page is. All files of a layout have a footer with the same last bytes, except for
//! the checksum of the whole file in them. A reader can therefore find the checksum without parsing anything,
//! and decodes nothing before it has been verified.

mod metadata;
mod read;
mod thrift;
mod values;
mod write;

pub use read::read;
pub use values::{Texts, Values};
pub use write::write;

/// Rows of a page, and of a group of pages: both are part of the format.
const PAGE_ROWS: usize = 1 << 14;
const GROUP_ROWS: usize = 1 << 20;

const MAGIC: &[u8; 4] = b"PAR1";

/// The properties shared by all files of a table.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The name under which the footer states [`version`](Self::version).
    pub key: &'static str,
    pub version: &'static str,
    pub columns: &'static [Column],
}

#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub name: &'static str,
    pub kind: Kind,
}

/// The type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Text,
    Bool,
    U32,
    U64,
    OptionalU64,
    F64,
}

/// The number of rows in each page of one column chunk.
fn pages_of_group(rows: usize) -> impl Iterator<Item = usize> {
    (0..rows).step_by(PAGE_ROWS).map(move |first| PAGE_ROWS.min(rows - first))
}

/// The rows of every page of a column, in the order of the file.
pub fn pages(rows: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    groups(rows).flat_map(|(first, count)| {
        let page = move |at: usize| first + at..first + count.min(at + PAGE_ROWS);
        (0..count).step_by(PAGE_ROWS).map(page)
    })
}

/// The first row and the number of rows of every group.
fn groups(rows: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..rows).step_by(GROUP_ROWS).map(move |first| (first, GROUP_ROWS.min(rows - first)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout {
        key: "straggler.sample.version",
        version: "1",
        columns: &[
            Column { name: "text", kind: Kind::Text },
            Column { name: "flag", kind: Kind::Bool },
            Column { name: "short", kind: Kind::U32 },
            Column { name: "long", kind: Kind::U64 },
            Column { name: "maybe", kind: Kind::OptionalU64 },
            Column { name: "number", kind: Kind::F64 },
        ],
    };

    /// Some rows of one column.
    fn column(index: usize, rows: std::ops::Range<usize>) -> Values {
        let long = |row: usize| (row as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        match index {
            0 => Values::Text(rows.map(|row| format!("{}ß", row / 3)).collect()),
            1 => Values::Bool(rows.map(|row| long(row) % 3 == 0).collect()),
            2 => Values::U32(rows.map(|row| u32::MAX - row as u32).collect()),
            3 => Values::U64(rows.map(long).collect()),
            4 => Values::OptionalU64(
                rows.map(|row| (!(row / 70).is_multiple_of(2)).then(|| long(row))).collect(),
            ),
            _ => Values::F64(rows.map(|row| row as f64 / 7.0).collect()),
        }
    }

    fn written(rows: usize) -> Vec<u8> {
        let mut file = Vec::new();
        write(&mut file, &LAYOUT, rows, &mut column).unwrap();
        file
    }

    /// All rows, page by page, each with its columns.
    fn read_all(file: &[u8]) -> Result<Vec<Vec<Values>>, String> {
        read(file, &LAYOUT)?.collect()
    }

    #[test]
    fn tables_read_back() {
        for rows in [0, 1, 7, 8, PAGE_ROWS, PAGE_ROWS + 1, GROUP_ROWS + PAGE_ROWS + 5] {
            let pages = read_all(&written(rows)).unwrap();
            let mut first = 0;
            for page in pages {
                let until = rows.min(first + PAGE_ROWS);
                let expected: Vec<Values> = (0..6).map(|index| column(index, first..until)).collect();
                assert!(page == expected, "rows {first} to {until} of {rows}");
                first = until;
            }
            assert_eq!(first, rows);
        }
    }

    #[test]
    fn any_changed_byte_is_noticed() {
        let file = written(200);
        for at in 0..file.len() {
            for change in [1, 0x20, 0x80, 0xff] {
                let mut damaged = file.clone();
                damaged[at] ^= change;
                assert!(read_all(&damaged).is_err(), "byte {at} of {} changed by {change:#x}", file.len());
            }
        }
    }

    #[test]
    fn files_that_were_cut_or_lengthened_are_refused() {
        let file = written(200);
        for length in 0..file.len() {
            assert!(read_all(&file[..length]).is_err(), "{length} of {} bytes", file.len());
        }
        for more in 1..40 {
            let longer = [&file[..], &vec![0; more]].concat();
            assert!(read_all(&longer).is_err(), "{more} bytes more");
        }
    }

    /// A checksum can be forged: decoding must still not panic.
    #[test]
    fn nonsense_with_a_right_checksum_is_refused_or_read() {
        let file = written(200);
        for at in 0..file.len() {
            let mut forged = file.clone();
            forged[at] ^= 0x81;
            read::seal(&mut forged, &LAYOUT);
            let _ = read_all(&forged);
        }
    }

    #[test]
    fn other_tables_are_told_apart() {
        let mut other = LAYOUT;
        other.version = "2";
        assert!(read(&written(1), &other).unwrap_err().contains("straggler.sample.version = 2"));
        let mut file = Vec::new();
        write(&mut file, &Layout { columns: &LAYOUT.columns[..2], ..LAYOUT }, 1, &mut column).unwrap();
        assert!(read(&file, &LAYOUT).unwrap_err().contains("columns"));
    }
}

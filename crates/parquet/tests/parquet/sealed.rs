//! Files with a checksum.

use straggler_parquet::{
    Codec, ColumnValues, Field, Kind, Layout, Seal, Strings, Values, check_seal, pages, read_sealed, write,
};

const LAYOUT: Layout<'static> = Layout {
    columns: &[
        Field::new("text", Kind::Text),
        Field::new("flag", Kind::Bool),
        Field::new("short", Kind::U32),
        Field::new("long", Kind::U64),
        Field::new("maybe", Kind::U64).nullable(),
        Field::new("number", Kind::F64),
    ],
    codec: Codec::Gzip,
    seal: Some(Seal { key: "straggler.sample.version", version: "1" }),
};

/// Some rows of one column.
fn column(index: usize, rows: std::ops::Range<usize>) -> ColumnValues {
    let long = |row: usize| (row as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) as i64;
    let is_present = |row: usize| !(row / 70).is_multiple_of(2);
    match index {
        0 => Values::Bytes(rows.map(|row| format!("{}ß", row / 3)).collect::<Strings>()).into(),
        1 => Values::Bool(rows.map(|row| (long(row) as u64).is_multiple_of(3)).collect()).into(),
        2 => Values::I32(rows.map(|row| (u32::MAX - row as u32) as i32).collect()).into(),
        3 => Values::I64(rows.map(long).collect()).into(),
        4 => ColumnValues {
            values: Values::I64(
                rows.clone().map(|row| if is_present(row) { long(row) } else { 0 }).collect(),
            ),
            present: rows.map(is_present).collect(),
        },
        _ => Values::F64(rows.map(|row| row as f64 / 7.0).collect()).into(),
    }
}

fn written(rows: usize) -> Vec<u8> {
    let mut file = Vec::new();
    write(&mut file, &LAYOUT, rows, &mut column).unwrap();
    file
}

/// All rows, page by page, each with its columns.
fn read_all(file: &[u8]) -> Result<Vec<Vec<ColumnValues>>, String> {
    let mut all = Vec::new();
    read_sealed(file, &LAYOUT, &mut |columns| {
        all.push(columns.iter().map(|&column| column.clone()).collect());
        Ok(())
    })?;
    Ok(all)
}

#[test]
fn tables_read_back() {
    for rows in [0, 1, 7, 8, 1 << 14, (1 << 14) + 1, (1 << 20) + (1 << 14) + 5] {
        let read = read_all(&written(rows)).unwrap();
        assert_eq!(read.len(), pages(rows).count());
        for (page, range) in read.iter().zip(pages(rows)) {
            for (index, found) in page.iter().enumerate() {
                let mut expected = column(index, range.clone());
                if !expected.present.contains(&false) {
                    expected.present.clear();
                }
                assert!(*found == expected, "column {index}, rows {range:?} of {rows}");
            }
        }
    }
}

/// What earlier versions wrote, and this one still writes.
#[test]
fn bytes_stay_the_same() {
    let mut file = Vec::new();
    // Without compression, because that may change with the library.
    write(&mut file, &Layout { codec: Codec::None, ..LAYOUT }, 200, &mut column).unwrap();
    assert_eq!((file.len(), crc32(&file)), (6735, 615_841_247));
}

/// CRC-32 bit by bit, so that the test needs no crate.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| sum >> 1 ^ (0xEDB8_8320 & (sum & 1).wrapping_neg()))
    })
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

/// A table whose layout the reader does not know.
#[test]
fn any_file_tells_whether_it_was_changed() {
    let seal = Some(Seal { key: "straggler.table.version", version: "17" });
    let mut file = Vec::new();
    write(&mut file, &Layout { seal, ..LAYOUT }, 300, &mut column).unwrap();
    let check = |file: &[u8]| check_seal(&file);
    assert!(check(&file).unwrap());
    let mut unsealed = Vec::new();
    write(&mut unsealed, &Layout { seal: None, ..LAYOUT }, 300, &mut column).unwrap();
    assert!(!check(&unsealed).unwrap() && !check(b"PAR1").unwrap() && !check(b"").unwrap());
    // From here on a change hides the checksum, but changes nothing else that is read.
    let tail = file.windows(15).rposition(|window| window == b"straggler.crc32").unwrap();
    for at in 0..file.len() {
        let mut bad = file.clone();
        bad[at] ^= 1 << (at % 8);
        match check(&bad) {
            Err(error) => assert!(error.to_string().contains("its checksum is wrong"), "{error}"),
            Ok(is_sealed) => assert!(!is_sealed && at >= tail, "byte {at} of {}", file.len()),
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
    let digits = file.windows(15).rposition(|window| window == b"straggler.crc32").unwrap() + 17;
    for at in (0..file.len()).filter(|at| !(digits..digits + 8).contains(at)) {
        let mut forged = file.clone();
        forged[at] ^= 0x81;
        let sum = crc32(&[&forged[..digits], &forged[digits + 8..]].concat());
        forged[digits..digits + 8].copy_from_slice(format!("{sum:08x}").as_bytes());
        if let Err(error) = read_all(&forged) {
            assert!(!error.contains("its checksum is wrong: it was changed"), "{at}: {error}");
        }
    }
}

#[test]
fn other_tables_are_told_apart() {
    let read = |file: &[u8], layout: &Layout<'_>| read_sealed(file, layout, &mut |_| Ok(())).unwrap_err();
    let seal = Some(Seal { key: "straggler.sample.version", version: "2" });
    let error = read(&written(1), &Layout { seal, ..LAYOUT });
    assert!(error.contains("straggler.sample.version = 2"), "{error}");
    let mut file = Vec::new();
    write(&mut file, &Layout { columns: &LAYOUT.columns[..2], ..LAYOUT }, 1, &mut column).unwrap();
    assert!(read(&file, &LAYOUT).contains("columns"));
}

//! Files of other programs have the content that their writers were given.

use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use straggler_parquet::{ColumnType, ColumnValues, Error, Logical, Reader, Unit, Values};

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/parquet")
}

/// The files, sorted by name.
pub fn files() -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|is| is == "parquet")).collect();
    paths.sort();
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_string();
    paths.iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect()
}

/// All flat columns as JSON, read `step` rows at a time.
pub fn read(file: &[u8], step: usize) -> Result<Map<String, Value>, Error> {
    let reader = Reader::open(&file)?;
    let columns = &reader.schema().columns;
    let flat: Vec<usize> = (0..columns.len()).filter(|&column| !columns[column].nested).collect();
    let mut content: Map<String, Value> =
        flat.iter().map(|&column| (columns[column].name.clone(), json!([]))).collect();
    for group in 0..reader.groups().len() {
        let mut rows = reader.rows(group, &flat)?;
        while rows.next(step)? > 0 {
            for (place, &column) in flat.iter().enumerate() {
                let cells = content[&columns[column].name].as_array_mut().unwrap();
                append(cells, columns[column].kind, rows.column(place));
            }
        }
    }
    Ok(content)
}

fn append(cells: &mut Vec<Value>, kind: ColumnType, column: &ColumnValues) {
    let factor = match kind.logical {
        Logical::Timestamp(Unit::Millis) => 1_000_000,
        Logical::Timestamp(Unit::Micros) => 1000,
        _ => 1,
    };
    let is_unsigned = kind.logical == Logical::Unsigned;
    let cell = |row: usize| match &column.values {
        _ if !column.is_present(row) => Value::Null,
        Values::Bool(values) => values[row].into(),
        Values::I32(values) if is_unsigned => (values[row] as u32).into(),
        Values::I32(values) => values[row].into(),
        Values::I64(values) if is_unsigned => (values[row] as u64).into(),
        Values::I64(values) => values[row].wrapping_mul(factor).into(),
        Values::F32(values) => f64::from(values[row]).into(),
        Values::F64(values) => values[row].into(),
        Values::Bytes(values) => String::from_utf8_lossy(values.get(row)).into(),
    };
    cells.extend((0..column.len()).map(cell));
}

#[test]
fn files_have_the_content_that_was_written() {
    let mut compared = 0;
    for (name, file) in files() {
        let (table, _) = name.split_once('.').unwrap();
        if table == "refused" {
            continue;
        }
        let expected = std::fs::read_to_string(folder().join(format!("{table}.json"))).unwrap();
        let expected: Map<String, Value> = serde_json::from_str(&expected).unwrap();
        for step in [1, 7, 1000] {
            let found = read(&file, step).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!found.is_empty());
            for (column, cells) in &found {
                let Some(expected) = expected.get(column) else {
                    assert!(["half", "money"].contains(&column.as_str()), "{name}: {column}");
                    continue;
                };
                assert_eq!(cells, expected, "{name}: {column}, {step} rows at a time");
                compared += 1;
            }
        }
    }
    assert!(compared > 700, "{compared}");
}

#[test]
fn what_cannot_be_read_is_named() {
    let error = |name: &str, column: &str| {
        let file = std::fs::read(folder().join(name)).unwrap();
        let input = &file[..];
        let reader = match Reader::open(&input) {
            Ok(reader) => reader,
            Err(error) => return error.to_string(),
        };
        let place = reader.schema().find(column).unwrap();
        reader.rows(0, &[place]).unwrap_err().to_string()
    };
    let brotli = error("refused.brotli.parquet", "small");
    assert!(brotli.starts_with("column small is compressed with Brotli, which is not supported"), "{brotli}");
    let encrypted = error("refused.encrypted.parquet", "small");
    assert_eq!(encrypted, "the footer is encrypted: write the table without encryption");
    let column = error("refused.encrypted-column.parquet", "long");
    assert_eq!(column, "column long is encrypted: write the table without encryption");
    for (column, leaf) in [("list", "list.list.element"), ("pair", "pair.x"), ("pair.y", "pair.y")] {
        let nested = error("nested.pyarrow.parquet", column);
        assert!(nested.starts_with(&format!("column {leaf} is nested (a list, struct or map)")), "{nested}");
    }
}

/// A dictionary's ids mean the same strings in all parts of a group.
#[test]
fn strings_are_ids_of_a_dictionary() {
    let file = std::fs::read(folder().join("full.pyarrow.parquet")).unwrap();
    let input = &file[..];
    let reader = Reader::open(&input).unwrap();
    let mut rows = reader.rows(0, &[reader.schema().find("optype").unwrap()]).unwrap();
    let mut seen = Vec::new();
    while rows.next(6).unwrap() > 0 {
        let Values::Bytes(strings) = &rows.column(0).values else { panic!("no strings") };
        assert_eq!((strings.dictionary_len(), strings.pool().len()), (2, 2));
        seen.extend_from_slice(strings.ids());
    }
    assert_eq!(seen, [0, 1].repeat(20));
}

//! Tables that are written are read back.

use proptest::prelude::*;
use straggler_parquet::{Codec, ColumnValues, Field, Kind, Layout, Reader, Strings, Values, pages, write};

/// A column of any kind with `rows` rows.
fn column(rows: usize) -> BoxedStrategy<(Field, ColumnValues)> {
    let numbers = prop_oneof![any::<i64>(), -1..20i64, 60_000..70_000i64];
    const KINDS: &[Kind] = &[Kind::Text, Kind::Bool, Kind::I32, Kind::I64, Kind::U32, Kind::U64, Kind::F64];
    let cells = prop::collection::vec((numbers, "[a-dé]{0,3}", any::<bool>()), rows);
    (prop::sample::select(KINDS), any::<bool>(), any::<bool>(), cells)
        .prop_map(|(kind, nullable, dictionary, cells)| {
            let mut field = Field::new("column", kind);
            (field.nullable, field.dictionary) =
                (nullable, dictionary && !matches!(kind, Kind::Bool | Kind::F64));
            let present: Vec<bool> = cells.iter().map(|cell| cell.2 || !nullable).collect();
            let number = |row: usize| if present[row] { cells[row].0 } else { 0 };
            let all = 0..cells.len();
            let values = match kind {
                Kind::Text => {
                    let text = |row: usize| if present[row] { cells[row].1.as_str() } else { "" };
                    Values::Bytes(all.map(text).collect::<Strings>())
                }
                Kind::Bool => Values::Bool(all.map(|row| number(row) % 2 != 0).collect()),
                Kind::I32 | Kind::U32 => Values::I32(all.map(|row| number(row) as i32).collect()),
                Kind::I64 | Kind::U64 => Values::I64(all.map(number).collect()),
                Kind::F64 => Values::F64(all.map(|row| number(row) as f64 / 7.0).collect()),
            };
            let present = if present.contains(&false) { present } else { Vec::new() };
            (field, ColumnValues { values, present })
        })
        .boxed()
}

fn table() -> impl Strategy<Value = Vec<(Field, ColumnValues)>> {
    (0..200usize).prop_flat_map(|rows| prop::collection::vec(column(rows), 1..6))
}

proptest! {
    #[test]
    fn tables_come_back(
        columns in table(), codec in prop::sample::select(&[Codec::None, Codec::Snappy, Codec::Gzip][..]),
    ) {
        let fields: Vec<Field> = columns.iter().map(|(field, _)| *field).collect();
        let layout = Layout { columns: &fields, codec, seal: None };
        let rows = columns[0].1.len();
        let mut file = Vec::new();
        write(&mut file, &layout, rows, &mut |column, _| columns[column].1.clone()).unwrap();
        let input = &file[..];
        let reader = Reader::open(&input).unwrap();
        prop_assert_eq!(reader.groups().len(), usize::from(rows > 0));
        if rows > 0 {
            let places: Vec<usize> = (0..columns.len()).collect();
            let mut read = reader.rows(0, &places).unwrap();
            prop_assert_eq!(read.next(rows + 1).unwrap(), rows);
            for (place, (_, expected)) in columns.iter().enumerate() {
                prop_assert_eq!(read.column(place), expected);
            }
            prop_assert_eq!(read.next(1).unwrap(), 0);
        }
    }
}

/// More than a group, in steps that fit neither pages nor groups.
#[test]
fn long_tables_come_back() {
    let fields = [
        Field::new("rank", Kind::I32).with_dictionary(),
        Field::new("time", Kind::F64),
        Field::new("name", Kind::Text).with_dictionary(),
        Field::new("size", Kind::U64).nullable(),
    ];
    let layout = Layout { columns: &fields, codec: Codec::Snappy, seal: None };
    let name = |row: usize| ["forward", "backward", "step"][row / 5 % 3];
    let size = |row: usize| (!row.is_multiple_of(3)).then_some(row as i64 * 1_000_003);
    let rows = (1 << 20) + 40_000;
    let mut file = Vec::new();
    write(&mut file, &layout, rows, &mut |column, rows| match column {
        0 => Values::I32(rows.map(|row| row as i32 / 3 % 2000).collect()).into(),
        1 => Values::F64(rows.map(|row| row as f64 / 3.0).collect()).into(),
        2 => Values::Bytes(rows.map(name).collect()).into(),
        _ => ColumnValues {
            values: Values::I64(rows.clone().map(|row| size(row).unwrap_or(0)).collect()),
            present: rows.map(|row| size(row).is_some()).collect(),
        },
    })
    .unwrap();
    let input = &file[..];
    let reader = Reader::open(&input).unwrap();
    assert_eq!(reader.groups().iter().map(|group| group.rows).collect::<Vec<_>>(), [1 << 20, 40_000]);
    let mut row = 0;
    for group in 0..2 {
        let mut read = reader.rows(group, &[0, 1, 2, 3]).unwrap();
        loop {
            let count = read.next(10_007).unwrap();
            if count == 0 {
                break;
            }
            let columns = [0, 1, 2, 3].map(|place| &read.column(place).values);
            let [Values::I32(ranks), Values::F64(times), Values::Bytes(names), Values::I64(sizes)] = columns
            else {
                panic!("other types");
            };
            for at in 0..count {
                assert_eq!((ranks[at], times[at]), (row as i32 / 3 % 2000, row as f64 / 3.0));
                assert_eq!(names.get(at), name(row).as_bytes());
                assert_eq!(read.column(3).is_present(at).then_some(sizes[at]), size(row));
                row += 1;
            }
        }
    }
    assert_eq!(row, rows);
    assert_eq!(pages(rows).map(|page| page.len()).sum::<usize>(), rows);
}

#[test]
fn values_of_another_type_or_number_are_not_written() {
    let attempt = |field: Field, values: ColumnValues| {
        let layout = Layout { columns: &[field], codec: Codec::None, seal: None };
        write(&mut Vec::new(), &layout, 2, &mut |_, _| values.clone()).map_err(|error| error.to_string())
    };
    let field = Field::new("rank", Kind::I32);
    let two = Values::I32(vec![1, 2]);
    assert_eq!(attempt(field, two.clone().into()), Ok(()));
    let missing = ColumnValues { values: two, present: vec![true, false] };
    assert_eq!(attempt(field.nullable(), missing.clone()), Ok(()));
    for values in [Values::I32(vec![1]).into(), Values::I64(vec![1, 2]).into(), missing] {
        assert_eq!(attempt(field, values), Err("column rank does not have such values".into()));
    }
}

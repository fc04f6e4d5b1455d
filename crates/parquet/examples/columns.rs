//! The columns of a table: `cargo run -p straggler-parquet --example columns -- results.parquet`.

use straggler_parquet::Reader;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("give a Parquet file")?;
    let bytes = std::fs::read(path)?;
    let bytes = bytes.as_slice();
    let reader = Reader::open(&bytes)?;
    let rows: u64 = reader.groups().iter().map(|group| group.rows).sum();
    println!("{rows} rows");
    for column in &reader.schema().columns {
        println!("{}", column.name);
    }
    Ok(())
}

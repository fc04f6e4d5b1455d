//! Converts a trace of OTF2, DUMPI, liballprof or SimGrid for ui.perfetto.dev:
//! `cargo run -p straggler-formats --example perfetto -- ARCHIVE.otf2 out.pftrace`.

use std::fs::File;
use std::io::BufWriter;
use straggler_formats::import::{self, Options};
use straggler_formats::perfetto;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(from), Some(to)) = (arguments.next(), arguments.next()) else {
        return Err("give a trace and the file to write".into());
    };
    let trace = import::read(from.as_ref(), &Options::default())?;
    perfetto::write(&trace, BufWriter::new(File::create(to)?))?;
    Ok(())
}

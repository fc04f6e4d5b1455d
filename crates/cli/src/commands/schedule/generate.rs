//! Implicit schedules as files, some ranks at a time.

use crate::console::Console;
use crate::exit::Outcome;
use crate::interrupt::{Interruptible, Orderly, or_interrupted};
use std::path::Path;
use straggler_report::replace_file;
use straggler_schedule::Script;
use straggler_schedule::goal::{Format, stream};

pub fn run(script: &dyn Script, output: &Path, console: &Console) -> Outcome<()> {
    let format = Format::for_path(output);
    let _orderly = Orderly::begin();
    let written = replace_file(output, |out| stream::write(script, format, Interruptible(out)));
    let streamed = or_interrupted(written)?;
    super::report_written(output, script.processes(), streamed.operations, streamed.written, console)
}

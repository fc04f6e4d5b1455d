//! Writes implicit schedules to files, some ranks at a time.

use crate::kernel::console::Console;
use crate::kernel::exit::{Failure, Outcome};
use crate::kernel::memory::free_disk_bytes;
use std::path::Path;
use straggler_report::numbers::{counted, memory};
use straggler_report::replace_file;
use straggler_schedule::Script;
use straggler_schedule::goal::{Format, stream};

/// Minimum size of an operation with its dependency: a line of text, or a binary record.
fn bytes_an_operation(format: Format) -> u64 {
    match format {
        Format::Text => 24,
        Format::Binary => 39,
    }
}

/// Fails before anything is written if the file would not fit on the disk.
fn refuse_too_large(operations: u64, format: Format, free: Option<u64>) -> Outcome<()> {
    let needed = operations.saturating_mul(bytes_an_operation(format));
    match free.filter(|&free| needed > free) {
        Some(free) => Err(Failure::bad_input(format!(
            "the file takes at least {} ({}), but {} are free: use fewer processes, or another disk with -o",
            memory(needed),
            counted(operations, "operation", "operations"),
            memory(free)
        ))),
        None => Ok(()),
    }
}

pub fn run(script: &dyn Script, output: &Path, console: &Console) -> Outcome<()> {
    let format = Format::for_path(output);
    let folder = output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A pipe or a device has no size limit.
    let is_file = std::fs::metadata(output).map_or(true, |there| there.is_file());
    refuse_too_large(script.operations(), format, free_disk_bytes(folder).filter(|_| is_file))?;
    let streamed = replace_file(output, |out| stream::write(script, format, out))?;
    crate::schedule::report_written(
        output,
        script.processes(),
        streamed.operations,
        streamed.written,
        console,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_on_the_disk_is_refused() {
        let text =
            refuse_too_large(1_000_000_000, Format::Text, Some(1 << 30)).unwrap_err().error.to_string();
        assert!(text.contains("22.4 GiB") && text.contains("1.00 GiB are free"), "{text}");
        assert!(refuse_too_large(1_000_000, Format::Binary, Some(1 << 30)).is_ok());
        assert!(refuse_too_large(u64::MAX, Format::Text, None).is_ok());
    }
}

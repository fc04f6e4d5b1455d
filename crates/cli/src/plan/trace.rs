//! `straggler trace`, validated.

use super::valid::Check;
use crate::args::trace::{Convert, Target, Trace, TraceCommand};
use crate::exit::{Failure, Outcome};
use crate::places::{refuse_missing_folder, refuse_unwritable};
use straggler_model::spelling::nearest;

impl Check for Trace {
    fn check(&self) -> Outcome<()> {
        let Trace { command, record } = self;
        let Some(command) = command else { return Ok(()) };
        if record.output.is_some()
            || record.force
            || record.no_command_line
            || record.call_sites
            || !record.program.is_empty()
        {
            return Err(Failure::usage(
                "give either a command to record (straggler trace -o DIR -- COMMAND) or a subcommand with its options \
                 behind it, not both",
            ));
        }
        match command {
            TraceCommand::Info(_) | TraceCommand::Check(_) => Ok(()),
            TraceCommand::Show(typed) => {
                typed.report.report.as_deref().map_or(Ok(()), refuse_unwritable)?;
                typed.output.as_deref().map_or(Ok(()), refuse_missing_folder)
            }
            TraceCommand::Waits(typed) => typed.report.report.as_deref().map_or(Ok(()), refuse_unwritable),
            TraceCommand::Merge(typed) => refuse_unwritable(&typed.output),
            TraceCommand::Convert(typed) => {
                typed.target()?;
                refuse_unwritable(&typed.output)
            }
        }
    }
}

impl Convert {
    /// The given format, or that of the file extension.
    pub fn target(&self) -> Outcome<Target> {
        self.to.or_else(|| Target::of_ending(&self.output)).ok_or_else(|| {
            let ending = self.output.extension().unwrap_or_default().to_string_lossy();
            let hint = nearest(&ending, Target::ENDINGS.iter().copied())
                .map_or_else(String::new, |ending| format!("; did you mean `.{ending}`?"));
            Failure::usage(format!(
                "{}: cannot tell the format from the extension; give --to straggler, perfetto, chrome, otf2 or goal{hint}",
                self.output.display()
            ))
        })
    }
}

//! Options of `straggler whatif` that do not fit the kind of its input.

use crate::kernel::{Failure, Outcome};
use crate::whatif::args::{JOB, TRACE, WhatIf};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};
use std::path::Path;

/// The names of the options that were typed. Must be the first field: later ones take their values away.
#[derive(Clone, Debug, Default)]
pub struct Given(Vec<String>);

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Given, Error> {
        let ids = matches.ids().map(|id| id.as_str());
        let given = ids.filter(|id| matches.value_source(id) == Some(ValueSource::CommandLine));
        Ok(Given(given.map(String::from).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Given::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Given {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl Given {
    /// The first option that was typed under a heading of the help.
    fn under(&self, heading: &str) -> Option<String> {
        let all = WhatIf::augment_args(Command::new(""));
        let mut under = all.get_arguments().filter(|one| one.get_help_heading() == Some(heading));
        let option = under.find(|one| self.0.iter().any(|given| one.get_id() == given))?;
        option.get_long().map(|name| format!("--{name}"))
    }

    /// Refuses options for a training job, because the input is none.
    pub fn refuse_for_trace(&self, path: &Path) -> Outcome<()> {
        self.under(JOB).map_or(Ok(()), |option| {
            Err(Failure::usage(format!(
                "{option} changes a training job, and {} is none: change a trace with --scale, --balance, --network \
                 and so on, or try what helps with --search",
                path.display()
            )))
        })
    }

    /// Refuses options for a trace, because the input is a training job.
    pub fn refuse_for_job(&self, path: &Path) -> Outcome<()> {
        self.under(TRACE).map_or(Ok(()), |option| {
            Err(Failure::usage(format!(
                "{option} changes a trace, and {0} is a training job: change it with --slow, --link, --stall, --lose, \
                 --fix, --noise or --copies, or make it a trace with `straggler training convert {0} -o DIR`",
                path.display()
            )))
        })
    }
}

//! The user's own program, from its start to its end.

use super::{Ending, Session};
use crate::latency::Operation;
use std::io;
use std::process::{Command, Stdio};

pub fn run(session: &mut Session<'_>, program: &[String]) -> Ending {
    let (core, _) = session.two_cores();
    session.put(0, core);
    let Some((name, arguments)) = program.split_first() else {
        return Err("command: the command is missing: write it after --".into());
    };
    let mut command = Command::new(name);
    // Its standard output would get mixed up with our results.
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    let run = Run { command, name: name.clone() };
    session.measure(session.labels(name), core, || Ok(run))
}

struct Run {
    command: Command,
    name: String,
}

impl Operation for Run {
    fn perform(&mut self) -> io::Result<()> {
        let named = |text: String| io::Error::other(format!("{}: {text}", self.name));
        let status = self.command.status().map_err(|fault| named(format!("cannot be run: {fault}")))?;
        if status.success() { Ok(()) } else { Err(named(format!("it ended with {status}"))) }
    }
}

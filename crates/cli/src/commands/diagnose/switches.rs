//! `--topology`: the switches of the nodes on which a measurement ran.

use crate::exit::{Failure, Outcome, unreadable};
use crate::inputs::latency_file::LatencyFile;
use std::collections::BTreeSet;
use std::path::Path;
use straggler_model::switches::Switches;

/// Names that a warning lists.
const MOST_NAMED: usize = 5;

/// Sets the switch of each process. Nodes that are not in the file have none; a warning names them.
pub fn lay_over(path: &Path, file: &mut LatencyFile) -> Outcome<()> {
    let fault = |what: String| Failure::bad_input(format!("{}: {what}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|fault| unreadable(path, &fault))?;
    let switches = Switches::parse(&text).map_err(|error| fault(error.to_string()))?;
    let (mut unknown, mut known) = (BTreeSet::new(), false);
    for process in &mut file.measurement.processes {
        let Some(host) = &process.host else { continue };
        process.switch = switches.of(host);
        known |= process.switch.is_some();
        if process.switch.is_none() {
            unknown.insert(host.clone());
        }
    }
    let names: Vec<&str> = unknown.iter().take(MOST_NAMED).map(String::as_str).collect();
    let more = if unknown.len() > MOST_NAMED { ", …" } else { "" };
    match (known, unknown.is_empty()) {
        (false, true) => Err(fault(format!("{} does not record the hosts of its processes", file.name))),
        (false, false) => Err(fault(format!(
            "it lists none of the hosts of {}: {}{more}; does it describe another machine?",
            file.name,
            names.join(", ")
        ))),
        (true, true) => Ok(()),
        (true, false) => {
            let warning = format!("{}: it does not list {}{more}", path.display(), names.join(", "));
            file.warnings.push(warning);
            Ok(())
        }
    }
}

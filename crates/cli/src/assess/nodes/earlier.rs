//! An earlier assessment, given by `--baseline`.

use crate::kernel::exit::unreadable;
use crate::kernel::{Failure, Outcome};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use straggler_analysis::nodes::baseline::Compare;
use straggler_analysis::nodes::{Summary, Unit};

pub const FORMAT: &str = "straggler cluster assessment";
pub const VERSION: u32 = 1;

/// The part of its JSON that is used.
#[derive(Debug, Deserialize)]
struct Written {
    format: Option<String>,
    version: Option<u32>,
    unit: Option<Unit>,
    #[serde(default)]
    hosts: Vec<String>,
    #[serde(default)]
    nodes: Vec<serde_json::Value>,
}

#[derive(Debug)]
pub struct Earlier {
    path: PathBuf,
    unit: Unit,
    hosts: Vec<String>,
    nodes: Vec<Summary>,
}

pub fn read(path: &Path) -> Outcome<Earlier> {
    let text = std::fs::read_to_string(path).map_err(|fault| unreadable(path, &fault))?;
    let bad = |fault: String| Failure::bad_input(format!("{}: {fault}", path.display()));
    let other = "it is not an assess.json of `straggler mpi assess`";
    let written: Written = serde_json::from_str(&text).map_err(|fault| bad(format!("{other}: {fault}")))?;
    if written.format.as_deref() != Some(FORMAT) {
        return Err(bad(other.into()));
    }
    if written.version != Some(VERSION) {
        return Err(bad(format!("its version is not {VERSION}: assess again with this straggler")));
    }
    let node = |value| serde_json::from_value::<Summary>(value);
    let nodes = written.nodes.into_iter().map(node).collect::<Result<Vec<_>, _>>();
    let nodes = nodes.map_err(|fault| bad(format!("a node cannot be read: {fault}")))?;
    let unit = written.unit.unwrap_or_default();
    Ok(Earlier { path: path.to_path_buf(), unit, hosts: written.hosts, nodes })
}

impl Earlier {
    /// Compares with it; fails if it is an assessment of something else.
    pub fn compare(&self, now: &[Summary], unit: Unit, hosts: &[String]) -> Outcome<Compare> {
        let bad = |fault: &str| Err(Failure::bad_input(format!("{}: {fault}", self.path.display())));
        if self.unit != unit {
            return bad("one assessment is of a single node, the other of several: they cannot be compared");
        }
        if unit == Unit::Core && self.hosts != hosts {
            return bad("it describes another node: use an assessment of this node");
        }
        let compared = Compare::new(&self.nodes, now);
        if compared.nodes == 0 {
            return bad("none of its nodes is part of this job: use an assessment of the same nodes");
        }
        Ok(compared)
    }
}

//! `straggler measure latency`, validated.

use crate::args::latency::{KernelName, Latency as Typed};
use crate::exit::{Failure, Outcome};
use std::path::PathBuf;
use straggler_measure::latency::{Effort, Kernel, Remote};
use straggler_model::latency::Bins;

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    Measure(Measure),
    /// Answer clients that measure.
    Listen {
        address: String,
        token: Option<String>,
        /// The first of these cores answers.
        cores: Option<Vec<u32>>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    pub kernel: Kernel,
    pub sizes: Vec<u64>,
    pub cores: Option<Vec<u32>>,
    pub effort: Effort,
    pub bins: Bins,
    pub output: Option<PathBuf>,
}

impl Plan {
    pub fn new(typed: Typed) -> Outcome<Plan> {
        if let Some(address) = typed.listen {
            let cores = typed.cores.map(|list| list.0);
            return Ok(Plan::Listen { address, token: typed.token, cores });
        }
        let kernel = kernel(&typed)?;
        Ok(Plan::Measure(Measure {
            sizes: sizes(&typed, &kernel)?,
            cores: typed.cores.map(|list| list.0),
            effort: Effort {
                trials: typed.trials.unwrap_or_else(|| kernel.usual_trials()),
                cycles: typed.cycles,
            },
            bins: typed.bins,
            output: typed.output,
            kernel,
        }))
    }
}

fn kernel(typed: &Typed) -> Outcome<Kernel> {
    let name = match (typed.kernel, typed.program.is_empty()) {
        (None | Some(KernelName::Command), false) => KernelName::Command,
        (Some(KernelName::Command), true) => {
            return Err(Failure::usage(
                "the command kernel needs a command: write it after --, for example `-- true`",
            ));
        }
        (Some(_), false) => {
            return Err(Failure::usage("a command after -- selects the command kernel: remove --kernel"));
        }
        (Some(name), true) => name,
        (None, true) if typed.connect.is_some() => KernelName::Tcp,
        (None, true) => {
            return Err(Failure::usage(
                "nothing to measure: give --kernel NAME, or a command after --; see `--help` for the names",
            ));
        }
    };
    if typed.connect.is_some() && name != KernelName::Tcp {
        return Err(Failure::usage("--connect is for the tcp kernel: remove it, or use --kernel tcp"));
    }
    if typed.folder.is_some() && name != KernelName::File {
        return Err(Failure::usage("--folder is for the file kernel: remove it, or use --kernel file"));
    }
    Ok(match name {
        KernelName::Tcp => Kernel::Tcp { remote: remote(typed) },
        KernelName::UnixSocket => Kernel::UnixSocket,
        KernelName::Pipe => Kernel::Pipe,
        KernelName::Futex => Kernel::Futex,
        KernelName::SystemCalls => Kernel::SystemCalls,
        KernelName::File => Kernel::File { folder: typed.folder.clone().unwrap_or_else(|| ".".into()) },
        KernelName::Copy => Kernel::Copy,
        KernelName::Command => Kernel::Command { program: typed.program.clone() },
    })
}

fn remote(typed: &Typed) -> Option<Remote> {
    let (address, token) = typed.connect.clone().zip(typed.token.clone())?;
    Some(Remote { address, token })
}

fn sizes(typed: &Typed, kernel: &Kernel) -> Outcome<Vec<u64>> {
    let Some(usual) = kernel.usual_size() else {
        if typed.size.is_empty() {
            return Ok(Vec::new());
        }
        return Err(Failure::usage(format!("the kernel {} has no sizes: remove --size", kernel.name())));
    };
    let mut sizes: Vec<u64> = typed.size.iter().map(|size| size.0).collect();
    if sizes.contains(&0) {
        return Err(Failure::usage("--size 0 would move no data: give at least 1B"));
    }
    sizes.sort_unstable();
    sizes.dedup();
    Ok(if sizes.is_empty() { vec![usual] } else { sizes })
}

//! The symbolic checker, and its result as a sentence.

use crate::kernel::prelude::*;
use crate::schedule::args::Prove;
use crate::simulate::collective::{self, CollectivePlan, CollectiveRequest};
use straggler_schedule::collectives::Operation;
use straggler_schedule::collectives::check::{self, Fault, Proof};

/// The memory limit of a proof.
const MOST_MEMORY: u64 = 4 << 30;

#[derive(Serialize)]
struct ProofAnswer {
    collective: String,
    processes: u32,
    /// The result is correct for the requested reduction.
    proven: bool,
    /// Every contribution is counted exactly once.
    exact: bool,
    messages: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

pub fn run(typed: &Prove, console: &Console) -> Outcome<()> {
    let request = CollectiveRequest::new(&typed.what)?;
    let plan = collective::load(&request)?.plan;
    refuse_too_much(&plan)?;
    let verdict = check::check(plan.operation, &plan.job, &plan.collective);
    let wrong = wrong(&plan, request.idempotent, &verdict);
    if console.json {
        console.print_json(&ProofAnswer {
            collective: plan.name(),
            processes: plan.processes(),
            proven: wrong.is_none(),
            exact: verdict.as_ref().is_ok_and(|proof| proof.exact && proof.followed),
            messages: verdict.as_ref().ok().map(|proof| proof.messages),
            fault: wrong.clone(),
        })?;
    } else if let (Ok(proof), None) = (&verdict, &wrong) {
        console.print(&summary(&plan, proof))?;
    }
    match wrong {
        None => Ok(()),
        Some(text) => Err(Failure::new(Exit::CheckFailed, anyhow::Error::msg(text))),
    }
}

fn refuse_too_much(plan: &CollectivePlan) -> Outcome<()> {
    let needed = check::memory(plan.operation, &plan.job, &plan.collective);
    if needed.is_some_and(|bytes| bytes <= MOST_MEMORY) {
        return Ok(());
    }
    let needed = needed.map_or_else(|| "too long".to_string(), |bytes| format!("up to {}", memory(bytes)));
    Err(Failure::usage(format!(
        "tracking all data of {} over {} takes {needed}: check fewer processes, or larger segments",
        plan.name(),
        counted(plan.processes().into(), "process", "processes")
    )))
}

/// Why the check failed, if it did.
fn wrong(plan: &CollectivePlan, idempotent: bool, verdict: &Result<Proof, Fault>) -> Option<String> {
    let (name, processes) = (plan.name(), counted(plan.processes().into(), "process", "processes"));
    match verdict {
        Err(fault) => Some(format!("{name} over {processes} is wrong: {fault}")),
        Ok(proof) if !proof.exact && plan.operation.reduces() && !idempotent => Some(format!(
            "{name} over {processes} counts some contributions twice: a sum would be wrong; --idempotent \
             is for operations such as a maximum"
        )),
        Ok(_) => None,
    }
}

/// "Proven for an allreduce of 8 B by a ring: …".
fn summary(plan: &CollectivePlan, proof: &Proof) -> String {
    if !proof.followed {
        return format!(
            "There is no data to track in {}: give at least one byte. Its {} all received, and nothing \
             deadlocks.\n",
            plan.describe(),
            counted(proof.messages, "message is", "messages are")
        );
    }
    let counted_how = match (plan.operation.reduces(), proof.exact) {
        (false, _) => "",
        (true, true) => ", every contribution counted exactly once",
        (true, false) => {
            ", every contribution counted at least once, some twice: right for a maximum, not for a sum"
        }
    };
    format!(
        "Proven for {} over {}: {}{counted_how}; {}, all received, and nothing deadlocks.\n",
        plan.describe(),
        counted(plan.processes().into(), "process", "processes"),
        promise(plan.operation, plan.job.root),
        counted(proof.messages, "message", "messages")
    )
}

fn promise(operation: Operation, root: u32) -> String {
    let text = match operation.uniform() {
        Operation::Allgather => "every rank has the block of every rank",
        Operation::Allreduce => "every rank has the reduction of all data",
        Operation::Alltoall => "every rank has the block that each rank had for it",
        Operation::Barrier => "no rank leaves before every rank has entered",
        Operation::Bcast => return format!("every rank has the data of rank {root}"),
        Operation::Exscan => "every rank but the first has the reduction of the data of all ranks before it",
        Operation::Gather => return format!("rank {root} has the block of every rank"),
        Operation::Reduce => return format!("rank {root} has the reduction of all data"),
        Operation::Scan => "every rank has the reduction of the data of all ranks up to itself",
        Operation::Scatter => return format!("every rank has its block from rank {root}"),
        // Reduce-scatter, in both forms.
        _ => "every rank has the reduction of its block",
    };
    text.to_string()
}

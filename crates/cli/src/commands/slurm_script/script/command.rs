//! The command that the job runs, and how its ranks are started.

use crate::args::slurm_script::{Launcher, Mpi};
use crate::plan::slurm_script::{JobKind, Measure, Plan};
use crate::shell::quoted;

/// The command on one line.
pub fn line(plan: &Plan) -> String {
    parts(plan).join(" ")
}

/// The command with the program on a separate line.
pub fn lines(plan: &Plan) -> String {
    parts(plan).join(" \\\n    ")
}

/// The launcher, if one is needed, and the program.
fn parts(plan: &Plan) -> Vec<String> {
    launcher(plan).into_iter().chain([program(plan)]).collect()
}

/// A comment above the command.
pub fn why(plan: &Plan) -> &'static str {
    match (plan.is_single(), plan.launcher, plan.mpi) {
        (true, ..) => "# One process needs no MPI.\n",
        (_, Launcher::Srun, Mpi::OpenMpi) => {
            "# srun starts a rank for each task; Open MPI's ranks find each other by PMIx (`srun \
             --mpi=list`).\n# Without this option it gives each rank one CPU.\n"
        }
        (_, Launcher::Srun, Mpi::Mpich) => {
            "# srun starts a rank for each task; MPICH's ranks find each other by PMI-2 (`srun \
             --mpi=list`).\n# Without this option it gives each rank one CPU.\n"
        }
        (_, Launcher::Mpirun, Mpi::OpenMpi) if binds(plan) => {
            "# mpirun asks Slurm for the nodes. Every rank keeps its core.\n"
        }
        (_, Launcher::Mpirun, Mpi::OpenMpi) => {
            "# mpirun asks Slurm for the nodes. Ranks are not bound to single cores, because each has \
             several threads.\n"
        }
        (_, Launcher::Mpirun, Mpi::Mpich) => "# mpirun asks Slurm for the nodes.\n",
    }
}

fn launcher(plan: &Plan) -> Option<String> {
    let (per_node, binds) = (plan.tasks_per_node, binds(plan));
    if plan.is_single() {
        return None;
    }
    let srun = |mpi: &str| {
        let bind = if binds { " --cpu-bind=cores" } else { "" };
        format!("srun --mpi={mpi} --kill-on-bad-exit=1 --cpus-per-task={}{bind}", cpus(plan))
    };
    Some(match (plan.launcher, plan.mpi) {
        (Launcher::Srun, Mpi::OpenMpi) => srun("pmix"),
        (Launcher::Srun, Mpi::Mpich) => srun("pmi2"),
        (Launcher::Mpirun, Mpi::OpenMpi) => {
            let cores = plan.cpus_per_task.filter(|&cpus| binds && cpus > 1);
            let cores = cores.map_or_else(String::new, |cpus| format!(":PE={cpus}"));
            let to = if binds { "core" } else { "none" };
            format!("mpirun -n \"$SLURM_NTASKS\" --map-by ppr:{per_node}:node{cores} --bind-to {to}")
        }
        (Launcher::Mpirun, Mpi::Mpich) => {
            let bind = if binds { " -bind-to core" } else { "" };
            format!("mpirun -n \"$SLURM_NTASKS\" -ppn {per_node}{bind}")
        }
    })
}

/// Latencies depend on the cores of the ranks. Other ranks have several threads, or measure all cores.
fn binds(plan: &Plan) -> bool {
    matches!(plan.job.what, JobKind::Measure(Measure::Latency | Measure::LogGp))
}

/// Evaluated when the script runs: the number of CPUs of a node is known only there.
fn cpus(plan: &Plan) -> String {
    match (plan.cpus_per_task, plan.tasks_per_node) {
        (Some(_), _) => "\"$SLURM_CPUS_PER_TASK\"".into(),
        (None, 1) => "\"$SLURM_CPUS_ON_NODE\"".into(),
        (None, tasks) => format!("$((SLURM_CPUS_ON_NODE / {tasks}))"),
    }
}

/// The program with its command and options, quoted for the shell.
fn program(plan: &Plan) -> String {
    let command = match (&plan.job.what, plan.is_single()) {
        (JobKind::Study(_), true) => "study run".into(),
        (what, true) => what.name().into(),
        (what, false) => format!("mpi {}", what.name()),
    };
    let path = match &plan.programs {
        Some(folder) => quoted(&format!("{}/straggler", folder.trim_end_matches('/'))),
        None => "straggler".into(),
    };
    // Before all other options: after a `--` it would be taken for a file.
    let threads = plan.job.sets_threads.then(|| "--threads \"$SLURM_CPUS_PER_TASK\"".to_string());
    let words = plan.job.words.iter().map(|word| quoted(word));
    [path, command].into_iter().chain(threads).chain(words).collect::<Vec<_>>().join(" ")
}

//! What the launcher of this process says about the job in the environment, before MPI can be asked.

use straggler_trace::mpi_abi::Family;

/// A launcher, as far as it can be told from its variables.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Launcher {
    /// The launcher, for users; `None` without one.
    pub name: Option<&'static str>,
    /// The family of the library that its jobs usually have. The standard interface belongs to no launcher.
    pub family: Option<Family>,
    pub rank: Option<u32>,
    /// The number of this process on its node.
    pub local_rank: Option<u32>,
    pub size: Option<u32>,
}

/// A launcher's variables: rank, rank on the node, number of processes.
type Variables = [&'static str; 3];

const OPEN_MPI: Variables = ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"];
const PMI: Variables = ["PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"];
const SLURM: Variables = ["SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NUM_TASKS"];
const PMIX: Variables = ["PMIX_RANK", "SLURM_LOCALID", "SLURM_STEP_NUM_TASKS"];

impl Launcher {
    /// The launcher of this process.
    pub fn of_this_process() -> Launcher {
        Launcher::detect(&|name| std::env::var(name).ok())
    }

    /// `variable` looks up a variable of the environment.
    pub fn detect(variable: &dyn Fn(&str) -> Option<String>) -> Launcher {
        let has = |name: &str| variable(name).is_some();
        let has_one_of = |names: &[&str]| names.iter().any(|name| has(name));
        let slurm = variable("SLURM_MPI_TYPE").filter(|_| has(SLURM[0])).unwrap_or_default();
        // A launcher inside of a Slurm job sets its own variables beside Slurm's, so Slurm comes last.
        let (name, family, variables) = if has(OPEN_MPI[2]) {
            ("Open MPI's mpirun", Some(Family::OpenMpi), OPEN_MPI)
        } else if has(PMI[0]) && has_one_of(&["I_MPI_MPIRUN", "I_MPI_ROOT", "I_MPI_HYDRA_BOOTSTRAP"]) {
            ("Intel MPI's mpirun", Some(Family::Mpich), PMI)
        } else if has(PMI[0]) && has("MPI_LOCALNRANKS") {
            ("MPICH's mpiexec", Some(Family::Mpich), PMI)
        } else if has_one_of(&["PALS_RANKID", "PALS_APID"]) {
            ("Cray's mpiexec", Some(Family::Mpich), ["PALS_RANKID", "PALS_LOCAL_RANKID", PMI[2]])
        } else if slurm.starts_with("pmix") {
            ("srun --mpi=pmix", Some(Family::OpenMpi), SLURM)
        } else if slurm.starts_with("pmi") || slurm.starts_with("cray") {
            ("srun --mpi=pmi2", Some(Family::Mpich), SLURM)
        } else if has(PMI[0]) {
            ("a launcher with PMI", Some(Family::Mpich), PMI)
        } else if has(PMIX[0]) {
            ("a launcher with PMIx", Some(Family::OpenMpi), PMIX)
        } else if has(SLURM[0]) && has(SLURM[2]) {
            ("srun", None, SLURM)
        } else {
            return Launcher::default();
        };
        let [rank, local_rank, size] = variables.map(|name| variable(name)?.parse().ok());
        Launcher { name: Some(name), family, rank, local_rank, size }
    }

    /// Whether this process says what all processes would say.
    pub fn speaks(&self) -> bool {
        self.rank.is_none_or(|rank| rank == 0)
    }

    /// Whether this process says what may be wrong on its node only.
    pub fn speaks_for_its_node(&self) -> bool {
        self.speaks() || self.local_rank == Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launched(variables: &[(&str, &str)]) -> Launcher {
        Launcher::detect(&|name| {
            variables.iter().find(|(own, _)| *own == name).map(|(_, value)| value.to_string())
        })
    }

    #[test]
    fn launchers_are_known_by_their_variables() {
        let open = launched(&[
            ("OMPI_COMM_WORLD_RANK", "3"),
            ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
            ("OMPI_COMM_WORLD_SIZE", "8"),
            ("SLURM_PROCID", "0"),
            ("PMIX_RANK", "3"),
        ]);
        assert_eq!((open.rank, open.local_rank, open.size), (Some(3), Some(1), Some(8)));
        assert_eq!(open.family, Some(Family::OpenMpi));
        assert!(!open.speaks() && !open.speaks_for_its_node());
        let hydra = launched(&[("PMI_RANK", "0"), ("PMI_SIZE", "2"), ("MPI_LOCALNRANKS", "2")]);
        assert_eq!((hydra.name, hydra.family), (Some("MPICH's mpiexec"), Some(Family::Mpich)));
        assert!(hydra.speaks());
        let intel = launched(&[("PMI_RANK", "1"), ("I_MPI_ROOT", "/opt/intel")]);
        assert_eq!((intel.name, intel.size), (Some("Intel MPI's mpirun"), None));
        let slurm =
            launched(&[("SLURM_MPI_TYPE", "pmix_v4"), ("SLURM_PROCID", "5"), ("SLURM_STEP_NUM_TASKS", "6")]);
        assert_eq!((slurm.family, slurm.rank, slurm.size), (Some(Family::OpenMpi), Some(5), Some(6)));
    }

    #[test]
    fn without_a_launcher_every_process_speaks() {
        // The script of a Slurm job is not a task of a step.
        let none = launched(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "16")]);
        assert_eq!(none, Launcher::default());
        assert!(none.speaks());
    }
}

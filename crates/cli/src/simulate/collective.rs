//! The options of a collective as typed, shared by all commands that take one. Commands that flatten them
//! have an option `--collective`.

pub mod words;
use crate::kernel::typed::{count, text};
use crate::kernel::{Failure, Outcome};
use crate::schedule::args::{CheckedCollective, Generate};
use crate::simulate::args::CollectiveOptions;
use clap::Args;
use straggler_model::Time;
use straggler_model::network::PerByte;
use straggler_model::units::Bytes;
use straggler_schedule::Cycles;
use straggler_schedule::collectives::sizes::Sizes;
use straggler_schedule::collectives::{Algorithm, Choice, Collective, Job, Operation, Selector};
use straggler_sim::Workload;

/// The data of a collective, and how it is combined.
#[derive(Clone, Debug, Default, Args)]
pub struct DataOptions {
    /// Size of the vector (bcast, reduce, allreduce, scan, exscan), of the block of each rank (gather,
    /// scatter, allgather, reduce_scatter) or of the block of each pair of ranks (alltoall) [default: 8]
    #[arg(long, value_name = "BYTES", requires = "collective")]
    pub size: Option<Bytes>,
    /// Block sizes for gatherv, scatterv, allgatherv, alltoallv and reduce_scatter; the list repeats over the
    /// ranks, or over the pairs of ranks
    #[arg(long, value_name = "BYTES,…", requires = "collective", conflicts_with = "size")]
    #[arg(value_delimiter = ',')]
    pub sizes: Vec<Bytes>,
    /// Root of a bcast, scatter, reduce or gather [default: 0]
    #[arg(long, value_name = "RANK", requires = "collective", value_parser = count::<u32>(0..))]
    pub root: Option<u32>,
    /// Cost of combining one received byte in a reduction: 0.5ns, or 2GB/s [default: 0]
    #[arg(long, value_name = "TIME")]
    pub reduction_cost: Option<PerByte>,
    /// The reduction is idempotent, like a maximum: a contribution may count twice
    #[arg(long)]
    pub idempotent: bool,
    /// Table that selects the algorithm if none is named: paper, mpich, open-mpi or a file [default: paper]
    #[arg(long, value_name = "PRESET|FILE.toml", value_parser = text())]
    pub algorithms: Option<String>,
}

/// How often a collective runs, and the computation before each.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Repetition {
    /// Number of repetitions [default: 1]
    #[arg(long, value_name = "N", value_parser = count::<u32>(1..))]
    pub cycles: Option<u32>,
    /// Computation time on every process before each repetition
    #[arg(long, value_name = "TIME")]
    pub compute: Option<Time>,
}

impl DataOptions {
    /// Whether any option about the execution of collectives was given.
    pub fn is_given(&self) -> bool {
        self.algorithms.is_some() || self.idempotent || self.reduction_cost.is_some()
    }
}

/// The collective as requested, before a table of algorithms is read.
#[derive(Clone, Debug)]
pub struct CollectiveRequest {
    pub operation: Operation,
    /// The algorithm, if it was named.
    pub algorithm: Option<Algorithm>,
    /// The table that selects one otherwise.
    pub algorithms: Option<String>,
    pub job: Job,
    pub idempotent: bool,
    cycles: u32,
    compute: Time,
}

/// A collective, how often it runs, and the computation before each repetition.
#[derive(Clone, Debug)]
pub struct CollectivePlan {
    pub operation: Operation,
    pub algorithm: Algorithm,
    pub job: Job,
    pub collective: Collective,
    pub cycles: u32,
    pub compute: Time,
}

impl CollectiveRequest {
    /// The collective of `simulate`, if one was given.
    pub fn of_simulate(typed: &CollectiveOptions) -> Outcome<Option<CollectiveRequest>> {
        let (Some(choice), Some(processes)) = (&typed.collective, typed.processes) else {
            let repeats = typed.repetition.cycles.is_some() || typed.repetition.compute.is_some();
            return if repeats {
                Err(Failure::usage(
                    "--cycles and --compute need --collective: a schedule file already defines its operations",
                ))
            } else {
                Ok(None)
            };
        };
        CollectiveRequest::from_choice(choice, processes, &typed.data, typed.repetition).map(Some)
    }

    pub fn new(typed: &CheckedCollective) -> Outcome<CollectiveRequest> {
        CollectiveRequest::from_choice(&typed.collective, typed.processes, &typed.data, Repetition::default())
    }

    /// The collective of `generate`, if one was given.
    pub fn of_generate(typed: &Generate) -> Outcome<Option<CollectiveRequest>> {
        let request = typed.collective.as_ref().map(|choice| {
            CollectiveRequest::from_choice(choice, typed.processes, &typed.data, typed.repetition)
        });
        request.transpose()
    }

    fn from_choice(
        choice: &Choice,
        processes: u32,
        data: &DataOptions,
        repetition: Repetition,
    ) -> Outcome<CollectiveRequest> {
        let operation = choice.operation;
        refuse_what_does_not_apply(operation, data)?;
        let job = Job {
            processes,
            root: data.root.unwrap_or(0),
            sizes: sizes(operation, data),
            reduction: data.reduction_cost.unwrap_or(PerByte::ZERO),
        };
        refuse_too_much(operation, &job)?;
        Ok(CollectiveRequest {
            operation,
            algorithm: choice.algorithm.clone(),
            algorithms: data.algorithms.clone(),
            job,
            idempotent: data.idempotent,
            cycles: repetition.cycles.unwrap_or(1),
            compute: repetition.compute.unwrap_or(Time::ZERO),
        })
    }

    pub fn build(&self, algorithm: Algorithm) -> Outcome<CollectivePlan> {
        Ok(CollectivePlan {
            operation: self.operation,
            collective: algorithm.build(self.operation, &self.job)?,
            algorithm,
            job: self.job.clone(),
            cycles: self.cycles,
            compute: self.compute,
        })
    }

    /// Warnings about the selected algorithm.
    pub fn warnings(&self, algorithm: &Algorithm) -> Vec<String> {
        let (operation, processes) = (self.operation, self.job.processes);
        let mut warnings = Vec::new();
        if self.algorithms.is_some() && self.algorithm.is_some() {
            warnings.push("--algorithms has no effect: the algorithm is named".to_string());
        }
        if operation.reduces() && !self.idempotent && !algorithm.is_exact(operation, processes) {
            warnings.push(format!(
                "{algorithm} on {processes} processes counts some contributions twice: a sum would be wrong, a maximum \
                 correct; add --idempotent if the operation is idempotent"
            ));
        }
        warnings
    }
}

/// Rejects options that do not apply to the operation.
fn refuse_what_does_not_apply(operation: Operation, data: &DataOptions) -> Outcome<()> {
    let vectors: Vec<&str> =
        Operation::ALL.into_iter().filter(|operation| operation.is_vector()).map(Operation::name).collect();
    let refusals = [
        (data.root.is_some() && !operation.has_root(), format!("{operation} has no root: remove --root")),
        (
            data.size.is_some() && !operation.has_size(),
            "a barrier carries no data: remove --size".to_string(),
        ),
        (
            !data.sizes.is_empty() && !operation.is_vector(),
            format!(
                "--sizes: in {operation} all sizes are the same, use --size; they may differ in {}",
                vectors.join(", ")
            ),
        ),
        (
            data.reduction_cost.is_some() && !operation.reduces(),
            format!("{operation} combines no data: remove --reduction-cost"),
        ),
        (
            data.idempotent && !operation.reduces(),
            format!("{operation} combines no data: remove --idempotent"),
        ),
    ];
    match refusals.into_iter().find(|(holds, _)| *holds) {
        Some((_, text)) => Err(Failure::usage(text)),
        None => Ok(()),
    }
}

fn sizes(operation: Operation, data: &DataOptions) -> Sizes {
    if !data.sizes.is_empty() {
        let sizes: Vec<u64> = data.sizes.iter().map(|&Bytes(bytes)| bytes).collect();
        return Sizes::repeating(&sizes);
    }
    Sizes::uniform(operation.bytes(data.size.map(|Bytes(bytes)| bytes)))
}

fn refuse_too_much(operation: Operation, job: &Job) -> Outcome<()> {
    if job.fits(operation) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "the data of this {operation} exceeds {} in total: give smaller sizes",
        Bytes(Job::MOST_BYTES)
    )))
}

impl CollectivePlan {
    pub fn processes(&self) -> u32 {
        self.job.processes
    }

    pub fn workload(&self) -> Workload {
        let (collective, cycles, compute) = (self.collective.clone(), self.cycles, self.compute);
        Workload::Collective { collective, cycles, compute }
    }

    pub fn script(&self) -> Cycles<&Collective> {
        Cycles::new(&self.collective, self.cycles, self.compute)
    }

    /// As `--collective` takes it: `allreduce:ring`.
    pub fn name(&self) -> String {
        format!("{}:{}", self.operation, self.algorithm)
    }
}

/// A collective, with warnings for the user.
#[derive(Debug)]
pub struct Chosen {
    pub plan: CollectivePlan,
    pub warnings: Vec<String>,
}

pub fn load(request: &CollectiveRequest) -> Outcome<Chosen> {
    let algorithm = match &request.algorithm {
        Some(algorithm) => algorithm.clone(),
        None => choose(request)?,
    };
    let warnings = request.warnings(&algorithm);
    Ok(Chosen { plan: request.build(algorithm)?, warnings })
}

fn choose(request: &CollectiveRequest) -> Outcome<Algorithm> {
    let table = request.algorithms.as_deref().unwrap_or(Selector::PRESETS[0]);
    let selector = Selector::load(table)?;
    Ok(selector.choose(request.operation, &request.job, request.idempotent)?.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(choice: &str, data: DataOptions) -> Outcome<CollectiveRequest> {
        CollectiveRequest::from_choice(&choice.parse().unwrap(), 4, &data, Repetition::default())
    }

    fn says(choice: &str, data: DataOptions, text: &str) {
        let failure = request(choice, data).unwrap_err();
        assert!(failure.error.to_string().contains(text), "{}", failure.error);
    }

    #[test]
    fn a_root_needs_an_operation_that_has_one() {
        let root = |root| DataOptions { root: Some(root), ..DataOptions::default() };
        says("allreduce", root(1), "allreduce has no root");
        let build = |number| {
            let request = request("bcast:binomial", root(number)).unwrap();
            request.build(request.algorithm.clone().unwrap())
        };
        assert!(build(4).is_err());
        assert!(build(3).is_ok());
    }

    #[test]
    fn options_that_do_not_apply_are_refused_with_a_reason() {
        let sizes = |list: &[u64]| DataOptions {
            sizes: list.iter().map(|&bytes| Bytes(bytes)).collect(),
            ..DataOptions::default()
        };
        says("allgather", sizes(&[1, 2]), "they may differ in allgatherv, alltoallv, gatherv");
        assert_eq!(request("allgatherv", sizes(&[1, 2])).unwrap().job.sizes, Sizes::repeating(&[1, 2]));
        let cost = DataOptions { reduction_cost: Some(PerByte::from_ps(5)), ..DataOptions::default() };
        says("bcast", cost.clone(), "combines no data");
        assert_eq!(request("reduce", cost).unwrap().job.reduction, PerByte::from_ps(5));
        let idempotent = DataOptions { idempotent: true, ..DataOptions::default() };
        says("barrier", idempotent, "combines no data");
        let size = DataOptions { size: Some(Bytes(8)), ..DataOptions::default() };
        says("barrier", size.clone(), "remove --size");
        assert!(request("bcast", size).is_ok());
        let huge = DataOptions { size: Some(Bytes(1 << 61)), ..DataOptions::default() };
        says("allgather", huge.clone(), "smaller sizes");
        assert!(request("allreduce", huge).is_ok());
    }

    #[test]
    fn sums_that_would_be_wrong_are_warned_of() {
        let warnings = |processes, idempotent| {
            let data = DataOptions { idempotent, ..DataOptions::default() };
            let choice: Choice = "allreduce:dissemination".parse().unwrap();
            let request =
                CollectiveRequest::from_choice(&choice, processes, &data, Repetition::default()).unwrap();
            request.warnings(&choice.algorithm.unwrap())
        };
        assert!(warnings(8, false).is_empty());
        assert!(warnings(11, false)[0].contains("a sum would be wrong"));
        assert!(warnings(11, true).is_empty());
    }
}

//! The options of a collective as typed, shared by all commands that take one, and a collective in words. Commands that
//! flatten them have an option `--collective`.

use crate::kernel::prelude::*;
use crate::kernel::typed::{count, text};
use crate::schedule::args::{CheckedCollective, Generate};
use crate::simulate::args::CollectiveOptions;
use straggler_model::network::PerByte;
use straggler_schedule::collectives::{Algorithm, Choice, Collective, Data, Job, Name, Operation, Selector};
use straggler_schedule::{Cycles, collectives::sizes::Sizes};
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

/// Sizes to list; further ones become an ellipsis.
const NAMED: u64 = 4;

impl CollectivePlan {
    /// "an allreduce of 8 B by dissemination", "10 barriers by dissemination, each after 1 ms of
    /// computation".
    pub fn describe(&self) -> String {
        let compute = match self.compute {
            Time::ZERO => String::new(),
            time if self.cycles == 1 => format!(" after {time} of computation"),
            time => format!(", each after {time} of computation"),
        };
        let operation = word(self.operation);
        let (size, how) = (size(self.operation, &self.job), way(&self.algorithm));
        // The comma keeps "in two levels" from referring to the size.
        let comma = if how.starts_with("in ") && !size.is_empty() { "," } else { "" };
        if self.cycles == 1 {
            let article = if operation.starts_with(['a', 'e']) { "an" } else { "a" };
            format!("{article} {operation}{size}{comma} {how}{compute}")
        } else {
            let cycles = straggler_report::numbers::grouped(self.cycles);
            format!("{cycles} {operation}s{size}{comma} {how}{compute}")
        }
    }
}

fn word(operation: Operation) -> &'static str {
    match operation {
        Operation::Bcast => "broadcast",
        other => other.name(),
    }
}

/// " of 8 B", " of 8 B per rank".
fn size(operation: Operation, job: &Job) -> String {
    let each = match operation.data() {
        _ if !operation.has_size() => return String::new(),
        Data::Vector => "",
        Data::BlockForEachRank => " per rank",
        Data::BlockForEachPair => " per pair of ranks",
    };
    format!(" of {}{each}", amount(&job.sizes))
}

/// "8 B"; "1 KiB, 8 KiB, … in turn".
fn amount(sizes: &Sizes) -> String {
    if sizes.is_uniform() {
        return Bytes(sizes.size(0)).to_string();
    }
    let named: Vec<String> =
        (0..sizes.period().min(NAMED)).map(|block| Bytes(sizes.size(block)).to_string()).collect();
    let more = if sizes.period() > NAMED { ", …" } else { "" };
    format!("{}{more} in turn", named.join(", "))
}

/// "by recursive doubling", "by a chain (segment=8192)".
fn way(algorithm: &Algorithm) -> String {
    let words = match algorithm.name {
        Name::Binary => "by a binary tree",
        Name::Binomial => "by a binomial tree",
        Name::Bruck => "by Bruck's algorithm",
        Name::Chain => "by a chain",
        Name::Dissemination => "by dissemination",
        Name::DoubleTree => "by a double tree",
        Name::KNomial => "by a k-nomial tree",
        Name::Linear => "by the linear algorithm",
        Name::Pairwise => "by pairwise exchange",
        Name::Rabenseifner => "by Rabenseifner's algorithm",
        Name::RecursiveDoubling => "by recursive doubling",
        Name::RecursiveHalving => "by recursive halving",
        Name::ReduceBcast => "by reduce and broadcast",
        Name::Ring => "by a ring",
        Name::ScatterAllgather => "by scatter and allgather",
        Name::Tournament => "by a tournament",
        Name::TwoLevel => "in two levels",
    };
    match algorithm.to_string().split_once(',') {
        Some((_, parameters)) => format!("{words} ({})", parameters.replace(',', ", ")),
        None => words.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::Time;
    use straggler_model::units::Bytes;
    use straggler_schedule::collectives::Choice;

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

    fn described(choice: &str, sizes: &[u64], cycles: Option<u32>, compute: Option<Time>) -> String {
        let data =
            DataOptions { sizes: sizes.iter().map(|&size| Bytes(size)).collect(), ..Default::default() };
        let choice: Choice = choice.parse().unwrap();
        let request =
            CollectiveRequest::from_choice(&choice, 16, &data, Repetition { cycles, compute }).unwrap();
        request.build(choice.algorithm.unwrap()).unwrap().describe()
    }

    #[test]
    fn described_as_a_person_would() {
        assert_eq!(described("allreduce:ring", &[], None, None), "an allreduce of 8 B by a ring");
        assert_eq!(
            described("barrier:dissemination,radix=4", &[], Some(1), Some(Time::from_ns(1000))),
            "a barrier by dissemination (radix=4) after 1 µs of computation"
        );
        assert_eq!(
            described("bcast:binomial", &[], Some(1000), Some(Time::from_ns(1_000_000))),
            "1,000 broadcasts of 8 B by a binomial tree, each after 1 ms of computation"
        );
        assert_eq!(described("exscan:linear", &[], None, None), "an exscan of 8 B by the linear algorithm");
        assert_eq!(
            described("alltoallv:pairwise", &[1024, 0], None, None),
            "an alltoallv of 1 KiB, 0 B in turn per pair of ranks by pairwise exchange"
        );
        assert_eq!(
            described("allgatherv:ring", &[1, 2, 3, 4, 5], None, None),
            "an allgatherv of 1 B, 2 B, 3 B, 4 B, … in turn per rank by a ring"
        );
    }
}

//! How the program ends: the documented exit codes, and which error leads to which.

pub mod wrong_file;

pub use crate::kernel::exit::wrong_file::{Kind, Wanted, mistaken, unknown, unreadable};
use crate::kernel::exit::wrong_file::{misnamed_network, unreadable_or};
use straggler_analysis::study::{JournalError, PlanError};
use straggler_analysis::{assess::AssessError, latency::gate::Unjudged};
use straggler_measure::{cores::CoresError, noise::MeasureError, sources::SourcesError};
use straggler_model::{
    latency::LatencyError, network::NetworkError, samples::SamplesError, topology::TopologyError,
};
use straggler_noise::format::{JoinError, WriteError};
use straggler_noise::{InjectionError, LoadError, SignatureError, offsets::OffsetsError, signature_meant};
use straggler_report::{ReplaceError, charts::SaveError, study_results::ReadError as ResultsError};
use straggler_schedule::collectives::{CollectiveError, SelectorError};
use straggler_schedule::{goal::ReadError, workloads::WorkloadError};
use straggler_sim::{
    outcome::RunError, ports::FabricError, programs::ButterflyError, resampling::ResamplingError,
};
use straggler_trace::format::directory::OpenError;

/// An exit code other than 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// An unknown option, or an invalid value.
    Usage = 2,
    /// A file cannot be read, written or parsed.
    BadInput = 3,
    /// The schedule cannot finish, or leaves messages unreceived.
    Stuck = 4,
    /// A check by the program, of itself or of a result, has failed.
    CheckFailed = 5,
    Interrupted = 130,
}

/// An error to show to the user. The text is complete: it names what is wrong and how to fix it.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub error: anyhow::Error,
}

pub type Outcome<T> = Result<T, Failure>;

impl Failure {
    pub fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Failure {
        Failure { exit, error: error.into() }
    }

    pub fn usage(text: impl Into<String>) -> Failure {
        Failure::new(Exit::Usage, anyhow::Error::msg(text.into()))
    }

    pub fn bad_input(text: impl Into<String>) -> Failure {
        Failure::new(Exit::BadInput, anyhow::Error::msg(text.into()))
    }

    /// An error about a file that was read, but that this command cannot use.
    pub fn bad_input_of(error: impl std::error::Error + Send + Sync + 'static) -> Failure {
        Failure::new(Exit::BadInput, error)
    }

    pub fn interrupted() -> Failure {
        Failure::new(Exit::Interrupted, anyhow::Error::msg("interrupted: nothing was written"))
    }
}

impl From<TopologyError> for Failure {
    fn from(error: TopologyError) -> Failure {
        match error {
            TopologyError::Unreadable { path, fault } => unreadable(&path, &fault),
            TopologyError::InFile { .. } => Failure::new(Exit::BadInput, error),
            _ => Failure::new(Exit::Usage, error),
        }
    }
}

impl From<FabricError> for Failure {
    fn from(error: FabricError) -> Failure {
        Failure::new(Exit::Usage, error)
    }
}

impl From<NetworkError> for Failure {
    fn from(error: NetworkError) -> Failure {
        match error {
            NetworkError::Unreadable { path, fault } => unreadable(&path, &fault),
            NetworkError::InFile { .. } => Failure::new(Exit::BadInput, error),
            NetworkError::UnknownName { ref name, .. } => {
                misnamed_network(name).unwrap_or_else(|| Failure::new(Exit::Usage, error))
            }
            _ => Failure::new(Exit::Usage, error),
        }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Failure {
        match &error {
            ReadError::Io { path, source } => {
                mistaken(path, Wanted::Schedule).unwrap_or_else(|| unreadable(path, source))
            }
            ReadError::Goal { path, .. } => {
                mistaken(path, Wanted::Schedule).unwrap_or_else(|| Failure::new(Exit::BadInput, error))
            }
        }
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Failure {
        match &error {
            LoadError::Unreadable { path, fault } => {
                let signature = signature_meant(path, fault);
                mistaken(path, Wanted::Noise).unwrap_or_else(|| unreadable_or(path, fault, signature))
            }
            LoadError::Signature(SignatureError::Unreadable { path, fault }) => unreadable(path, fault),
            LoadError::File { path, fault } => mistaken(path, Wanted::Noise)
                .unwrap_or_else(|| Failure::bad_input(format!("{}: {fault}", path.display()))),
            _ => Failure::new(Exit::BadInput, error),
        }
    }
}

/// Errors with a variant for a file that cannot be read.
macro_rules! may_be_unreadable {
    ($($error:ident::$variant:ident { path, $fault:ident }),* $(,)?) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                match &error {
                    $error::$variant { path, $fault } => unreadable(path, $fault),
                    _ => Failure::new(Exit::BadInput, error),
                }
            }
        })*
    };
}

may_be_unreadable! {
    LatencyError::Unreadable { path, fault },
    OffsetsError::Unreadable { path, fault },
    OpenError::Io { path, source },
    ResultsError::Io { path, fault },
    SamplesError::Unreadable { path, fault },
    SignatureError::Unreadable { path, fault },
}

impl From<SelectorError> for Failure {
    fn from(error: SelectorError) -> Failure {
        match &error {
            SelectorError::Unknown { .. } => Failure::new(Exit::Usage, error),
            SelectorError::Unreadable { path, fault } => unreadable(path, fault),
            _ => Failure::new(Exit::BadInput, error),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        match error {
            RunError::Interrupted => Failure::interrupted(),
            RunError::NoLookahead => Failure::new(Exit::Usage, error),
            _ => Failure::new(Exit::BadInput, error),
        }
    }
}

impl From<MeasureError> for Failure {
    fn from(error: MeasureError) -> Failure {
        let of_the_machine = matches!(
            error,
            MeasureError::NoThread { .. }
                | MeasureError::Died { .. }
                | MeasureError::Cores(CoresError::Unknown { .. } | CoresError::NotPinned { .. })
        );
        Failure::new(if of_the_machine { Exit::BadInput } else { Exit::Usage }, error)
    }
}

impl From<AssessError> for Failure {
    fn from(error: AssessError) -> Failure {
        match error {
            AssessError::Run(error) => error.into(),
            AssessError::Collective(error) => error.into(),
            AssessError::Detours(_) => Failure::new(Exit::BadInput, error),
            AssessError::Stuck { .. } => Failure::new(Exit::Stuck, error),
        }
    }
}

impl From<ResamplingError> for Failure {
    fn from(error: ResamplingError) -> Failure {
        match error {
            ResamplingError::Interrupted => Failure::interrupted(),
            ResamplingError::NoTimes | ResamplingError::TooLong { .. } => Failure::new(Exit::BadInput, error),
            _ => Failure::new(Exit::Usage, error),
        }
    }
}

macro_rules! leads_to {
    ($($error:ty => $exit:ident),* $(,)?) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                Failure::new(Exit::$exit, error)
            }
        })*
    };
}

leads_to! {
    JoinError => BadInput,
    Unjudged => BadInput,
    JournalError => BadInput,
    PlanError => BadInput,
    WriteError => BadInput,
    InjectionError => BadInput,
    ReplaceError => BadInput,
    SaveError => BadInput,
    SourcesError => BadInput,
    CollectiveError => Usage,
    ButterflyError => Usage,
    WorkloadError => Usage,
}

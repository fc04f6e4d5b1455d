//! The algorithm of a collective, as typed: `NAME[,PARAMETER=VALUE…]`.

use super::{Collective, CollectiveError, Job, Operation};
use std::fmt;
use straggler_model::spelling::{hint, hint_of_list, nearest};
use straggler_model::units::Bytes;

/// Names of the algorithms of all operations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Name {
    Binary,
    Binomial,
    Bruck,
    Chain,
    Dissemination,
    DoubleTree,
    KNomial,
    Linear,
    Pairwise,
    Rabenseifner,
    RecursiveDoubling,
    RecursiveHalving,
    ReduceBcast,
    Ring,
    ScatterAllgather,
    Tournament,
    TwoLevel,
}

impl Name {
    pub fn text(self) -> &'static str {
        match self {
            Name::Binary => "binary",
            Name::Binomial => "binomial",
            Name::Bruck => "bruck",
            Name::Chain => "chain",
            Name::Dissemination => "dissemination",
            Name::DoubleTree => "double-tree",
            Name::KNomial => "k-nomial",
            Name::Linear => "linear",
            Name::Pairwise => "pairwise",
            Name::Rabenseifner => "rabenseifner",
            Name::RecursiveDoubling => "recursive-doubling",
            Name::RecursiveHalving => "recursive-halving",
            Name::ReduceBcast => "reduce-bcast",
            Name::Ring => "ring",
            Name::ScatterAllgather => "scatter-allgather",
            Name::Tournament => "tournament",
            Name::TwoLevel => "two-level",
        }
    }

    /// The parameters it understands.
    pub(super) fn parameters(self) -> &'static [Parameter] {
        match self {
            Name::Binary | Name::Chain | Name::DoubleTree => &[Parameter::Segment],
            Name::Bruck | Name::Dissemination | Name::KNomial => &[Parameter::Radix],
            Name::TwoLevel => &[Parameter::PerNode, Parameter::Node, Parameter::Network],
            _ => &[],
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Parameter {
    Segment,
    Radix,
    PerNode,
    Node,
    Network,
}

impl Parameter {
    pub(super) fn text(self) -> &'static str {
        match self {
            Parameter::Segment => "segment",
            Parameter::Radix => "radix",
            Parameter::PerNode => "per-node",
            Parameter::Node => "node",
            Parameter::Network => "network",
        }
    }
}

/// An algorithm with its parameters. Parameters that are not given have defaults.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Algorithm {
    pub name: Name,
    /// Bytes of a segment.
    pub segment: Option<u64>,
    /// Factor by which the number of ranks with the data grows per round.
    pub radix: Option<u32>,
    /// Only used by [`Name::TwoLevel`].
    pub levels: Levels,
}

/// The parts of a two-level algorithm.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Levels {
    /// Ranks per node.
    pub per_node: Option<u32>,
    /// Algorithm inside a node.
    pub node: Option<Box<Algorithm>>,
    /// Algorithm between nodes.
    pub network: Option<Box<Algorithm>>,
}

impl From<Name> for Algorithm {
    fn from(name: Name) -> Algorithm {
        Algorithm { name, segment: None, radix: None, levels: Levels::default() }
    }
}

/// An algorithm that the operation does not have, or wrong parameters.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AlgorithmError {
    #[error("unknown algorithm `{algorithm}` for {operation} (known: {known}){}", hint_of_list(.algorithm, .known))]
    Unknown { operation: &'static str, algorithm: String, known: String },
    #[error("`{text}` is not a parameter of {algorithm}: {mend}")]
    Parameter { algorithm: &'static str, text: String, mend: String },
    #[error("{algorithm}: {parameter}={value}: {mend}")]
    Value { algorithm: &'static str, parameter: &'static str, value: String, mend: String },
}

impl Algorithm {
    /// Parses `NAME[,PARAMETER=VALUE…]` for an operation. Inside the levels of a two-level
    /// algorithm, `/` separates parameters instead of `,`.
    pub fn parse(operation: Operation, text: &str) -> Result<Algorithm, AlgorithmError> {
        Algorithm::parse_parts(operation, text, ',')
    }

    fn parse_parts(operation: Operation, text: &str, separator: char) -> Result<Algorithm, AlgorithmError> {
        let mut parts = text.split(separator);
        let wanted = parts.next().unwrap_or_default();
        let known = operation.algorithms();
        let Some(&name) = known.iter().find(|name| name.text().eq_ignore_ascii_case(wanted)) else {
            let known: Vec<&str> = known.iter().map(|name| name.text()).collect();
            return Err(AlgorithmError::Unknown {
                operation: operation.name(),
                algorithm: wanted.to_string(),
                known: known.join(", "),
            });
        };
        let mut algorithm = Algorithm::from(name);
        for part in parts {
            algorithm.set(operation, part)?;
        }
        Ok(algorithm)
    }

    fn set(&mut self, operation: Operation, text: &str) -> Result<(), AlgorithmError> {
        let known = self.name.parameters();
        let found = text.split_once('=').and_then(|(key, value)| {
            known.iter().find(|parameter| parameter.text() == key).map(|&parameter| (parameter, value))
        });
        let Some((parameter, value)) = found else {
            return Err(self.no_parameter(text));
        };
        match parameter {
            Parameter::Segment => self.segment = Some(self.bytes(parameter, value)?),
            Parameter::Radix => self.radix = Some(self.number(parameter, value, 2)?),
            Parameter::PerNode => self.levels.per_node = Some(self.number(parameter, value, 1)?),
            Parameter::Node => {
                let inner = super::two_level::node_operation(operation);
                self.levels.node = Some(Box::new(Algorithm::parse_parts(inner, value, '/')?));
            }
            Parameter::Network => {
                self.levels.network = Some(Box::new(Algorithm::parse_parts(operation, value, '/')?));
            }
        }
        Ok(())
    }

    fn no_parameter(&self, text: &str) -> AlgorithmError {
        let known: Vec<&str> = self.name.parameters().iter().map(|parameter| parameter.text()).collect();
        let mend = match known.as_slice() {
            [] => "it has none".to_string(),
            known => {
                let typed = text.split('=').next().unwrap_or_default();
                let hint = hint(nearest(typed, known.iter().copied()));
                format!("write {}=VALUE{hint}", known.join("=VALUE or "))
            }
        };
        AlgorithmError::Parameter { algorithm: self.name.text(), text: text.to_string(), mend }
    }

    fn bytes(&self, parameter: Parameter, value: &str) -> Result<u64, AlgorithmError> {
        match value.parse::<Bytes>() {
            Ok(Bytes(0)) => Err(self.wrong(parameter, value, "a segment has at least one byte")),
            Ok(Bytes(bytes)) => Ok(bytes),
            Err(fault) => Err(self.wrong(parameter, value, &fault.to_string())),
        }
    }

    fn number(&self, parameter: Parameter, value: &str, least: u32) -> Result<u32, AlgorithmError> {
        let number = value.parse().ok().filter(|number| *number >= least);
        number
            .ok_or_else(|| self.wrong(parameter, value, &format!("give a whole number of at least {least}")))
    }

    fn wrong(&self, parameter: Parameter, value: &str, mend: &str) -> AlgorithmError {
        AlgorithmError::Value {
            algorithm: self.name.text(),
            parameter: parameter.text(),
            value: value.to_string(),
            mend: mend.to_string(),
        }
    }

    /// Builds the collective for a job.
    pub fn build(&self, operation: Operation, job: &Job) -> Result<Collective, CollectiveError> {
        super::build::build(operation, self, job)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name.text())?;
        if let Some(segment) = self.segment {
            write!(f, ",segment={segment}")?;
        }
        if let Some(radix) = self.radix {
            write!(f, ",radix={radix}")?;
        }
        if let Some(per_node) = self.levels.per_node {
            write!(f, ",per-node={per_node}")?;
        }
        for (key, part) in [("node", &self.levels.node), ("network", &self.levels.network)] {
            if let Some(part) = part {
                write!(f, ",{key}={}", part.to_string().replace(',', "/"))?;
            }
        }
        Ok(())
    }
}

impl Algorithm {
    /// Returns whether every contribution is counted exactly once. If the last round of a
    /// dissemination wraps around the ranks, it counts some contributions twice. That is fine for
    /// barriers and for idempotent reductions (maximum, minimum, and, or).
    pub fn is_exact(&self, operation: Operation, processes: u32) -> bool {
        if self.name == Name::TwoLevel {
            return super::two_level::is_exact(self, operation, processes);
        }
        if self.name != Name::Dissemination || operation != Operation::Allreduce {
            return true;
        }
        // Before the last round, a rank holds the data of `distance` ranks, and so do its partners.
        // Their contributions tile the ranks exactly only if `distance` divides their number.
        let (all, radix) = (u64::from(processes), u64::from(self.radix.unwrap_or(2).max(2)));
        let mut distance = 1;
        while distance * radix < all {
            distance *= radix;
        }
        all.is_multiple_of(distance)
    }
}

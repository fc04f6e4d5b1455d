//! A collective as the user asks for it: `OPERATION[:ALGORITHM[,PARAMETER=VALUE…]]`.

use super::{Algorithm, AlgorithmError, Operation, UnknownOperation};
use std::fmt;
use std::str::FromStr;

/// An operation and, if the user named one, its algorithm.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    pub operation: Operation,
    pub algorithm: Option<Algorithm>,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.algorithm {
            Some(algorithm) => write!(f, "{}:{algorithm}", self.operation),
            None => write!(f, "{}", self.operation),
        }
    }
}

/// The text names no known collective.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(transparent)]
pub enum UnknownCollective {
    Operation(#[from] UnknownOperation),
    Algorithm(#[from] AlgorithmError),
}

impl FromStr for Choice {
    type Err = UnknownCollective;

    fn from_str(text: &str) -> Result<Choice, UnknownCollective> {
        let (operation, algorithm) = match text.split_once(':') {
            Some((operation, algorithm)) => (operation, Some(algorithm)),
            None => (text, None),
        };
        let operation = operation.parse()?;
        let algorithm = algorithm.map(|text| Algorithm::parse(operation, text)).transpose()?;
        Ok(Choice { operation, algorithm })
    }
}

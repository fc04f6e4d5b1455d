//! Lists of cores as typed.

use straggler_measure::cores;

/// `0-3,8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreList(pub Vec<u32>);

pub fn cores_list(text: &str) -> Result<CoreList, String> {
    cores::parse(text).map(CoreList).map_err(|fault| fault.to_string())
}

//! The token that a server demands of its clients.

use crate::exit::{Failure, Outcome};

/// 128 random bits from the operating system, as 32 hex digits.
pub fn token() -> Outcome<String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|fault| Failure::bad_input(format!("the system provides no random numbers: {fault}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

//! `straggler network`, validated.

use super::valid::Check;
use crate::args::network::NetworkCommand;
use crate::exit::Outcome;

impl Check for NetworkCommand {
    fn check(&self) -> Outcome<()> {
        Ok(())
    }
}

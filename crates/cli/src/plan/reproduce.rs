//! `straggler reproduce`, validated.

use super::valid::Check;
use crate::args::reproduce::Reproduce;
use crate::devices;
use crate::exit::Outcome;
use crate::places::refuse_unwritable;

impl Check for Reproduce {
    fn check(&self) -> Outcome<()> {
        if self.list {
            return Ok(());
        }
        devices::refuse_missing(self.device.device)?;
        refuse_unwritable(&self.output)?;
        self.markdown.as_deref().map_or(Ok(()), refuse_unwritable)
    }
}

//! `straggler predict`, validated.

use super::valid::Check;
use crate::args::predict::Predict;
use crate::exit::{Failure, Outcome};
use crate::metrics::{prediction, refuse_unknown};
use crate::places::refuse_missing_folder;
use straggler_analysis::study::FIT;

impl Check for Predict {
    fn check(&self) -> Outcome<()> {
        if self.save_network.is_some() && self.network.as_deref().is_some_and(|name| name != FIT) {
            return Err(Failure::usage(
                "--save-network keeps a fitted network: leave out --network, or give --network fit",
            ));
        }
        refuse_unknown(&self.checks, prediction::KINDS)?;
        self.save_network.iter().try_for_each(|path| refuse_missing_folder(path))
    }
}

//! The network of the baseline: given, fitted to the trace, or assumed.

use crate::args::whatif::WhatIf;
use crate::exit::Outcome;
use crate::inputs::network::load_network;
use crate::inputs::trace::Opened;
use std::path::Path;
use straggler_analysis::predict::fit;
use straggler_analysis::study::FIT;
use straggler_model::Network;

/// The network of the baseline, and the reason to doubt it.
pub struct Base {
    pub network: Network,
    pub fitted: bool,
    pub doubt: Option<String>,
}

/// Used if no network was measured here, either.
const PRESET: &str = "slingshot-11";
/// What `straggler mpi loggp` writes.
const MEASURED: &str = "measured";
/// If the fitted network is wrong by more than this share of the run, others are tried.
const FAR_OFF: f64 = 0.25;

impl Base {
    pub fn of(typed: &WhatIf, opened: &Opened) -> Outcome<Base> {
        if let Some(name) = typed.base_network.as_deref().filter(|&name| name != FIT) {
            return Ok(Base { network: load_network(name, None)?, fitted: false, doubt: None });
        }
        match fit(&opened.trace) {
            Ok(fit) => Ok(Base { network: fit.network, fitted: true, doubt: None }),
            Err(fault) => {
                let mut base = Base::fallback()?;
                let fault = fault.to_string();
                base.doubt(fault.split("; give them").next().unwrap_or(&fault));
                Ok(base)
            }
        }
    }

    /// A network that was measured here, or else a preset.
    pub fn fallback() -> Outcome<Base> {
        let name = if Path::new("measured.toml").exists() { MEASURED } else { PRESET };
        Ok(Base { network: load_network(name, None)?, fitted: false, doubt: None })
    }

    /// Whether another network may be closer to the trace.
    pub fn is_doubtful(&self, error: f64) -> bool {
        self.fitted && error.abs() > FAR_OFF
    }

    pub fn doubt(&mut self, why: &str) {
        self.doubt = Some(format!(
            "{why}. So the network {} is assumed, and what depends on the network is uncertain: measure it with \
             `straggler mpi loggp`, or give it with --base-network",
            self.network.name
        ));
    }
}

//! Signatures of systems whose noise has been described in publications.
//!
//! Each is a file that gives the reasons for its numbers. They are synthesised: the share of time and the
//! sources follow the publication; whatever it leaves open is chosen, and marked as such. None is tuned to a
//! reported slowdown.

use super::{Signature, SignatureError};
use straggler_model::spelling::{hint, nearest};

/// A built-in signature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BuiltIn {
    pub name: &'static str,
    pub summary: &'static str,
    /// The published share of time for all cores in use (or for one, if only that is given), in percent as
    /// printed; `None` if the publication gives none.
    pub published_percent: Option<&'static str>,
    /// The signature file, with the reasons for its numbers in comments.
    pub toml: &'static str,
}

/// No built-in signature has this name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "there is no built-in signature `{name}` (known: {known}; for a file write signature:file=PATH){}",
    hint(*.nearest)
)]
pub struct UnknownSignature {
    pub name: String,
    pub known: String,
    pub nearest: Option<&'static str>,
}

const ALL: [BuiltIn; 6] = [
    BuiltIn {
        name: "chic",
        summary: "diskless Linux 2.6.18 cluster with InfiniBand, Opteron 2.6 GHz",
        published_percent: Some("0.21"),
        toml: include_str!("builtin/chic.toml"),
    },
    BuiltIn {
        name: "altix",
        summary: "SGI Altix 4700, Linux 2.6.16, Itanium II 1.6 GHz, one core in use",
        published_percent: Some("0.05"),
        toml: include_str!("builtin/altix.toml"),
    },
    BuiltIn {
        name: "jugene",
        summary: "Blue Gene/P with CNK: no noise at all",
        published_percent: Some("0"),
        toml: include_str!("builtin/jugene.toml"),
    },
    BuiltIn {
        name: "zeptoos",
        summary: "Intrepid, Blue Gene/P with ZeptoOS, Linux 2.6.19",
        published_percent: Some("0.08"),
        toml: include_str!("builtin/zeptoos.toml"),
    },
    BuiltIn {
        name: "jaguar",
        summary: "Cray XT-4 with Compute Node Linux 2.6.16, Opteron 2.1 GHz",
        published_percent: Some("0.02"),
        toml: include_str!("builtin/jaguar.toml"),
    },
    BuiltIn {
        name: "sp2",
        summary: "IBM SP2, AIX 3.2.5, POWER2 Thin Node 66",
        published_percent: None,
        toml: include_str!("builtin/sp2.toml"),
    },
];

impl BuiltIn {
    /// All signatures, in listing order.
    pub fn all() -> &'static [BuiltIn] {
        &ALL
    }

    /// Finds a signature by name, ignoring case.
    pub fn find(name: &str) -> Result<&'static BuiltIn, UnknownSignature> {
        let found = BuiltIn::all().iter().find(|known| known.name.eq_ignore_ascii_case(name.trim()));
        found.ok_or_else(|| {
            let names = || BuiltIn::all().iter().map(|known| known.name);
            let known = names().collect::<Vec<_>>().join(", ");
            UnknownSignature { name: name.into(), known, nearest: nearest(name, names()) }
        })
    }

    pub fn signature(&self) -> Result<Signature, SignatureError> {
        Signature::from_toml(self.toml)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Detours;

    #[test]
    fn every_one_reads_and_says_what_it_is() {
        for built_in in BuiltIn::all() {
            let signature = built_in.signature().unwrap_or_else(|fault| panic!("{}: {fault}", built_in.name));
            assert_eq!(signature.name, built_in.name);
            assert!(signature.made_from.starts_with("synthesised"), "{}", signature.made_from);
            assert_eq!(BuiltIn::find(&built_in.name.to_uppercase()), Ok(built_in));
        }
    }

    /// Checks both the formulas and the injected noise.
    #[test]
    fn the_share_is_the_published_one() {
        for built_in in BuiltIn::all() {
            let Some(published) = built_in.published_percent else { continue };
            let decimals = published.split_once('.').map_or(0, |(_, behind)| behind.len());
            let signature = built_in.signature().unwrap();
            let traces = signature.traces(1, 0).unwrap();
            let drawn = traces.iter().map(Detours::share).fold(0.0, |sum, share| sum + share);
            for share in [signature.share(), drawn] {
                assert_eq!(format!("{:.decimals$}", share * 100.0), published, "{}", built_in.name);
            }
        }
    }
}

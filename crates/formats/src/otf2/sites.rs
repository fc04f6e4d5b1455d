//! Where calls were made: the calling contexts of an archive, or the regions that its calls lie in.

use super::calls::Site;
use super::definitions::Definitions;
use std::collections::HashMap;
use straggler_trace::sites::{CallSites, Module, NO_SITE, SiteId, Unifier};

/// The call sites found so far.
#[derive(Debug, Default)]
pub(super) struct Sites {
    found: Unifier,
    known: HashMap<Site, SiteId>,
}

impl Sites {
    /// The number of a call site; [`NO_SITE`] if the archive does not name its source.
    pub(super) fn number(&mut self, site: Site, definitions: &Definitions) -> SiteId {
        if site == Site::Unknown {
            return NO_SITE;
        }
        let found = &mut self.found;
        *self.known.entry(site).or_insert_with(|| match source(site, definitions) {
            Some((module, line)) => found.site(&module, line),
            None => NO_SITE,
        })
    }

    pub(super) fn finish(self) -> CallSites {
        self.found.finish()
    }
}

/// The function and file of a site, and its line, 0 if unknown.
fn source(site: Site, definitions: &Definitions) -> Option<(Module, u64)> {
    let caller = |region: u32| definitions.regions.get(&region).filter(|region| region.function.is_none());
    let (caller, place) = match site {
        Site::Unknown => return None,
        Site::Region(region) => (caller(region)?, None),
        Site::Context(context) => {
            let context = definitions.contexts.get(&context)?;
            let parent = definitions.contexts.get(&context.parent)?;
            (caller(parent.region)?, definitions.sources.get(&parent.source))
        }
    };
    let (path, line) = match place {
        Some(&(file, line)) => (definitions.string(file).to_owned(), u64::from(line)),
        None => (caller.file.clone(), 0),
    };
    let module = Module { path, function: Some(caller.name.clone()), build_id: Vec::new() };
    (!module.path.is_empty()).then_some((module, line))
}

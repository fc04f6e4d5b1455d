//! Where a program calls MPI from: modules (the program and its libraries), and places in them.
//!
//! A place is the offset of a return address in its module. It does not depend on where the system
//! loaded the module, and is the same on all hosts. The names of functions, files and lines are in
//! the module's debug information; the code that displays them reads it there.
//!
//! Traces of other tools name the source instead: then a module is a function in a source file, and an offset a line.

use std::collections::HashMap;

/// Index into [`CallSites::sites`].
pub type SiteId = u32;

/// Stands for an unknown place.
pub const NO_SITE: SiteId = SiteId::MAX;

/// A program or a library, or a function in a source file.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Module {
    pub path: String,
    /// The function, if the path is that of a source file; offsets are then lines, 0 for an unknown one.
    pub function: Option<String>,
    /// Identifies the build of the module; empty if the linker gave it none.
    pub build_id: Vec<u8>,
}

/// A place in the program that calls MPI.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CallSite {
    /// Index into [`CallSites::modules`].
    pub module: u32,
    /// The return address, relative to the module; the line, in a source file.
    pub offset: u64,
}

/// All places that a run calls from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CallSites {
    pub modules: Vec<Module>,
    pub sites: Vec<CallSite>,
}

impl CallSites {
    pub fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }

    pub fn get(&self, site: SiteId) -> Option<(&Module, u64)> {
        let site = self.sites.get(site as usize)?;
        Some((self.modules.get(site.module as usize)?, site.offset))
    }
}

/// Merges the places of several ranks into one table. Modules on two hosts are the same if they
/// have the same build id, whatever their paths; without build ids, if they have the same path.
#[derive(Debug, Default)]
pub struct Unifier {
    found: CallSites,
    modules: HashMap<Module, u32>,
    sites: HashMap<CallSite, SiteId>,
}

impl Unifier {
    pub fn site(&mut self, module: &Module, offset: u64) -> SiteId {
        let key = match module.build_id.is_empty() {
            true => module.clone(),
            false => Module { build_id: module.build_id.clone(), ..Module::default() },
        };
        let number = *self.modules.entry(key).or_insert_with(|| {
            self.found.modules.push(module.clone());
            self.found.modules.len() as u32 - 1
        });
        let site = CallSite { module: number, offset };
        *self.sites.entry(site).or_insert_with(|| {
            self.found.sites.push(site);
            self.found.sites.len() as SiteId - 1
        })
    }

    pub fn finish(self) -> CallSites {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_build_is_one_module_wherever_it_lies() {
        let module = |path: &str, build_id: &[u8]| Module {
            path: path.into(),
            build_id: build_id.into(),
            function: None,
        };
        let mut unifier = Unifier::default();
        let first = unifier.site(&module("/a/solve", &[1, 2]), 0x40);
        assert_eq!(unifier.site(&module("/b/solve", &[1, 2]), 0x40), first);
        assert_ne!(unifier.site(&module("/a/solve", &[1, 2]), 0x44), first);
        assert_ne!(unifier.site(&module("/a/solve", &[3]), 0x40), first);
        let unnamed = unifier.site(&module("/a/old", &[]), 0x40);
        assert_eq!(unifier.site(&module("/a/old", &[]), 0x40), unnamed);
        assert_ne!(unifier.site(&module("/b/old", &[]), 0x40), unnamed);
        let found = unifier.finish();
        assert_eq!((found.modules.len(), found.sites.len()), (4, 5));
        assert_eq!(
            found.get(first).map(|(module, offset)| (module.path.as_str(), offset)),
            Some(("/a/solve", 0x40))
        );
    }
}

//! The call sites of a program: function, file and line from its debug information.
//!
//! A module is read from its path in the trace, or from the separate debug information that distributions install
//! under /usr/lib/debug. Only the same build is used: another one has other lines at the same offsets.

use crate::kernel::prelude::*;
use crate::trace::page::FunctionTotals;
use addr2line::Loader;
use object::{Object, read::ReadCache};
use std::{collections::BTreeMap, fs::File};
use straggler_trace::profile::{Profile, SiteProfile};
use straggler_trace::sites::{CallSites, Module, SiteId};

/// A place in a program; unknown parts are empty.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CodePlace {
    /// The place as displayed.
    pub site: String,
    pub caller: Option<String>,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub module: String,
    /// The return address in the module, in hexadecimal; empty if the module is a source file.
    pub offset: String,
}

/// A row of the table, as JSON.
#[derive(Serialize)]
pub struct SiteAnswer {
    #[serde(flatten)]
    pub place: CodePlace,
    #[serde(flatten)]
    pub totals: FunctionTotals,
    /// Ranks that call from here.
    pub ranks: usize,
    /// Standard deviation of their times divided by the mean.
    pub variation: f64,
    pub slowest_rank: Option<u32>,
    pub slowest_seconds: f64,
}

/// The call sites of a profile, and warnings about those without names.
pub fn answers(sites: &CallSites, profile: &Profile) -> (Vec<SiteAnswer>, Vec<String>) {
    let mut resolver = Resolver::default();
    let totals = profile.totals();
    let answer = |site: &SiteProfile| {
        let slowest = site.slowest();
        Some(SiteAnswer {
            place: resolver.place(sites, site.site)?,
            totals: FunctionTotals::new(site.function, &site.counts, totals),
            ranks: site.ranks.len(),
            variation: site.variation,
            slowest_rank: slowest.map(|(rank, _)| rank),
            slowest_seconds: slowest.map_or(0.0, |(_, time)| time.seconds()),
        })
    };
    let answers = profile.sites.iter().filter_map(answer).collect();
    (answers, resolver.warnings())
}

/// All call sites of a trace.
pub fn places(sites: &CallSites) -> Vec<CodePlace> {
    Named::new(sites).places.into_iter().flatten().collect()
}

/// All call sites of a trace by their numbers, and warnings about those without names.
pub struct Named {
    places: Vec<Option<CodePlace>>,
    pub warnings: Vec<String>,
}

impl Named {
    pub fn new(sites: &CallSites) -> Named {
        let mut resolver = Resolver::default();
        let places = (0..sites.sites.len() as SiteId).map(|site| resolver.place(sites, site)).collect();
        Named { places, warnings: resolver.warnings() }
    }

    pub fn get(&self, site: SiteId) -> Option<&CodePlace> {
        self.places.get(site as usize)?.as_ref()
    }

    /// " between step (app.c:40) and step (app.c:52)", the places of a cause; empty if they are unknown.
    pub fn between(&self, sites: &[SiteId]) -> String {
        let names: Vec<&str> = sites.iter().filter_map(|&site| Some(self.get(site)?.site.as_str())).collect();
        match names[..] {
            [] => String::new(),
            [one] => format!(" at {one}"),
            [one, other, ..] if one == other => format!(" between two calls at {one}"),
            [one, other, ..] => format!(" between {one} and {other}"),
        }
    }
}

/// Debug information of the modules of a trace, read when it is first needed.
#[derive(Default)]
struct Resolver {
    modules: BTreeMap<PathBuf, Result<Loader, Unreadable>>,
    without_lines: Vec<String>,
}

/// Why a module has no names.
enum Unreadable {
    Missing(String),
    OtherBuild,
}

impl Resolver {
    fn place(&mut self, sites: &CallSites, site: SiteId) -> Option<CodePlace> {
        let (module, offset) = sites.get(site)?;
        let (caller, file, line) = self.look_up(module, offset);
        let name = Path::new(&module.path)
            .file_name()
            .map_or(module.path.clone(), |name| name.to_string_lossy().into_owned());
        let at = match (&file, line) {
            (Some(file), Some(line)) => {
                let file = file.rsplit('/').next().unwrap_or_default();
                Some(format!("{file}:{line}"))
            }
            _ => None,
        };
        let site = match (&caller, at) {
            (Some(caller), Some(at)) => format!("{caller} ({at})"),
            (None, Some(at)) => at,
            (Some(caller), None) if module.function.is_some() => format!("{caller} ({name})"),
            (Some(caller), None) => format!("{caller} ({name}+{offset:#x})"),
            (None, None) => format!("{name}+{offset:#x}"),
        };
        Some(CodePlace {
            site,
            caller,
            file,
            line,
            module: module.path.clone(),
            offset: if module.function.is_some() { String::new() } else { format!("{offset:#x}") },
        })
    }

    fn look_up(&mut self, module: &Module, offset: u64) -> (Option<String>, Option<String>, Option<u32>) {
        if let Some(function) = &module.function {
            let line = u32::try_from(offset).ok().filter(|&line| line > 0);
            return (Some(function.clone()), Some(module.path.clone()), line);
        }
        let loader = self.modules.entry(PathBuf::from(&module.path)).or_insert_with(|| load(module));
        let Ok(loader) = loader else { return (None, None, None) };
        // The call is the instruction before the return address.
        let probe = offset.saturating_sub(1);
        let frame = loader.find_frames(probe).ok().and_then(|mut frames| frames.next().ok().flatten());
        let (mut caller, mut file, mut line) = (None, None, None);
        if let Some(frame) = frame {
            caller = frame.function.and_then(|name| Some(name.demangle().ok()?.into_owned()));
            if let Some(location) = frame.location {
                (file, line) = (location.file.map(str::to_owned), location.line);
            }
        }
        let symbol =
            || loader.find_symbol(probe).map(|name| addr2line::demangle_auto(name.into(), None).into_owned());
        let caller = caller.or_else(symbol);
        if line.is_none() && !self.without_lines.contains(&module.path) {
            self.without_lines.push(module.path.clone());
        }
        (caller, file, line)
    }

    fn warnings(&self) -> Vec<String> {
        let unreadable = self.modules.iter().filter_map(|(path, loaded)| {
            let path = path.display();
            match loaded.as_ref().err()? {
                Unreadable::Missing(why) => Some(format!(
                    "{path} cannot be read here ({why}): its call sites are shown as offsets; open the \
                     trace on the machine that has the program"
                )),
                Unreadable::OtherBuild => {
                    Some(format!("{path} is not the build that ran: its call sites are shown as offsets"))
                }
            }
        });
        let without_lines = match self.without_lines.as_slice() {
            [] => None,
            modules => Some(format!(
                "call sites in {} have no file and line: compile with -g to see them",
                modules.join(", ")
            )),
        };
        unreadable.chain(without_lines).collect()
    }
}

/// Opens the debug information of a module.
fn load(module: &Module) -> Result<Loader, Unreadable> {
    let path = separate(&module.build_id).unwrap_or_else(|| PathBuf::from(&module.path));
    let missing = |fault: &dyn std::fmt::Display| Unreadable::Missing(fault.to_string());
    let file = File::open(&path).map_err(|fault| missing(&fault))?;
    if !module.build_id.is_empty() {
        let cache = ReadCache::new(file);
        let parsed = object::File::parse(&cache).map_err(|fault| missing(&fault))?;
        if parsed.build_id().ok().flatten() != Some(module.build_id.as_slice()) {
            return Err(Unreadable::OtherBuild);
        }
    }
    Loader::new(&path).map_err(|fault| missing(&fault))
}

/// The separate file with the debug information of a build, if any.
fn separate(build_id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = build_id.split_first()?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = PathBuf::from(format!("/usr/lib/debug/.build-id/{first:02x}/{rest}.debug"));
    path.is_file().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::ObjectSymbol;
    use straggler_trace::sites::Unifier;

    /// This test program.
    fn own() -> (PathBuf, Vec<u8>) {
        let path = std::env::current_exe().unwrap();
        let cache = ReadCache::new(File::open(&path).unwrap());
        let build_id = object::File::parse(&cache).unwrap().build_id().unwrap().unwrap_or_default().to_vec();
        (path, build_id)
    }

    fn shown(path: &Path, build_id: &[u8], offset: u64) -> (CodePlace, Vec<String>) {
        let mut unifier = Unifier::default();
        let module = Module { path: path.display().to_string(), build_id: build_id.to_vec(), function: None };
        let site = unifier.site(&module, offset);
        let mut resolver = Resolver::default();
        let place = resolver.place(&unifier.finish(), site).unwrap();
        (place, resolver.warnings())
    }

    #[test]
    fn an_offset_becomes_its_function() {
        let (path, build_id) = own();
        let cache = ReadCache::new(File::open(&path).unwrap());
        let file = object::File::parse(&cache).unwrap();
        let main = file.symbols().find(|symbol| symbol.name() == Ok("main")).unwrap().address();
        let (place, _) = shown(&path, &build_id, main + 2);
        assert_eq!(place.caller.as_deref(), Some("main"), "{place:?}");
        assert!(place.site.starts_with("main ("), "{place:?}");
    }

    #[test]
    fn other_builds_and_missing_files_give_offsets() {
        let (path, _) = own();
        let (place, warnings) = shown(&path, &[1, 2, 3], 0x1234);
        assert_eq!(place.site, format!("{}+0x1234", path.file_name().unwrap().to_string_lossy()));
        assert!(warnings[0].contains("not the build that ran"), "{warnings:?}");
        let (place, warnings) = shown(Path::new("/no/such/program"), &[1], 7);
        assert_eq!((place.site.as_str(), place.caller, place.line), ("program+0x7", None, None));
        assert!(warnings[0].contains("cannot be read here"), "{warnings:?}");
    }
}

//! Where an MPI library may be, in the order in which it is looked for.
//!
//! ```text
//! STRAGGLER_MPI, and nothing else if it is set
//! names of the launcher's family: in the folders of the launcher ─► by the dynamic linker
//! other names:                    in the folders of the launcher ─► by the dynamic linker
//! ```
//! A name does not tell the family (`libmpi.so` may be any), so what turns out to be of another family comes last.
//!
//! The folders of the launcher are those of the programs that started this process, then those that its variables
//! name, then those of the `mpirun` in PATH.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use straggler_trace::mpi_abi::Family;

/// The variable that names the library to use.
pub const NAMED_BY: &str = "STRAGGLER_MPI";

/// What is known about where the library is.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The value of [`NAMED_BY`].
    pub named: Option<PathBuf>,
    pub family: Option<Family>,
    /// Folders into which an MPI was installed, such as /usr or /opt/openmpi.
    pub prefixes: Vec<PathBuf>,
}

/// What to look for, and where.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Search {
    /// Files, and names for the dynamic linker, which have no slash.
    pub files: Vec<PathBuf>,
    pub names: Vec<&'static str>,
    pub folders: Vec<PathBuf>,
    /// The family that the launcher needs, if it is known.
    pub family: Option<Family>,
    /// Whether the user named the library or its folder.
    pub is_named: bool,
}

const OPEN_MPI: [&str; 3] = ["libmpi.so.40", "libmpi.so.80", "libmpi.so"];
const MPICH: [&str; 5] =
    ["libmpi.so.12", "libmpich.so.12", "libmpi_cray.so.12", "libmpi_gnu.so.12", "libmpich.so"];
const STANDARD: [&str; 3] = ["libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi_abi.so"];

/// Programs that start processes of MPI jobs, and the family they belong to, where the name tells.
const LAUNCHERS: [(&str, Option<Family>); 14] = [
    ("orterun", Some(Family::OpenMpi)),
    ("orted", Some(Family::OpenMpi)),
    ("prterun", Some(Family::OpenMpi)),
    ("prted", Some(Family::OpenMpi)),
    ("prte", Some(Family::OpenMpi)),
    ("mpiexec.hydra", Some(Family::Mpich)),
    ("mpiexec.gforker", Some(Family::Mpich)),
    ("mpirun_rsh", Some(Family::Mpich)),
    ("hydra_pmi_proxy", Some(Family::Mpich)),
    ("hydra_bstrap_proxy", Some(Family::Mpich)),
    ("mpirun.openmpi", Some(Family::OpenMpi)),
    ("mpirun.mpich", Some(Family::Mpich)),
    ("mpirun", None),
    ("mpiexec", None),
];

/// Variables that name the folder of an installation.
const PREFIXES: [&str; 5] = ["OPAL_PREFIX", "I_MPI_ROOT", "CRAY_MPICH_DIR", "MPICH_DIR", "MPI_HOME"];

/// Folders with libraries below the folder of an installation.
fn library_folders(prefix: &Path) -> Vec<PathBuf> {
    let triplet = format!("lib/{}-linux-gnu", std::env::consts::ARCH);
    let below = ["lib", "lib64", &triplet, "lib/openmpi/lib", "lib64/openmpi/lib", "lib/release"];
    below.iter().map(|folder| prefix.join(folder)).collect()
}

/// The names of a family's libraries, the usual one first.
fn names(family: Option<Family>) -> Vec<&'static str> {
    match family {
        Some(Family::OpenMpi) => [&OPEN_MPI[..], &STANDARD].concat(),
        Some(Family::Mpich) => [&MPICH[..], &STANDARD, &["libmpi.so"]].concat(),
        Some(Family::Standard) | None => [&STANDARD[..], &OPEN_MPI[..2], &MPICH, &["libmpi.so"]].concat(),
    }
}

impl Search {
    /// The files to try, in order. `is_file` tells whether a file exists, `is_folder` whether a folder does.
    pub fn new(
        around: &Surroundings,
        is_file: &dyn Fn(&Path) -> bool,
        is_folder: &dyn Fn(&Path) -> bool,
    ) -> Search {
        if let Some(named) = &around.named {
            return Search::named(named, is_file, is_folder);
        }
        let folders: Vec<PathBuf> =
            around.prefixes.iter().flat_map(|prefix| library_folders(prefix)).collect();
        let folders: Vec<PathBuf> = folders.into_iter().filter(|folder| is_folder(folder)).collect();
        let (likely, all) = (names(around.family), names(None));
        let mut search =
            Search { names: likely.clone(), folders, family: around.family, ..Search::default() };
        search.names.extend(all.iter().filter(|name| !likely.contains(name)));
        for names in [&likely, &all] {
            let there = search.folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name)));
            let there: Vec<PathBuf> = there.filter(|file| is_file(file)).collect();
            search.files.extend(there);
            search.files.extend(names.iter().map(PathBuf::from));
        }
        search.dedup();
        search
    }

    /// A library, or a folder with one.
    fn named(named: &Path, is_file: &dyn Fn(&Path) -> bool, is_folder: &dyn Fn(&Path) -> bool) -> Search {
        if !is_folder(named) {
            return Search { files: vec![named.to_path_buf()], is_named: true, ..Search::default() };
        }
        let folders: Vec<PathBuf> = std::iter::once(named.to_path_buf())
            .chain(library_folders(named))
            .filter(|folder| is_folder(folder))
            .collect();
        let names = names(None);
        let files = folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name)));
        let files = files.filter(|file| is_file(file)).collect();
        Search { files, names, folders, family: None, is_named: true }
    }

    /// Tries the files. Takes the first library of the launcher's family, or with the standard's interface, which may be
    /// any MPI's; failing that, the first library that can be used. Returns the errors if there is none.
    pub fn choose<L, E>(
        &self,
        open: impl Fn(&Path) -> Result<L, E>,
        family: impl Fn(&L) -> Family,
    ) -> Result<(&Path, L), Vec<E>> {
        let (mut others, mut failed) = (Vec::new(), Vec::new());
        for file in &self.files {
            match open(file) {
                Ok(library) if self.fits(family(&library)) => return Ok((file, library)),
                // Closed until it is needed: libraries of two MPIs may be in each other's way.
                Ok(_) => others.push(file),
                Err(error) => failed.push(error),
            }
        }
        for file in others {
            match open(file) {
                Ok(library) => return Ok((file, library)),
                Err(error) => failed.push(error),
            }
        }
        Err(failed)
    }

    fn fits(&self, family: Family) -> bool {
        family == Family::Standard || self.family.is_none_or(|needed| needed == family)
    }

    fn dedup(&mut self) {
        let mut seen = std::collections::HashSet::new();
        self.files.retain(|file| seen.insert(file.clone()));
    }
}

impl Surroundings {
    /// Of this process. `family` is what the launcher's variables suggest.
    pub fn of_this_process(family: Option<Family>) -> Surroundings {
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let programs: Vec<PathBuf> =
            ancestors().into_iter().filter(|program| launcher(program).is_some()).collect();
        let in_path: Vec<PathBuf> = ["mpirun", "mpiexec"].iter().filter_map(|name| in_path(name)).collect();
        let told = programs.iter().chain(&in_path).find_map(|program| launcher(program)?);
        let prefixes = programs.iter().filter_map(|program| prefix(program));
        let prefixes = prefixes.chain(PREFIXES.iter().filter_map(|name| variable(name)));
        let prefixes = prefixes.chain(in_path.iter().filter_map(|program| prefix(program)));
        let mut found: Vec<PathBuf> = Vec::new();
        for prefix in prefixes {
            if !found.contains(&prefix) {
                found.push(prefix);
            }
        }
        Surroundings { named: variable(NAMED_BY), family: family.or(told), prefixes: found }
    }
}

/// The family of a launcher, where its name tells; `None` if the program is no launcher.
fn launcher(program: &Path) -> Option<Option<Family>> {
    let name = program.file_name().and_then(OsStr::to_str)?;
    LAUNCHERS.iter().find(|(launcher, _)| *launcher == name).map(|(_, family)| *family)
}

/// The folder of the installation that a program in its `bin` belongs to.
fn prefix(program: &Path) -> Option<PathBuf> {
    program.parent()?.parent().map(Path::to_path_buf)
}

/// The programs of the processes that started this one, the nearest first.
fn ancestors() -> Vec<PathBuf> {
    let parent = |process: u32| -> Option<u32> {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
    };
    let processes = std::iter::successors(parent(std::process::id()), |&process| parent(process));
    // Those of other users cannot be read.
    let program = |process: u32| std::fs::read_link(format!("/proc/{process}/exe")).ok();
    processes.take_while(|&process| process > 1).take(64).filter_map(program).collect()
}

/// A program in PATH, with all links followed.
fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).find_map(|folder| folder.join(name).canonicalize().ok())
}

#[cfg(test)]
mod tests;

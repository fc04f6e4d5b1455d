//! The MPI library: found and loaded at run time, so that one program works with any of them.
//!
//! ```text
//! Launcher ─► Search: files and names ─► dlopen ─► is it MPI, of which family? ─► Library (functions, Abi)
//! ```
#![allow(unsafe_code)]

mod search;

pub use search::{NAMED_BY, Search, Surroundings};

use crate::functions::Functions;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use straggler_trace::mpi_abi::{Abi, Family, LONGEST_TEXT};

/// Why there is no library to use.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    #[error("no MPI library was found: {}{}", looked(search, failed), advice(search))]
    NotFound { search: Box<Search>, failed: Vec<LibraryError> },
    #[error("{}: it cannot be loaded: {fault}", file.display())]
    NotLoaded { file: PathBuf, fault: String },
    #[error("{file}: it is no MPI library: it has no {missing}")]
    NotMpi { file: String, missing: &'static str },
    #[error("{file} ({}) has no {missing}: use a library of MPI 3.0 or later", short(version))]
    Missing { file: String, version: String, missing: String },
    #[error(
        "{file} ({}) has a binary interface that straggler does not know: use Open MPI, MPICH or a relative of it, or a \
         library with the standard's interface (libmpi_abi.so)",
        short(version)
    )]
    OtherInterface { file: String, version: String },
    #[error("{NAMED_BY}={}: {fault}; name an MPI library, such as /usr/lib/libmpi.so.40", named.display())]
    Named { named: PathBuf, fault: Box<LibraryError> },
}

/// What was looked for, where, and what is wrong with what is there.
fn looked(search: &Search, failed: &[LibraryError]) -> String {
    let folders: Vec<String> = search.folders.iter().map(|folder| folder.display().to_string()).collect();
    let places = match (folders.join(", "), search.is_named) {
        (folders, true) => format!("in {folders}"),
        (none, false) if none.is_empty() => "where the dynamic linker looks".to_owned(),
        (folders, false) => format!("in {folders}, and where the dynamic linker looks"),
    };
    let mut text = format!("looked for {} {places}", search.names.join(", "));
    failed.iter().for_each(|error| text.push_str(&format!("; {error}")));
    text
}

/// What can be done; [`LibraryError::Named`] says it for a named folder.
fn advice(search: &Search) -> &'static str {
    if search.is_named {
        ""
    } else {
        "; start with mpirun, or name the library with STRAGGLER_MPI=/path/libmpi.so"
    }
}

/// A loaded MPI library. One that was found stays loaded until the process ends.
#[derive(Debug)]
pub struct Library {
    pub file: String,
    /// The name and version, as the library states it.
    pub version: String,
    pub abi: Abi,
    pub(crate) functions: Functions,
    loaded: Loaded,
}

impl Library {
    /// Loads the library of the launcher, or the one that [`NAMED_BY`] names.
    pub fn find(around: &Surroundings) -> Result<Library, LibraryError> {
        let search = Search::new(around, &|file| file.is_file(), &|folder| folder.is_dir());
        let mut failed = match search.choose(Library::open, |library| library.abi.family) {
            Ok((file, library)) => return library.loaded.keep(file).map(|()| library),
            Err(failed) => failed,
        };
        let fault = match failed.pop() {
            Some(only) if search.is_named && search.folders.is_empty() => only,
            last => {
                failed.extend(last);
                // A name that the dynamic linker does not find is listed already.
                failed.retain(|error| !error.is_unknown_name());
                LibraryError::NotFound { search: Box::new(search), failed }
            }
        };
        Err(match around.named.clone() {
            Some(named) => LibraryError::Named { named, fault: Box::new(fault) },
            None => fault,
        })
    }

    /// Loads a library by its file, or by a name that the dynamic linker finds, until the result is dropped. No other
    /// library sees its symbols: several are tried, and calls within one must not end up in another.
    pub fn open(file: &Path) -> Result<Library, LibraryError> {
        let loaded = Loaded::open(file)?;
        let first = "MPI_Get_library_version";
        let place = file.display().to_string();
        let Some(at) = loaded.symbol(c"MPI_Get_library_version") else {
            return Err(LibraryError::NotMpi { file: place, missing: first });
        };
        let file = file_of(at).unwrap_or(place);
        // SAFETY: in every MPI library, this symbol is the function of that name.
        let version = unsafe { stated_version(at) };
        let like_open_mpi = loaded.symbol(Family::OPEN_MPI_HAS).is_some();
        let family = Family::detect(&file, loaded.has_standard_name(), like_open_mpi);
        if family == Family::Mpich && !is_mpich(&version) {
            return Err(LibraryError::OtherInterface { file, version });
        }
        let missing = |missing: &str| LibraryError::Missing {
            file: file.clone(),
            version: version.clone(),
            missing: missing.to_owned(),
        };
        let variable = |name| loaded.symbol(name).map(|at| at.as_ptr() as usize).ok_or(name);
        let abi = Abi::new(family, variable).map_err(|name| missing(&name.to_string_lossy()))?;
        // SAFETY: the symbols of an MPI library are the functions of these names.
        let functions = unsafe { Functions::resolve(|name| loaded.symbol(name)) }.map_err(missing)?;
        Ok(Library { file, version, abi, functions, loaded })
    }
}

/// The name and the version, without how the library was built.
pub fn short(version: &str) -> String {
    version.split(", package:").next().unwrap_or_default().replace(":\t", " ")
}

/// Whether a library that has not Open MPI's symbols has MPICH's interface.
fn is_mpich(version: &str) -> bool {
    let version = version.to_lowercase();
    ["mpich", "mvapich", "intel(r) mpi", "cray", "parastation"].iter().any(|name| version.contains(name))
}

impl LibraryError {
    /// Whether the dynamic linker has no library of this name. One that is there, but lacks a library itself, is another
    /// matter: then the linker's message begins with the name of that one.
    fn is_unknown_name(&self) -> bool {
        let LibraryError::NotLoaded { file, fault } = self else { return false };
        file.components().count() == 1 && fault.starts_with(&format!("{}: ", file.display()))
    }
}

/// An open handle of the dynamic linker, closed at the end.
#[derive(Debug)]
struct Loaded(NonNull<c_void>);

impl Loaded {
    fn open(file: &Path) -> Result<Loaded, LibraryError> {
        Loaded::with(file, libc::RTLD_LOCAL)
    }

    /// Keeps the library for good, and shows its symbols to all: Open MPI's plug-ins expect that.
    fn keep(&self, file: &Path) -> Result<(), LibraryError> {
        Loaded::with(file, libc::RTLD_NOLOAD | libc::RTLD_GLOBAL | libc::RTLD_NODELETE).map(drop)
    }

    fn with(file: &Path, mode: c_int) -> Result<Loaded, LibraryError> {
        let fault = |fault: String| LibraryError::NotLoaded { file: file.to_path_buf(), fault };
        let name = CString::new(file.as_os_str().as_bytes()).map_err(|error| fault(error.to_string()))?;
        // SAFETY: the name ends with a zero.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | mode) };
        NonNull::new(handle).map(Loaded).ok_or_else(|| fault(linker_error()))
    }

    /// Whether the library has a name of the standard's interface for the dynamic linker, which compares the library's own
    /// name, too.
    fn has_standard_name(&self) -> bool {
        Family::STANDARD_NAMES.iter().any(|name| {
            let name = Path::new(OsStr::from_bytes(name.to_bytes()));
            Loaded::with(name, libc::RTLD_NOLOAD).is_ok_and(|loaded| loaded.0 == self.0)
        })
    }

    fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the handle is open, and the name ends with a zero.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: the handle is open. Nothing from a library that is not kept is in use any more.
        unsafe { libc::dlclose(self.0.as_ptr()) };
    }
}

/// What the dynamic linker says about its last error.
fn linker_error() -> String {
    // SAFETY: dlerror returns null or a text that is valid until the next call of the linker on this thread.
    unsafe {
        let text: *const c_char = libc::dlerror();
        if text.is_null() {
            "unknown error".into()
        } else {
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    }
}

/// The file that contains an address.
fn file_of(address: NonNull<c_void>) -> Option<String> {
    // SAFETY: dladdr fills the structure or returns 0; names it gives live as long as the library.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(address.as_ptr(), &raw mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        Some(CStr::from_ptr(info.dli_fname).to_string_lossy().into_owned())
    }
}

/// What the library says about itself; it may be asked before MPI is initialised. The first line only: some list how they
/// were configured.
///
/// # Safety
/// `at` is MPI_Get_library_version.
unsafe fn stated_version(at: NonNull<c_void>) -> String {
    let mut text = vec![0u8; LONGEST_TEXT + 1];
    let mut length: c_int = 0;
    // SAFETY: as the caller says; no library writes more than LONGEST_TEXT.
    unsafe {
        let ask: unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int = std::mem::transmute(at.as_ptr());
        ask(text.as_mut_ptr().cast(), &raw mut length);
    }
    let text = String::from_utf8_lossy(&text);
    text.lines().next().unwrap_or_default().trim_end_matches([',', '\0']).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(named: &str) -> String {
        let around = Surroundings { named: Some(named.into()), ..Surroundings::default() };
        Library::find(&around).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_mpi_library_is_refused() {
        let other = named("libm.so.6");
        assert!(
            other.contains("STRAGGLER_MPI=libm.so.6: libm.so.6: it is no MPI library: it has no MPI_"),
            "{other}"
        );
        assert!(other.ends_with("name an MPI library, such as /usr/lib/libmpi.so.40"), "{other}");
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("libmpi.so");
        std::fs::write(&text, "INPUT(libmpi.so.40)\n").unwrap();
        let refused = named(text.to_str().unwrap());
        assert!(refused.contains("it cannot be loaded"), "{refused}");
        let missing = named("/nonexistent/libmpi.so.40");
        assert!(missing.contains("/nonexistent/libmpi.so.40: it cannot be loaded"), "{missing}");
        let empty = named(folder.path().parent().unwrap().join("nothing-there").to_str().unwrap());
        assert!(empty.contains("cannot be loaded"), "{empty}");
    }

    #[test]
    fn a_folder_without_a_library_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().display();
        let text = named(folder.path().to_str().unwrap());
        let begin = format!("STRAGGLER_MPI={place}: no MPI library was found: looked for libmpi_abi.so.1, ");
        assert!(text.starts_with(&begin), "{text}");
        // Nothing but the folder is searched, and there is one piece of advice.
        assert!(
            text.ends_with(&format!(" in {place}; name an MPI library, such as /usr/lib/libmpi.so.40")),
            "{text}"
        );
    }

    #[test]
    fn what_was_looked_for_is_told() {
        let search = Search {
            files: Vec::new(),
            names: vec!["libmpi.so.40", "libmpi.so"],
            folders: vec!["/opt/lib".into(), "/usr/lib".into()],
            ..Search::default()
        };
        let told = |search: Search| {
            LibraryError::NotFound { search: Box::new(search), failed: Vec::new() }.to_string()
        };
        assert_eq!(
            told(search.clone()),
            "no MPI library was found: looked for libmpi.so.40, libmpi.so in /opt/lib, /usr/lib, and where the dynamic \
             linker looks; start with mpirun, or name the library with STRAGGLER_MPI=/path/libmpi.so"
        );
        let nowhere = told(Search { folders: Vec::new(), ..search });
        assert!(nowhere.contains("libmpi.so where the dynamic linker looks; start"), "{nowhere}");
    }

    #[test]
    fn a_library_that_lacks_another_is_not_an_unknown_name() {
        let error = Library::open(Path::new("libmpi_nowhere.so.40")).unwrap_err();
        assert!(error.is_unknown_name(), "{error}");
        let LibraryError::NotLoaded { fault, .. } = error else { panic!("{error}") };
        let fault = fault.replace("libmpi_nowhere.so.40", "libhwloc.so.15");
        let lacking = LibraryError::NotLoaded { file: "libmpi.so.40".into(), fault };
        assert!(!lacking.is_unknown_name(), "{lacking}");
    }

    #[test]
    fn relatives_of_mpich_are_known() {
        for version in [
            "MPICH Version 4.0.2",
            "Intel(R) MPI Library 2021.11",
            "MVAPICH2 Version 2.3.7",
            "CRAY MPICH version 8.1",
        ] {
            assert!(is_mpich(version), "{version}");
        }
        assert!(!is_mpich("MPItrampoline 5.4") && !is_mpich("HPE MPT 2.30"));
    }
}

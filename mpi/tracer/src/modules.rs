//! The loaded program and libraries: which of them contains an address, and its build id.

use libc::{PT_LOAD, PT_NOTE, c_int, c_void, dl_phdr_info};
use std::cell::Cell;
use std::ffi::CStr;
use std::ops::Range;
use straggler_trace::sites::Module;

/// A program or library in memory.
#[derive(Debug)]
pub struct Loaded {
    pub module: Module,
    /// Whether it is part of the MPI library.
    pub is_mpi: bool,
    /// Whether its description has been written to the stream.
    pub described: Cell<bool>,
    /// The difference between addresses in memory and in the file.
    base: usize,
    segments: Vec<Range<usize>>,
}

impl Loaded {
    pub fn holds(&self, address: usize) -> bool {
        self.segments.iter().any(|segment| segment.contains(&address))
    }

    /// An address as in the module's file.
    pub fn offset(&self, address: usize) -> u64 {
        address.wrapping_sub(self.base) as u64
    }
}

/// Whether an address lies in this library.
pub fn is_own(address: usize) -> bool {
    static OWN: std::sync::OnceLock<Vec<Range<usize>>> = std::sync::OnceLock::new();
    let segments =
        OWN.get_or_init(|| holding(is_own as *const () as usize).map(|own| own.segments).unwrap_or_default());
    segments.iter().any(|segment| segment.contains(&address))
}

/// The module that contains an address.
pub fn holding(address: usize) -> Option<Loaded> {
    struct Search {
        address: usize,
        found: Option<Loaded>,
    }
    unsafe extern "C" fn look(info: *mut dl_phdr_info, _: usize, search: *mut c_void) -> c_int {
        // SAFETY: the linker passes a valid entry; `search` is the one below.
        let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
        // SAFETY: the entry describes a module that stays loaded during this call.
        let segments = unsafe { segments(info, PT_LOAD) };
        if !segments.iter().any(|segment| segment.contains(&search.address)) {
            return 0;
        }
        // SAFETY: as above.
        search.found = Some(unsafe { loaded(info, segments) });
        1
    }
    let mut search = Search { address, found: None };
    // SAFETY: the callback only runs during the call, on a search that outlives it.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}

/// The segments of a kind, as ranges in memory.
///
/// # Safety
/// `info` describes a loaded module.
unsafe fn segments(info: &dl_phdr_info, kind: u32) -> Vec<Range<usize>> {
    if info.dlpi_phdr.is_null() {
        return Vec::new();
    }
    // SAFETY: a loaded module has as many headers as it states.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let place = |header: &libc::Elf64_Phdr| {
        let start = (info.dlpi_addr as usize).wrapping_add(header.p_vaddr as usize);
        start..start.wrapping_add(header.p_memsz as usize)
    };
    headers.iter().filter(|header| header.p_type == kind).map(place).collect()
}

/// # Safety
/// As for [`segments`].
unsafe fn loaded(info: &dl_phdr_info, held: Vec<Range<usize>>) -> Loaded {
    // SAFETY: a name is null or ends with a zero; segments with notes are in memory.
    let (name, build_id) = unsafe {
        let name = match info.dlpi_name.is_null() {
            true => String::new(),
            false => CStr::from_ptr(info.dlpi_name).to_string_lossy().into_owned(),
        };
        let notes = segments(info, PT_NOTE).into_iter().filter(|notes| is_inside(notes, &held));
        let mut notes = notes.map(|notes| std::slice::from_raw_parts(notes.start as *const u8, notes.len()));
        (name, notes.find_map(build_id).unwrap_or_default())
    };
    // The program itself has no name.
    let path = if name.is_empty() { "/proc/self/exe".into() } else { name };
    let path = std::fs::canonicalize(&path).map_or(path, |path| path.to_string_lossy().into_owned());
    let file = path.rsplit('/').next().unwrap_or_default();
    let is_mpi = file.starts_with("libmpi");
    let module = Module { path, build_id: build_id.to_vec(), function: None };
    Loaded { module, is_mpi, described: Cell::new(false), base: info.dlpi_addr as usize, segments: held }
}

fn is_inside(part: &Range<usize>, segments: &[Range<usize>]) -> bool {
    segments.iter().any(|segment| segment.start <= part.start && part.end <= segment.end)
}

/// Finds the build id among the notes of a module. Each note has the lengths of its name and
/// description, a type, and both, padded to four bytes.
fn build_id(mut notes: &[u8]) -> Option<&[u8]> {
    const BUILD_ID: u32 = 3;
    let word = |bytes: &[u8], at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let padded = |length: u32| (length as usize).next_multiple_of(4);
    loop {
        let (name, description, kind) = (word(notes, 0)?, word(notes, 4)?, word(notes, 8)?);
        let rest = notes.get(12..)?;
        let value = rest.get(padded(name)..)?.get(..description as usize)?;
        if kind == BUILD_ID && rest.get(..name as usize) == Some(b"GNU\0") {
            return Some(value);
        }
        notes = rest.get(padded(name) + padded(description)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_id_is_found_behind_other_notes() {
        let note = |name: &[u8], kind: u32, value: &[u8]| {
            let mut bytes = Vec::new();
            [name.len() as u32, value.len() as u32, kind]
                .iter()
                .for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
            for part in [name, value] {
                bytes.extend_from_slice(part);
                bytes.resize(bytes.len().next_multiple_of(4), 0);
            }
            bytes
        };
        let both =
            [note(b"ABC\0", 3, &[9; 5]), note(b"GNU\0", 1, &[8; 16]), note(b"GNU\0", 3, &[1, 2, 3])].concat();
        assert_eq!(build_id(&both), Some(&[1, 2, 3][..]));
        assert_eq!(build_id(&both[..both.len() - 5]), None);
        assert_eq!(build_id(&[]), None);
    }

    #[test]
    fn this_test_is_in_a_module_that_holds_it() {
        let here = is_inside as *const () as usize;
        let found = holding(here).unwrap();
        assert!(found.holds(here) && !found.is_mpi, "{found:?}");
        assert_eq!(
            found.module.path,
            std::env::current_exe().unwrap().canonicalize().unwrap().to_string_lossy()
        );
        assert!(is_own(here) && !is_own(libc::getpid as *const () as usize));
        assert!(holding(8).is_none());
    }
}

//! Finds the real functions of the MPI library, whichever it is and however it was loaded.

use libc::{RTLD_LAZY, RTLD_NEXT, RTLD_NOLOAD, c_char, c_int, c_void, dl_phdr_info};
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicPtr, Ordering};

/// A symbol of the process, looked up when it is first needed.
pub struct Symbol {
    name: &'static CStr,
    at: AtomicPtr<c_void>,
}

impl Symbol {
    pub const fn new(name: &'static CStr) -> Symbol {
        Symbol { name, at: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// The address of the symbol, if it exists.
    #[inline(always)]
    pub fn get(&self) -> Option<*mut c_void> {
        let at = self.at.load(Ordering::Relaxed);
        if at.is_null() { self.look() } else { Some(at) }
    }

    #[cold]
    fn look(&self) -> Option<*mut c_void> {
        let found = find(self.name);
        // A library may still be loaded later, as interpreters do, so only a symbol that was found is cached.
        if let Some(found) = found {
            self.at.store(found, Ordering::Relaxed);
        }
        found
    }
}

/// Finds a symbol after this library: in what the program is linked with, or else in anything
/// loaded since (an interpreter's module loads its MPI library privately).
pub fn find(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name ends with a zero; dlsym has no other requirements.
    let next = unsafe { libc::dlsym(RTLD_NEXT, name.as_ptr()) };
    if !next.is_null() {
        return Some(next);
    }
    loaded_libraries().iter().find_map(|library| in_library(library, name))
}

/// Finds a variable of the library. A program that refers to it may have its own copy, which is then the one in use.
pub fn find_variable(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name ends with a zero.
    let first = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if first.is_null() { find(name) } else { Some(first) }
}

/// The file that contains an address.
pub fn file_of(address: *const c_void) -> Option<String> {
    // SAFETY: dladdr fills the structure or returns 0; names it gives live as long as the library.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(address, &raw mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        Some(CStr::from_ptr(info.dli_fname).to_string_lossy().into_owned())
    }
}

/// Finds a symbol in a library that is loaded.
pub fn in_library(library: &CStr, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: both are strings that end with a zero. The handle of a library in use stays open.
    unsafe {
        let handle = libc::dlopen(library.as_ptr(), RTLD_LAZY | RTLD_NOLOAD);
        if handle.is_null() {
            return None;
        }
        let found = libc::dlsym(handle, name.as_ptr());
        if found.is_null() || file_of(found) == file_of(find as *const c_void) {
            libc::dlclose(handle);
            return None;
        }
        Some(found)
    }
}

fn loaded_libraries() -> Vec<CString> {
    unsafe extern "C" fn note(info: *mut dl_phdr_info, _: usize, names: *mut c_void) -> c_int {
        // SAFETY: the linker passes valid entries; `names` is the vector below.
        unsafe {
            let name: *const c_char = (*info).dlpi_name;
            if !name.is_null() && *name != 0 {
                (*names.cast::<Vec<CString>>()).push(CStr::from_ptr(name).to_owned());
            }
        }
        0
    }
    let mut names: Vec<CString> = Vec::new();
    // SAFETY: the callback only runs during the call, on a vector that outlives it.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut names).cast()) };
    names
}

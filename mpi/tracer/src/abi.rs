//! The three binary interfaces of MPI libraries, detected at run time.
//!
//! Open MPI's handles are pointers, MPICH's are integers, and those of the standard's interface
//! (MPI 5) are pointers with fixed values. In registers all of them pass as a machine word; arrays
//! of handles, statuses and special values differ.

use crate::symbols::{file_of, find, find_variable};
use std::ffi::CStr;
use std::sync::OnceLock;

/// An MPI handle in a machine word.
pub type Handle = usize;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    OpenMpi,
    Mpich,
    Standard,
}

/// What the tracer needs to know about a library.
#[derive(Debug)]
pub struct Abi {
    pub family: Family,
    /// Bytes of a handle in an array.
    pub handle_bytes: usize,
    /// Bytes of a status, and the offsets of source and tag in it.
    pub status_bytes: usize,
    pub source_at: usize,
    pub tag_at: usize,
    pub comm_world: Handle,
    pub comm_self: Handle,
    pub comm_null: Handle,
    pub request_null: Handle,
    pub datatype_null: Handle,
    pub message_nobody: Handle,
    pub byte: Handle,
    pub any_source: i32,
    pub any_tag: i32,
    pub nobody: i32,
    pub root: i32,
    pub cart: i32,
    pub graph: i32,
    pub thread_multiple: i32,
    pub err_truncate: i32,
    pub status_ignore: usize,
    pub in_place: usize,
}

/// No status of any library is longer.
pub const LONGEST_STATUS: usize = 64;

/// MPI_UNDEFINED, the same in all three.
pub const UNDEFINED: i32 = -32766;

static ABI: OnceLock<Abi> = OnceLock::new();

/// The layout of the library this process uses.
#[inline]
pub fn abi() -> &'static Abi {
    ABI.get_or_init(detect)
}

fn detect() -> Abi {
    let library = find(c"PMPI_Comm_rank").and_then(|at| file_of(at)).unwrap_or_default();
    let name = library.rsplit('/').next().unwrap_or_default();
    if name.starts_with("libmpi_abi") {
        standard()
    } else if find_variable(c"ompi_mpi_comm_world").is_some() {
        open_mpi()
    } else {
        mpich()
    }
}

fn open_mpi() -> Abi {
    let at = |name| find_variable(name).map_or(0, |at| at as usize);
    Abi {
        family: Family::OpenMpi,
        handle_bytes: 8,
        status_bytes: 24,
        source_at: 0,
        tag_at: 4,
        comm_world: at(c"ompi_mpi_comm_world"),
        comm_self: at(c"ompi_mpi_comm_self"),
        comm_null: at(c"ompi_mpi_comm_null"),
        request_null: at(c"ompi_request_null"),
        datatype_null: at(c"ompi_mpi_datatype_null"),
        message_nobody: at(c"ompi_message_no_proc"),
        byte: at(c"ompi_mpi_byte"),
        any_source: -1,
        any_tag: -1,
        nobody: -2,
        root: -4,
        cart: 1,
        graph: 2,
        thread_multiple: 3,
        err_truncate: 15,
        status_ignore: 0,
        in_place: 1,
    }
}

fn mpich() -> Abi {
    Abi {
        family: Family::Mpich,
        handle_bytes: 4,
        status_bytes: 20,
        source_at: 8,
        tag_at: 12,
        comm_world: 0x4400_0000,
        comm_self: 0x4400_0001,
        comm_null: 0x0400_0000,
        request_null: 0x2c00_0000,
        datatype_null: 0x0c00_0000,
        message_nobody: 0x6c00_0000,
        byte: 0x4c00_010d,
        any_source: -2,
        any_tag: -1,
        nobody: -1,
        root: -3,
        cart: 2,
        graph: 1,
        thread_multiple: 3,
        err_truncate: 14,
        status_ignore: 1,
        in_place: usize::MAX,
    }
}

fn standard() -> Abi {
    Abi {
        family: Family::Standard,
        handle_bytes: 8,
        status_bytes: 32,
        source_at: 0,
        tag_at: 4,
        comm_world: 0x101,
        comm_self: 0x102,
        comm_null: 0x100,
        request_null: 0x180,
        datatype_null: 0x200,
        message_nobody: 0x129,
        byte: 0x247,
        any_source: -1,
        any_tag: -2,
        nobody: -3,
        root: -4,
        cart: 211,
        graph: 212,
        thread_multiple: 4096,
        err_truncate: 15,
        status_ignore: 0,
        in_place: 1,
    }
}

impl Abi {
    /// Normalises a handle that came in a register: the upper half of an integer handle is undefined.
    #[inline(always)]
    pub fn handle(&self, word: usize) -> Handle {
        if self.handle_bytes == 4 { word as u32 as usize } else { word }
    }

    /// The handle at `index` of an array.
    ///
    /// # Safety
    /// `array` points to at least `index + 1` handles.
    #[inline(always)]
    pub unsafe fn handle_at(&self, array: usize, index: usize) -> Handle {
        // SAFETY: the array has a handle at `index`, of `handle_bytes` and aligned to them.
        unsafe {
            if self.handle_bytes == 4 {
                (array as *const u32).add(index).read() as usize
            } else {
                (array as *const usize).add(index).read()
            }
        }
    }

    /// Source and tag of a status.
    ///
    /// # Safety
    /// `status` points to a status.
    pub unsafe fn source_and_tag(&self, status: usize) -> (i32, i32) {
        // SAFETY: both are integers inside the status, at the offsets given by the library's header.
        unsafe {
            let at = |offset: usize| ((status + offset) as *const i32).read();
            (at(self.source_at), at(self.tag_at))
        }
    }

    /// The bytes of the message that a status describes; `None` if the layout is unknown.
    ///
    /// # Safety
    /// `status` points to a status that a receive has filled.
    #[inline]
    pub unsafe fn bytes(&self, status: usize) -> Option<u64> {
        // SAFETY: these fields are inside the status, at the offsets given by the library's header.
        // Fortran's statuses are aligned to four bytes only.
        unsafe {
            match self.family {
                Family::OpenMpi => Some(((status + 16) as *const u64).read_unaligned()),
                Family::Mpich => {
                    let at = |offset: usize| u64::from(((status + offset) as *const u32).read());
                    // The lowest bit of the second word is the cancelled flag.
                    Some(at(4) >> 1 << 32 | at(0))
                }
                Family::Standard => None,
            }
        }
    }

    /// The size of a predefined datatype, if its handle encodes it.
    #[inline]
    pub fn size_in_handle(&self, datatype: Handle) -> Option<u64> {
        // MPICH: kind 1 in the top bits, the size in bits 8 to 15.
        (self.family == Family::Mpich && datatype >> 30 == 1).then_some(datatype as u64 >> 8 & 0xff)
    }

    /// Whether a value can be a datatype: arguments that a call ignores may hold anything.
    pub fn may_be_datatype(&self, datatype: Handle) -> bool {
        match self.family {
            // Kind of object in bits 26 to 29, kind of handle above.
            Family::Mpich => datatype >> 26 & 15 == 3 && datatype >> 30 != 0,
            Family::OpenMpi => datatype > 4096 && datatype != self.datatype_null,
            Family::Standard => datatype != 0 && datatype != self.datatype_null,
        }
    }
}

/// Addresses with a special meaning in a Fortran program: objects of the library (or the program's
/// copy of them), and variables of the library that hold such an address once Fortran is initialised.
struct Sentinels {
    objects: Vec<usize>,
    variables: Vec<usize>,
}

impl Sentinels {
    fn find(objects: &[&CStr], variables: &[&CStr]) -> Sentinels {
        // SAFETY: the names end with a zero.
        let first = |name: &CStr| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
        let next = |name: &CStr| find(name).map_or(0, |at| at as usize);
        let everywhere = |names: &[&CStr]| {
            names.iter().flat_map(|name| [first(name), next(name)]).filter(|&at| at != 0).collect()
        };
        Sentinels { objects: everywhere(objects), variables: everywhere(variables) }
    }

    fn has(&self, address: usize) -> bool {
        // SAFETY: the variables are pointers in the MPI library, which stays loaded.
        let value = |&at: &usize| unsafe { (at as *const usize).read() };
        self.objects.contains(&address) || self.variables.iter().any(|at| value(at) == address)
    }
}

/// Whether a Fortran program passes this address for MPI_STATUS_IGNORE or MPI_STATUSES_IGNORE.
pub fn is_fortran_ignore(address: usize) -> bool {
    static IGNORE: OnceLock<Sentinels> = OnceLock::new();
    let objects = [
        c"mpi_fortran_status_ignore_",
        c"mpi_fortran_statuses_ignore_",
        c"MPIR_F08_MPI_STATUS_IGNORE_OBJ",
        c"MPIR_F08_MPI_STATUSES_IGNORE_OBJ",
    ];
    let variables = [
        c"MPI_F_STATUS_IGNORE",
        c"MPI_F_STATUSES_IGNORE",
        c"MPI_F08_STATUS_IGNORE",
        c"MPI_F08_STATUSES_IGNORE",
    ];
    address == 0 || IGNORE.get_or_init(|| Sentinels::find(&objects, &variables)).has(address)
}

/// Whether a Fortran program passes this address for MPI_IN_PLACE.
pub fn is_fortran_in_place(address: usize) -> bool {
    static IN_PLACE: OnceLock<Sentinels> = OnceLock::new();
    let objects = [c"mpi_fortran_in_place_", c"MPIR_F08_MPI_IN_PLACE"];
    IN_PLACE.get_or_init(|| Sentinels::find(&objects, &[c"MPIR_F_MPI_IN_PLACE"])).has(address)
}

//! The three binary interfaces of MPI libraries.
//!
//! Open MPI's handles are pointers, MPICH's are integers, and those of the standard's interface
//! (MPI 5) are pointers with fixed values. In registers all of them pass as a machine word; arrays
//! of handles, statuses and special values differ. Only data is here: the tracer and the program
//! find symbols in their own ways. `tests/trace/mpi_abi.c` prints the same numbers from a library's header.
#![allow(unsafe_code)]

use std::ffi::CStr;

/// An MPI handle in a machine word.
pub type Handle = usize;

/// The binary interfaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    OpenMpi,
    Mpich,
    Standard,
}

/// The numbers and layouts of a library.
#[derive(Clone, Debug)]
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
    pub uint8: Handle,
    pub int64: Handle,
    pub double: Handle,
    pub op_max: Handle,
    pub op_sum: Handle,
    pub op_bor: Handle,
    pub errors_return: Handle,
    pub any_source: i32,
    pub any_tag: i32,
    pub nobody: i32,
    pub root: i32,
    pub cart: i32,
    pub graph: i32,
    pub thread_funneled: i32,
    pub thread_multiple: i32,
    pub err_truncate: i32,
    pub status_ignore: usize,
    pub in_place: usize,
}

/// No status of any library is longer.
pub const LONGEST_STATUS: usize = 64;

/// MPI_UNDEFINED, the same in all three.
pub const UNDEFINED: i32 = -32766;

/// No name, version or error text of any library is longer.
pub const LONGEST_TEXT: usize = 8192;

impl Family {
    /// A symbol that only Open MPI and its relatives have.
    pub const OPEN_MPI_HAS: &CStr = c"ompi_mpi_comm_world";

    /// The names that a library with the standard's interface gives itself (DT_SONAME), whatever its file is called.
    pub const STANDARD_NAMES: [&CStr; 2] = [c"libmpi_abi.so.1", c"libmpi_abi.so.0"];

    /// The family of a library, from the file it is in, whether it has one of the standard's names, and whether it has Open
    /// MPI's symbol. Open MPI's library with the standard's interface has both.
    pub fn detect(file: &str, standard_name: bool, like_open_mpi: bool) -> Family {
        let name = file.rsplit('/').next().unwrap_or_default();
        match like_open_mpi {
            _ if standard_name || name.starts_with("libmpi_abi") => Family::Standard,
            true => Family::OpenMpi,
            false => Family::Mpich,
        }
    }
}

fn open_mpi<E>(at: impl Fn(&'static CStr) -> Result<usize, E>) -> Result<Abi, E> {
    Ok(Abi {
        family: Family::OpenMpi,
        handle_bytes: 8,
        status_bytes: 24,
        source_at: 0,
        tag_at: 4,
        comm_world: at(Family::OPEN_MPI_HAS)?,
        comm_self: at(c"ompi_mpi_comm_self")?,
        comm_null: at(c"ompi_mpi_comm_null")?,
        request_null: at(c"ompi_request_null")?,
        datatype_null: at(c"ompi_mpi_datatype_null")?,
        message_nobody: at(c"ompi_message_no_proc")?,
        byte: at(c"ompi_mpi_byte")?,
        uint8: at(c"ompi_mpi_uint8_t")?,
        int64: at(c"ompi_mpi_int64_t")?,
        double: at(c"ompi_mpi_double")?,
        op_max: at(c"ompi_mpi_op_max")?,
        op_sum: at(c"ompi_mpi_op_sum")?,
        op_bor: at(c"ompi_mpi_op_bor")?,
        errors_return: at(c"ompi_mpi_errors_return")?,
        any_source: -1,
        any_tag: -1,
        nobody: -2,
        root: -4,
        cart: 1,
        graph: 2,
        thread_funneled: 1,
        thread_multiple: 3,
        err_truncate: 15,
        status_ignore: 0,
        in_place: 1,
    })
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
        uint8: 0x4c00_013b,
        int64: 0x4c00_083a,
        double: 0x4c00_080b,
        op_max: 0x5800_0001,
        op_sum: 0x5800_0003,
        op_bor: 0x5800_0008,
        errors_return: 0x5400_0001,
        any_source: -2,
        any_tag: -1,
        nobody: -1,
        root: -3,
        cart: 2,
        graph: 1,
        thread_funneled: 1,
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
        uint8: 0x241,
        int64: 0x258,
        double: 0x214,
        op_max: 0x23,
        op_sum: 0x21,
        op_bor: 0x29,
        errors_return: 0x143,
        any_source: -1,
        any_tag: -2,
        nobody: -3,
        root: -4,
        cart: 211,
        graph: 212,
        thread_funneled: 1024,
        thread_multiple: 4096,
        err_truncate: 15,
        status_ignore: 0,
        in_place: 1,
    }
}

impl Abi {
    /// The interface of a family; `at` tells where a variable of the library is, or fails if it has none of that name.
    pub fn new<E>(family: Family, at: impl Fn(&'static CStr) -> Result<usize, E>) -> Result<Abi, E> {
        match family {
            Family::OpenMpi => open_mpi(at),
            Family::Mpich => Ok(mpich()),
            Family::Standard => Ok(standard()),
        }
    }

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

    /// Puts a handle at `index` of an array.
    ///
    /// # Safety
    /// `array` points to at least `index + 1` handles that may be written.
    #[inline(always)]
    pub unsafe fn put_handle(&self, array: usize, index: usize, handle: Handle) {
        // SAFETY: as for `handle_at`.
        unsafe {
            if self.handle_bytes == 4 {
                (array as *mut u32).add(index).write(handle as u32);
            } else {
                (array as *mut usize).add(index).write(handle);
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

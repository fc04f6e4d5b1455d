//! Reads arguments as C and Fortran pass them.
//!
//! A Fortran program passes everything by reference, and handles as integers. Its calls go to the library's
//! own Fortran functions, so nothing has to be translated for the library; only what is recorded is read here.

use crate::abi::{Family, Handle, abi, is_fortran_ignore, is_fortran_in_place};
use crate::symbols::Symbol;
use libc::c_int;

/// Kinds of handles, each of which has its own translation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Comm,
    Datatype,
    Request,
    Message,
    Window,
    Group,
}

/// How a language passes arguments.
///
/// # Safety
/// Every unsafe function takes a word as it was passed, and reads it as what its name says. The word
/// must be one that the language passes for such an argument: in C the value itself, or the address of a
/// list; in Fortran always an address, of one INTEGER or of several. A list has an element at `index`.
#[allow(clippy::missing_safety_doc, reason = "said for all of them")]
pub trait Language {
    const FORTRAN: bool;
    unsafe fn int(word: usize) -> i32;
    unsafe fn count(word: usize) -> u64;
    unsafe fn count_at(array: usize, index: usize) -> u64;
    /// A handle passed as a value.
    unsafe fn handle(kind: Kind, word: usize) -> Handle;
    /// A handle behind a pointer, at an index of an array.
    unsafe fn handle_at(kind: Kind, array: usize, index: usize) -> Handle;
    /// A handle behind a pointer, which may be null in a call that will fail.
    unsafe fn first_handle(kind: Kind, pointer: usize) -> Handle {
        // SAFETY: the pointer is not null, so there is a handle behind it: a list of one.
        if pointer == 0 { 0 } else { unsafe { Self::handle_at(kind, pointer, 0) } }
    }
    fn is_in_place(word: usize) -> bool;
    fn ignores_status(word: usize) -> bool;
    /// Converts an index to C's counting from 0.
    fn index(value: i32) -> i32;
}

/// C with counts of type int.
#[derive(Debug)]
pub struct C;
/// C with counts of type MPI_Count, in the functions whose names end in _c.
#[derive(Debug)]
pub struct LargeC;
/// Fortran with mpif.h or `use mpi`.
#[derive(Debug)]
pub struct Fortran;
/// Fortran with `use mpi_f08`, where MPICH 4.0 counts indices from 0.
#[derive(Debug)]
pub struct Fortran08;

macro_rules! c_like {
    ($language:ident, $count:ty) => {
        impl Language for $language {
            const FORTRAN: bool = false;
            #[inline(always)]
            unsafe fn int(word: usize) -> i32 {
                word as i32
            }
            #[inline(always)]
            unsafe fn count(word: usize) -> u64 {
                (word as $count).max(0) as u64
            }
            unsafe fn count_at(array: usize, index: usize) -> u64 {
                // SAFETY: C's lists of counts have elements of this type, and one at `index`.
                unsafe { (array as *const $count).add(index).read() }.max(0) as u64
            }
            #[inline(always)]
            unsafe fn handle(_: Kind, word: usize) -> Handle {
                abi().handle(word)
            }
            #[inline(always)]
            unsafe fn handle_at(_: Kind, array: usize, index: usize) -> Handle {
                // SAFETY: C's lists of handles are laid out as the library says, and have one at `index`.
                unsafe { abi().handle_at(array, index) }
            }
            #[inline(always)]
            fn is_in_place(word: usize) -> bool {
                word == abi().in_place
            }
            #[inline(always)]
            fn ignores_status(word: usize) -> bool {
                word == abi().status_ignore
            }
            #[inline(always)]
            fn index(value: i32) -> i32 {
                value
            }
        }
    };
}

c_like!(C, i32);
c_like!(LargeC, i64);

macro_rules! fortran_like {
    ($language:ident, $index:expr) => {
        impl Language for $language {
            const FORTRAN: bool = true;
            #[inline(always)]
            unsafe fn int(word: usize) -> i32 {
                // SAFETY: the address of an INTEGER, which has 4 bytes wherever MPI is built with the usual flags.
                unsafe { (word as *const i32).read() }
            }
            unsafe fn count(word: usize) -> u64 {
                // SAFETY: Fortran's counts are INTEGERs.
                unsafe { Self::int(word) }.max(0) as u64
            }
            unsafe fn count_at(array: usize, index: usize) -> u64 {
                // SAFETY: Fortran's lists of counts have INTEGERs, and one at `index`.
                unsafe { (array as *const i32).add(index).read() }.max(0) as u64
            }
            unsafe fn handle(kind: Kind, word: usize) -> Handle {
                // SAFETY: Fortran's handles are INTEGERs, or of a type that contains only one.
                from_fortran(kind, unsafe { Self::int(word) })
            }
            unsafe fn handle_at(kind: Kind, array: usize, index: usize) -> Handle {
                // SAFETY: as for one handle, in a list that has one at `index`.
                from_fortran(kind, unsafe { (array as *const i32).add(index).read() })
            }
            fn is_in_place(word: usize) -> bool {
                is_fortran_in_place(word)
            }
            fn ignores_status(word: usize) -> bool {
                is_fortran_ignore(word)
            }
            fn index(value: i32) -> i32 {
                $index(value)
            }
        }
    };
}

fortran_like!(Fortran, from_one);
fortran_like!(Fortran08, |value| if abi().family == Family::Mpich { value } else { from_one(value) });

fn from_one(value: i32) -> i32 {
    if value > 0 { value - 1 } else { value }
}

/// Converts a Fortran handle to a C handle.
pub fn from_fortran(kind: Kind, value: c_int) -> Handle {
    static TRANSLATIONS: [Symbol; 6] = [
        Symbol::new(c"PMPI_Comm_f2c"),
        Symbol::new(c"PMPI_Type_f2c"),
        Symbol::new(c"PMPI_Request_f2c"),
        Symbol::new(c"PMPI_Message_f2c"),
        Symbol::new(c"PMPI_Win_f2c"),
        Symbol::new(c"PMPI_Group_f2c"),
    ];
    if abi().family == Family::Mpich {
        return value as u32 as usize;
    }
    match TRANSLATIONS[kind as usize].get() {
        // SAFETY: these functions take an MPI_Fint and return a handle in a register.
        Some(at) => unsafe {
            let translate: extern "C" fn(c_int) -> usize = std::mem::transmute(at);
            abi().handle(translate(value))
        },
        // The standard's interface has fixed values for predefined handles.
        None => value as u32 as usize,
    }
}

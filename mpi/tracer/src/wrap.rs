//! Generates the functions that programs find instead of the library's.
//!
//! For every function of a table: `MPI_X` for C, `mpi_x_` for Fortran (mpif.h and `use mpi`) and
//! `mpi_x_f08_` for `use mpi_f08`; for those with large counts, also `MPI_X_c`. C functions call
//! `PMPI_X`; Fortran functions call the library's function of the same name, so nothing has to be
//! translated for it. Where MPICH's `mpi_f08` passes buffers by descriptor, it calls `MPI_X`
//! itself, and that call is recorded.

/// Calls a macro with as many names as a function has arguments, three more for what Fortran passes
/// after them, and the names of all words that may arrive: those in registers, and those on the stack.
macro_rules! with_arguments {
    (0 $to:ident $($rest:tt)*) => {
        $to! { () (a b c) (a b c d e f) (g h i j k l m n o p) $($rest)* }
    };
    (1 $to:ident $($rest:tt)*) => {
        $to! { (a) (b c d) (a b c d e f) (g h i j k l m n o p) $($rest)* }
    };
    (2 $to:ident $($rest:tt)*) => {
        $to! { (a b) (c d e) (a b c d e f) (g h i j k l m n o p) $($rest)* }
    };
    (3 $to:ident $($rest:tt)*) => {
        $to! { (a b c) (d e f) (a b c d e f) (g h i j k l m n o p) $($rest)* }
    };
    (4 $to:ident $($rest:tt)*) => {
        $to! { (a b c d) (e f g) (a b c d e f) (g h i j k l m n o p) $($rest)* }
    };
    (5 $to:ident $($rest:tt)*) => {
        $to! { (a b c d e) (f g h) (a b c d e f) (g h i j k l m n o p) $($rest)* }
    };
    (6 $to:ident $($rest:tt)*) => {
        $to! { (a b c d e f) (g h i) (a b c d e f) (g h i j k l m n o p) $($rest)* }
    };
    (7 $to:ident $($rest:tt)*) => {
        $to! { (a b c d e f g) (h i j) (a b c d e f) (g h i j k l m n o p) $($rest)* }
    };
    (8 $to:ident $($rest:tt)*) => {
        $to! { (a b c d e f g h) (i j k) (a b c d e f) (g h i j k l m n o p) $($rest)* }
    };
    (9 $to:ident $($rest:tt)*) => {
        $to! { (a b c d e f g h i) (j k l) (a b c d e f) (g h i j k l m n o p) $($rest)* }
    };
    (10 $to:ident $($rest:tt)*) => {
        $to! { (a b c d e f g h i j) (k l m) (a b c d e f) (g h i j k l m n o p) $($rest)* }
    };
    (11 $to:ident $($rest:tt)*) => {
        $to! { (a b c d e f g h i j k) (l m n) (a b c d e f) (g h i j k l m n o p) $($rest)* }
    };
    (12 $to:ident $($rest:tt)*) => {
        $to! { (a b c d e f g h i j k l) (m n o) (a b c d e f) (g h i j k l m n o p) $($rest)* }
    };
    (13 $to:ident $($rest:tt)*) => {
        $to! { (a b c d e f g h i j k l m) (n o p) (a b c d e f) (g h i j k l m n o p) $($rest)* }
    };
}
pub(crate) use with_arguments;

/// A function that programs find by its name, and that knows its caller.
///
/// The symbol is four instructions that call the body with the stack as it is. On x86-64 six words
/// are passed in registers; above them on the stack, the body finds a word that keeps the stack
/// aligned, the return address of the program's call, and the rest of the program's words: so it
/// takes all of these as arguments. It has more arguments than most callers pass, and reads only
/// those that exist. Elsewhere the symbol is the body, which does not know its caller.
macro_rules! exported {
    ([$($name:tt)*] ($($register:ident)*) ($($stack:ident)*) $caller:ident $body:block) => {
        const _: () = {
            #[cfg(target_arch = "x86_64")]
            #[unsafe(naked)]
            #[unsafe(export_name = $($name)*)]
            unsafe extern "C" fn entry() {
                core::arch::naked_asm!(
                    ".cfi_startproc",
                    "push rax",
                    ".cfi_adjust_cfa_offset 8",
                    "call {body}",
                    "pop rcx",
                    ".cfi_adjust_cfa_offset -8",
                    "ret",
                    ".cfi_endproc",
                    body = sym body,
                )
            }

            #[cfg(target_arch = "x86_64")]
            #[allow(unused_variables, clippy::too_many_arguments, reason = "as many as any function has")]
            unsafe extern "C" fn body(
                $($register: usize,)* _aligning: usize, $caller: usize, $($stack: usize),*
            ) -> libc::c_int $body

            #[cfg(not(target_arch = "x86_64"))]
            #[allow(unused_variables, clippy::too_many_arguments, reason = "as many as any function has")]
            #[unsafe(export_name = $($name)*)]
            unsafe extern "C" fn entry($($register: usize,)* $($stack: usize),*) -> libc::c_int {
                let $caller = 0;
                $body
            }
        };
    };
}
pub(crate) use exported;

/// One C function.
macro_rules! c_function {
    (($($arg:ident)*) $next:tt $registers:tt $stack:tt $name:ident $routine:path) => {
        $crate::wrap::exported! {
            [concat!("MPI_", stringify!($name))] $registers $stack caller {
                static REAL: $crate::symbols::Symbol = $crate::symbols::Symbol::new(
                    $crate::site::c_string(concat!("PMPI_", stringify!($name), "\0")),
                );
                let args = [$($arg),*];
                let function = straggler_trace::Function::$name;
                // SAFETY: these are the program's arguments of this function, whose routine the table names.
                let site = unsafe { $crate::site::Site::<$crate::site::Passed<$crate::language::C, _>>::new(function, &REAL, args, 0, caller) };
                $routine(site)
            }
        }
    };
}
pub(crate) use c_function;

/// One C function for large counts.
macro_rules! large_function {
    (($($arg:ident)*) $next:tt $registers:tt $stack:tt $name:ident $routine:path) => {
        $crate::wrap::exported! {
            [concat!("MPI_", stringify!($name), "_c")] $registers $stack caller {
                static REAL: $crate::symbols::Symbol = $crate::symbols::Symbol::new(
                    $crate::site::c_string(concat!("PMPI_", stringify!($name), "_c\0")),
                );
                static SMALL: $crate::symbols::Symbol = $crate::symbols::Symbol::new(
                    $crate::site::c_string(concat!("PMPI_", stringify!($name), "\0")),
                );
                let args = [$($arg),*];
                let function = straggler_trace::Function::$name;
                // SAFETY: these are the program's arguments of this function, whose routine the table names.
                let site = unsafe {
                    $crate::site::Site::<$crate::site::Passed<$crate::language::LargeC, _>>::large(function, &REAL, &SMALL, args, caller)
                };
                $routine(site)
            }
        }
    };
}
pub(crate) use large_function;

/// One Fortran subroutine.
macro_rules! fortran_function {
    (
        ($($arg:ident)*) ($error:ident $($more:ident)*) $registers:tt $stack:tt
        $name:ident $lower:ident $language:ident $suffix:literal $routine:path
    ) => {
        $crate::wrap::exported! {
            [concat!("mpi_", stringify!($lower), $suffix)] $registers $stack caller {
                static REAL: $crate::symbols::Symbol = $crate::symbols::Symbol::new(
                    $crate::site::c_string(concat!("mpi_", stringify!($lower), $suffix, "\0")),
                );
                let args = [$($arg),*];
                let function = straggler_trace::Function::$name;
                // SAFETY: these are the program's arguments of this function, whose routine the table names.
                let site = unsafe {
                    $crate::site::Site::<$crate::site::Passed<$crate::language::$language, _>>::new(function, &REAL, args, $error, caller)
                };
                $routine(site)
            }
        }
    };
}
pub(crate) use fortran_function;

/// Functions in all languages: number of arguments, name, name in Fortran, and the routine that records them.
macro_rules! functions {
    ($($count:tt $name:ident $lower:ident $routine:path;)*) => {$(
        $crate::wrap::with_arguments! { $count c_function $name $routine }
        $crate::wrap::with_arguments! { $count fortran_function $name $lower Fortran "_" $routine }
        $crate::wrap::with_arguments! { $count fortran_function $name $lower Fortran08 "_f08_" $routine }
    )*};
}
pub(crate) use functions;

/// Functions for large counts.
macro_rules! large_functions {
    ($($count:tt $name:ident $routine:path;)*) => {$(
        $crate::wrap::with_arguments! { $count large_function $name $routine }
    )*};
}
pub(crate) use large_functions;

/// Functions that are recorded with their times only. Fortran passes lengths of strings after the arguments.
macro_rules! timed_functions {
    ($($count:tt $name:ident $lower:ident;)*) => {$(
        $crate::wrap::with_arguments! { $count c_function $name $crate::other::timed }
        $crate::wrap::with_arguments! { $count fortran_timed $name $lower "_" }
        $crate::wrap::with_arguments! { $count fortran_timed $name $lower "_f08_" }
    )*};
}
pub(crate) use timed_functions;

macro_rules! fortran_timed {
    (
        ($($arg:ident)*) ($error:ident $first:ident $second:ident) $registers:tt $stack:tt
        $name:ident $lower:ident $suffix:literal
    ) => {
        $crate::wrap::exported! {
            [concat!("mpi_", stringify!($lower), $suffix)] $registers $stack caller {
                static REAL: $crate::symbols::Symbol = $crate::symbols::Symbol::new(
                    $crate::site::c_string(concat!("mpi_", stringify!($lower), $suffix, "\0")),
                );
                let function = straggler_trace::Function::$name;
                let args = [$($arg),*];
                // SAFETY: these are the program's arguments of this function; its routine reads only a request.
                let site = unsafe {
                    $crate::site::Site::<$crate::site::Passed<$crate::language::Fortran, _>>::new(function, &REAL, args, $error, caller)
                };
                $crate::other::timed_strings(site, [$first, $second])
            }
        }
    };
}
pub(crate) use fortran_timed;

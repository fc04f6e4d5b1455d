//! Makes the functions that programs find instead of the library's.
//!
//! For every function of a table: `MPI_X` for C, `mpi_x_` for Fortran (mpif.h and `use mpi`) and `mpi_x_f08_` for
//! `use mpi_f08`; where the library has it, `MPI_X_c` for large counts. C functions call `PMPI_X`; Fortran functions
//! call the library's function of the same name, so that nothing has to be translated for it. Where MPICH's `mpi_f08`
//! passes buffers by descriptor, it calls `MPI_X` itself, and that is recorded.

/// Calls a macro with as many names as a function has arguments.
macro_rules! with_arguments {
    (0 $to:ident $($rest:tt)*) => { $to! { () $($rest)* } };
    (1 $to:ident $($rest:tt)*) => { $to! { (a) $($rest)* } };
    (2 $to:ident $($rest:tt)*) => { $to! { (a b) $($rest)* } };
    (3 $to:ident $($rest:tt)*) => { $to! { (a b c) $($rest)* } };
    (4 $to:ident $($rest:tt)*) => { $to! { (a b c d) $($rest)* } };
    (5 $to:ident $($rest:tt)*) => { $to! { (a b c d e) $($rest)* } };
    (6 $to:ident $($rest:tt)*) => { $to! { (a b c d e f) $($rest)* } };
    (7 $to:ident $($rest:tt)*) => { $to! { (a b c d e f g) $($rest)* } };
    (8 $to:ident $($rest:tt)*) => { $to! { (a b c d e f g h) $($rest)* } };
    (9 $to:ident $($rest:tt)*) => { $to! { (a b c d e f g h i) $($rest)* } };
    (10 $to:ident $($rest:tt)*) => { $to! { (a b c d e f g h i j) $($rest)* } };
    (11 $to:ident $($rest:tt)*) => { $to! { (a b c d e f g h i j k) $($rest)* } };
    (12 $to:ident $($rest:tt)*) => { $to! { (a b c d e f g h i j k l) $($rest)* } };
    (13 $to:ident $($rest:tt)*) => { $to! { (a b c d e f g h i j k l m) $($rest)* } };
}
pub(crate) use with_arguments;

/// One C function.
macro_rules! c_function {
    (($($arg:ident)*) $name:ident $routine:path) => {
        const _: () = {
            #[unsafe(export_name = concat!("MPI_", stringify!($name)))]
            unsafe extern "C" fn entry($($arg: usize),*) -> libc::c_int {
                static REAL: $crate::symbols::Symbol = $crate::symbols::Symbol::new(
                    $crate::site::c_string(concat!("PMPI_", stringify!($name), "\0")),
                );
                let args = [$($arg),*];
                let function = straggler_trace::Function::$name;
                // SAFETY: these are the program's arguments of this function, whose routine the table names.
                let site = unsafe { $crate::site::Site::<$crate::language::C, _>::new(function, &REAL, args, 0) };
                $routine(site)
            }
        };
    };
}
pub(crate) use c_function;

/// One C function for large counts.
macro_rules! large_function {
    (($($arg:ident)*) $name:ident $routine:path) => {
        const _: () = {
            #[unsafe(export_name = concat!("MPI_", stringify!($name), "_c"))]
            unsafe extern "C" fn entry($($arg: usize),*) -> libc::c_int {
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
                    $crate::site::Site::<$crate::language::LargeC, _>::large(function, &REAL, &SMALL, args)
                };
                $routine(site)
            }
        };
    };
}
pub(crate) use large_function;

/// One Fortran subroutine.
macro_rules! fortran_function {
    (($($arg:ident)*) $name:ident $lower:ident $language:ident $suffix:literal $routine:path) => {
        const _: () = {
            #[unsafe(export_name = concat!("mpi_", stringify!($lower), $suffix))]
            unsafe extern "C" fn entry($($arg: usize,)* error: usize) {
                static REAL: $crate::symbols::Symbol = $crate::symbols::Symbol::new(
                    $crate::site::c_string(concat!("mpi_", stringify!($lower), $suffix, "\0")),
                );
                let args = [$($arg),*];
                let function = straggler_trace::Function::$name;
                // SAFETY: these are the program's arguments of this function, whose routine the table names.
                let site = unsafe {
                    $crate::site::Site::<$crate::language::$language, _>::new(function, &REAL, args, error)
                };
                $routine(site);
            }
        };
    };
}
pub(crate) use fortran_function;

/// Functions in all languages: number of arguments, name, name in Fortran, what records it.
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

/// Functions that are recorded with their times only. Fortran passes lengths of strings behind the arguments.
macro_rules! timed_functions {
    ($($count:tt $name:ident $lower:ident;)*) => {$(
        $crate::wrap::with_arguments! { $count c_function $name $crate::other::timed }
        $crate::wrap::with_arguments! { $count fortran_timed $name $lower "_" }
        $crate::wrap::with_arguments! { $count fortran_timed $name $lower "_f08_" }
    )*};
}
pub(crate) use timed_functions;

macro_rules! fortran_timed {
    (($($arg:ident)*) $name:ident $lower:ident $suffix:literal) => {
        const _: () = {
            #[unsafe(export_name = concat!("mpi_", stringify!($lower), $suffix))]
            unsafe extern "C" fn entry($($arg: usize,)* error: usize, first: usize, second: usize) {
                static REAL: $crate::symbols::Symbol = $crate::symbols::Symbol::new(
                    $crate::site::c_string(concat!("mpi_", stringify!($lower), $suffix, "\0")),
                );
                let function = straggler_trace::Function::$name;
                let args = [$($arg),*];
                // SAFETY: these are the program's arguments of this function; its routine reads none but a request.
                let site = unsafe {
                    $crate::site::Site::<$crate::language::Fortran, _>::new(function, &REAL, args, error)
                };
                $crate::other::timed_strings(site, [first, second]);
            }
        };
    };
}
pub(crate) use fortran_timed;

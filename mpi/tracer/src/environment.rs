//! Initialisation, finalisation, and marks of the program.

use crate::process::{self, Phase};
use crate::recording;
use crate::site::c_string;
use crate::symbols::Symbol;
use crate::thread::{Seen, enter};
use crate::{clock, note, pausing};
use libc::{c_char, c_int};
use std::ffi::CStr;
use straggler_trace::Function;
use straggler_trace::format::attribute;
use straggler_trace::format::read::Ending;

/// Initialises MPI with `real` and begins recording.
fn initialise(function: Function, real: impl FnOnce() -> c_int) -> c_int {
    let Some(entered) = enter() else { return real() };
    clock::choose();
    let enter = clock::ticks();
    let code = real();
    if code == 0 && process::phase() == Phase::Before {
        recording::begin();
        if process::phase() == Phase::Recording {
            entered.with_state().record(&Seen::new(function, enter, clock::ticks(), 0));
        }
    }
    code
}

/// Finalises MPI with `real`, after a last exchange of times.
fn finalise(real: impl FnOnce() -> c_int) -> c_int {
    let enter = clock::ticks();
    // Other ranks take part in the exchange, whatever happened to this rank's stream.
    recording::part();
    let Some(mut guard) = note::recorded() else { return real() };
    let code = real();
    guard.record(&Seen::new(Function::Finalize, enter, clock::ticks(), code));
    recording::finish(Ending::Finalized);
    code
}

/// Calls the library's function with words; returns error 16 if the function does not exist.
macro_rules! real {
    ($name:literal ( $($arg:expr),* ) -> code) => {{
        static REAL: Symbol = Symbol::new(c_string(concat!($name, "\0")));
        // SAFETY: the arguments are the program's.
        REAL.get().map_or(16, |real| unsafe { crate::site::Invoke::invoke(&[$($arg as usize),*], real) })
    }};
    ($name:literal ( $($arg:expr),* ) -> $error:ident) => {{
        static REAL: Symbol = Symbol::new(c_string(concat!($name, "\0")));
        if let Some(real) = REAL.get() {
            // SAFETY: the arguments are the program's; the return code goes where the program wants it, or nowhere.
            unsafe {
                crate::site::Invoke::invoke_fortran(&[$($arg as usize),*], real, $error as usize);
                if $error.is_null() { 0 } else { $error.read() }
            }
        } else {
            16
        }
    }};
}

#[unsafe(no_mangle)]
extern "C" fn MPI_Init(argc: usize, argv: usize) -> c_int {
    initialise(Function::Init, || real!("PMPI_Init"(argc, argv) -> code))
}

#[unsafe(no_mangle)]
extern "C" fn MPI_Init_thread(argc: usize, argv: usize, required: c_int, provided: usize) -> c_int {
    initialise(Function::Init_thread, || real!("PMPI_Init_thread"(argc, argv, required, provided) -> code))
}

#[unsafe(no_mangle)]
extern "C" fn mpi_init_(error: *mut c_int) {
    initialise(Function::Init, || real!("mpi_init_"() -> error));
}

#[unsafe(no_mangle)]
extern "C" fn mpi_init_f08_(error: *mut c_int) {
    initialise(Function::Init, || real!("mpi_init_f08_"() -> error));
}

#[unsafe(no_mangle)]
extern "C" fn mpi_init_thread_(required: usize, provided: usize, error: *mut c_int) {
    initialise(Function::Init_thread, || real!("mpi_init_thread_"(required, provided) -> error));
}

#[unsafe(no_mangle)]
extern "C" fn mpi_init_thread_f08_(required: usize, provided: usize, error: *mut c_int) {
    initialise(Function::Init_thread, || real!("mpi_init_thread_f08_"(required, provided) -> error));
}

#[unsafe(no_mangle)]
extern "C" fn MPI_Finalize() -> c_int {
    finalise(|| real!("PMPI_Finalize"() -> code))
}

#[unsafe(no_mangle)]
extern "C" fn mpi_finalize_(error: *mut c_int) {
    finalise(|| real!("mpi_finalize_"() -> error));
}

#[unsafe(no_mangle)]
extern "C" fn mpi_finalize_f08_(error: *mut c_int) {
    finalise(|| real!("mpi_finalize_f08_"() -> error));
}

/// Writes what was recorded before the run is aborted.
fn before_abort() {
    if let Some(mut guard) = note::recorded() {
        let now = clock::ticks();
        guard.record(&Seen::new(Function::Abort, now, now, 0));
    }
    recording::finish(Ending::Aborted);
}

#[unsafe(no_mangle)]
extern "C" fn MPI_Abort(comm: usize, code: c_int) -> c_int {
    before_abort();
    real!("PMPI_Abort"(comm, code) -> code)
}

#[unsafe(no_mangle)]
extern "C" fn mpi_abort_(comm: usize, code: usize, error: *mut c_int) {
    before_abort();
    real!("mpi_abort_"(comm, code) -> error);
}

#[unsafe(no_mangle)]
extern "C" fn mpi_abort_f08_(comm: usize, code: usize, error: *mut c_int) {
    before_abort();
    real!("mpi_abort_f08_"(comm, code) -> error);
}

/// Records a mark of the program.
fn mark(function: Function, text: &str) {
    if let Some(mut guard) = note::recorded() {
        let now = clock::ticks();
        guard.scratch().attributes.text(text);
        guard.record(&Seen::new(function, now, now, 0));
    }
}

/// Level 0 pauses the recording, a positive level resumes it. The mark records the change, if there is one.
fn control(level: c_int) {
    let Some(mut guard) = note::recorded() else { return };
    let resumes = level > 0 && pausing::set(false);
    let pauses = level == 0 && !pausing::is_paused();
    let now = clock::ticks();
    let attributes = &mut guard.scratch().attributes;
    attributes.text(&level.to_string());
    if resumes || pauses {
        attributes.number(attribute::RECORDING, u64::from(resumes));
    }
    guard.record(&Seen::new(Function::Pcontrol, now, now, 0));
    if pauses {
        pausing::set(true);
    }
}

/// The standard gives MPI_Pcontrol further arguments that only a tool interprets. This one has
/// none, and no library uses them.
#[unsafe(no_mangle)]
extern "C" fn MPI_Pcontrol(level: c_int) -> c_int {
    control(level);
    static REAL: Symbol = Symbol::new(c"PMPI_Pcontrol");
    // SAFETY: the function takes an integer and variable arguments.
    REAL.get().map_or(0, |real| unsafe {
        let call: unsafe extern "C" fn(c_int, ...) -> c_int = std::mem::transmute(real);
        call(level)
    })
}

/// # Safety
/// `level` points to an integer.
unsafe fn fortran_pcontrol(level: *const c_int) {
    // SAFETY: `level` points to an integer.
    MPI_Pcontrol(unsafe { level.read() });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mpi_pcontrol_(level: *const c_int) {
    // SAFETY: Fortran passes a reference to an integer.
    unsafe { fortran_pcontrol(level) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mpi_pcontrol_f08_(level: *const c_int) {
    // SAFETY: Fortran passes a reference to an integer, also with `use mpi_f08`.
    unsafe { fortran_pcontrol(level) }
}

/// # Safety
/// `name` is null or a string that ends with a zero.
#[unsafe(no_mangle)]
unsafe extern "C" fn straggler_region_enter(name: *const c_char) {
    // SAFETY: the program passes null or a C string.
    mark(Function::RegionEnter, &unsafe { c_text(name) });
}

/// # Safety
/// As for `straggler_region_enter`.
#[unsafe(no_mangle)]
unsafe extern "C" fn straggler_region_leave(name: *const c_char) {
    // SAFETY: the program passes null or a C string.
    mark(Function::RegionLeave, &unsafe { c_text(name) });
}

/// # Safety
/// `name` is null or a string that ends with a zero.
unsafe fn c_text(name: *const c_char) -> String {
    if name.is_null() {
        return String::new();
    }
    // SAFETY: not null, so it is a string that ends with a zero.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

/// # Safety
/// `name` points to `length` characters.
#[unsafe(no_mangle)]
unsafe extern "C" fn straggler_region_enter_(name: *const u8, length: usize) {
    // SAFETY: Fortran passes a CHARACTER and, after it, its length.
    mark(Function::RegionEnter, &unsafe { fortran_text(name, length) });
}

/// # Safety
/// As for `straggler_region_enter_`.
#[unsafe(no_mangle)]
unsafe extern "C" fn straggler_region_leave_(name: *const u8, length: usize) {
    // SAFETY: Fortran passes a CHARACTER and, after it, its length.
    mark(Function::RegionLeave, &unsafe { fortran_text(name, length) });
}

/// # Safety
/// `name` is null or points to `length` characters.
unsafe fn fortran_text(name: *const u8, length: usize) -> String {
    if name.is_null() || length > 1 << 20 {
        return String::new();
    }
    // SAFETY: not null, so there are `length` characters.
    let bytes = unsafe { std::slice::from_raw_parts(name, length) };
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}

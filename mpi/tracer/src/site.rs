//! An intercepted call: its arguments in machine words, and the real function behind it.
//!
//! [`Site::new`] and [`Site::large`] are the boundary: their caller promises that the words are the
//! arguments of a call that the MPI standard allows. The words are private, and everything else
//! about a call rests on that promise: running it, reading an argument (`reading.rs`), giving it a
//! status of ours (`statuses.rs`).

mod reading;
mod statuses;

pub use reading::Length;
pub use statuses::{Status, Wanted, is_cancelled};

use crate::language::Language;
use crate::large::Narrowed;
use crate::symbols::Symbol;
use crate::thread::Seen;
use libc::{c_int, c_void};
use std::marker::PhantomData;
use straggler_trace::Function;

/// Returned if the library does not have the function at all: some error, since the call did nothing.
const NO_SUCH_FUNCTION: c_int = 16;

/// How many arguments a call has, and how they are passed. Routines are generic over it.
pub trait Words {
    type Language: Language;
    type Array: Invoke + Copy + AsRef<[usize]> + AsMut<[usize]>;
    const COUNT: usize;
    /// The position of the last argument.
    const LAST: usize;
}

/// `N` arguments as language `L` passes them.
pub struct Passed<L, const N: usize>(PhantomData<L>);

impl<L: Language, const N: usize> Words for Passed<L, N>
where
    [usize; N]: Invoke,
{
    type Language = L;
    type Array = [usize; N];
    const COUNT: usize = N;
    const LAST: usize = N.wrapping_sub(1);
}

/// One call of function `function`.
pub struct Site<W: Words> {
    function: Function,
    real: Option<*mut c_void>,
    args: W::Array,
    /// The address of Fortran's last argument, for the return code; may be null.
    error: usize,
    /// Whether `real` takes small counts while the arguments have large ones.
    narrow: bool,
    /// The return address of the call; 0 if unknown.
    caller: usize,
}

impl<W: Words> Site<W> {
    /// # Safety
    /// - `args` are the words that a program passed in a call of `function` in the language of `W`,
    ///   which has not returned: each is what the standard says about the argument at its position.
    ///   `error` is 0 in C; in Fortran it is the address of the return code, or 0.
    /// - `real` is the MPI library's function of that name and language.
    /// - The routine that gets the site reads each position as what the standard has there: inputs
    ///   at any time, outputs after the call has set them. `table.rs` gives each function its
    ///   routine, and each routine lists its positions.
    #[inline(always)]
    pub unsafe fn new(
        function: Function,
        real: &Symbol,
        args: W::Array,
        error: usize,
        caller: usize,
    ) -> Self {
        Site { function, real: real.get(), args, error, narrow: false, caller }
    }

    /// A call with large counts, which goes to `small` if the library has no `real`.
    ///
    /// # Safety
    /// As for [`Site::new`]; `small` is the function of the same name without `_c`.
    #[inline(always)]
    pub unsafe fn large(
        function: Function,
        real: &Symbol,
        small: &Symbol,
        args: W::Array,
        caller: usize,
    ) -> Self {
        let at = real.get();
        let narrow = at.is_none();
        Site { function, real: at.or_else(|| small.get()), args, error: 0, narrow, caller }
    }

    #[inline(always)]
    pub fn function(&self) -> Function {
        self.function
    }

    /// What is known about the call after it returned.
    #[inline(always)]
    pub fn seen(&self, enter: u64, exit: u64, code: c_int) -> Seen {
        Seen { caller: self.caller, ..Seen::new(self.function, enter, exit, code) }
    }

    /// Whether the library has the function.
    pub fn exists(&self) -> bool {
        self.real.is_some()
    }

    /// The argument at a position.
    #[inline(always)]
    fn word(&self, at: usize) -> usize {
        self.args.as_ref()[at]
    }

    /// Runs the call: the real function gets the current arguments.
    #[inline(always)]
    pub fn invoke(&self) -> c_int {
        let Some(real) = self.real else {
            // SAFETY: `error` is Fortran's address for the return code, or 0 (`new`).
            unsafe { tell_error(self.error, NO_SUCH_FUNCTION) };
            return NO_SUCH_FUNCTION;
        };
        if W::Language::FORTRAN {
            // SAFETY: `real` is the subroutine these arguments were passed to (`new`); it also takes the return code.
            self.with_error(|error| unsafe { self.args.invoke_fortran(real, error) })
        } else if self.narrow {
            self.invoke_narrow(real)
        } else {
            // SAFETY: `real` is the function these arguments were passed to (`new`).
            unsafe { self.args.invoke(real) }
        }
    }

    /// Like [`Site::invoke`], for a Fortran subroutine that may have strings: their hidden lengths
    /// follow the arguments.
    #[inline(always)]
    pub fn invoke_strings(&self, lengths: [usize; 2]) -> c_int {
        let Some(real) = self.real else { return NO_SUCH_FUNCTION };
        // SAFETY: `real` is the subroutine these arguments were passed to (`new`); it does not read
        // lengths that it does not have.
        self.with_error(|error| unsafe { self.args.invoke_strings(real, error, lengths) })
    }

    /// Runs a Fortran call. If the program does not want the return code, the record still needs it.
    #[inline(always)]
    fn with_error(&self, run: impl FnOnce(usize)) -> c_int {
        let mut own: c_int = 0;
        let error = if self.error == 0 { &raw mut own as usize } else { self.error };
        run(error);
        // SAFETY: `own`, or the integer in which the program wants the return code (`new`).
        unsafe { (error as *const c_int).read() }
    }

    #[cold]
    fn invoke_narrow(&self, real: *mut c_void) -> c_int {
        // SAFETY: the arguments are those of a call of `function` with large counts (`large`).
        let narrowed = unsafe { Narrowed::new(self.function, self.args) };
        let Some(narrowed) = narrowed else { return NO_SUCH_FUNCTION };
        // SAFETY: `real` is the function with small counts (`large`), which these arguments are made for.
        let code = unsafe { narrowed.args.invoke(real) };
        if self.function.makes_request() {
            narrowed.keep();
        }
        code
    }
}

/// # Safety
/// `error` is null or points to an integer.
unsafe fn tell_error(error: usize, code: c_int) {
    if error != 0 {
        // SAFETY: not null, so it points to an integer.
        unsafe { (error as *mut c_int).write(code) };
    }
}

/// Calls a function through a pointer, with all arguments as machine words. On the platforms MPI runs
/// on, integers and pointers both take a register or a stack slot, so a word can stand for either.
pub trait Invoke {
    /// # Safety
    /// `at` is a function with this many arguments that returns an integer.
    unsafe fn invoke(&self, at: *mut c_void) -> c_int;
    /// # Safety
    /// `at` is a Fortran subroutine with this many arguments, and one for the return code.
    unsafe fn invoke_fortran(&self, at: *mut c_void, error: usize);
    /// Like `invoke_fortran`, with the hidden lengths of two strings.
    ///
    /// # Safety
    /// As above.
    unsafe fn invoke_strings(&self, at: *mut c_void, error: usize, lengths: [usize; 2]);
}

macro_rules! word {
    ($place:literal) => {
        usize
    };
}

macro_rules! invoke {
    ($($count:literal: $($place:literal)*;)*) => {$(
        impl Invoke for [usize; $count] {
            #[inline(always)]
            unsafe fn invoke(&self, at: *mut c_void) -> c_int {
                // SAFETY: `at` is a C function with this many arguments, each of which takes a word.
                unsafe {
                    let call: unsafe extern "C" fn($(word!($place)),*) -> c_int = std::mem::transmute(at);
                    call($(self[$place]),*)
                }
            }
            #[inline(always)]
            unsafe fn invoke_fortran(&self, at: *mut c_void, error: usize) {
                // SAFETY: `at` is a subroutine with this many arguments and one more, all of them addresses.
                unsafe {
                    let call: unsafe extern "C" fn($(word!($place),)* usize) = std::mem::transmute(at);
                    call($(self[$place],)* error);
                }
            }
            #[inline(always)]
            unsafe fn invoke_strings(&self, at: *mut c_void, error: usize, lengths: [usize; 2]) {
                // SAFETY: `at` is a subroutine with these arguments; it does not read words after its own.
                unsafe {
                    let call: unsafe extern "C" fn($(word!($place),)* usize, usize, usize) = std::mem::transmute(at);
                    call($(self[$place],)* error, lengths[0], lengths[1]);
                }
            }
        }
    )*};
}

invoke! {
    0: ;
    1: 0;
    2: 0 1;
    3: 0 1 2;
    4: 0 1 2 3;
    5: 0 1 2 3 4;
    6: 0 1 2 3 4 5;
    7: 0 1 2 3 4 5 6;
    8: 0 1 2 3 4 5 6 7;
    9: 0 1 2 3 4 5 6 7 8;
    10: 0 1 2 3 4 5 6 7 8 9;
    11: 0 1 2 3 4 5 6 7 8 9 10;
    12: 0 1 2 3 4 5 6 7 8 9 10 11;
    13: 0 1 2 3 4 5 6 7 8 9 10 11 12;
}

/// Calls a function of the library itself, bypassing the recording. Returns its return code, or
/// `None` if it does not exist.
macro_rules! pmpi {
    ($name:ident($($arg:expr),* $(,)?)) => {{
        static REAL: $crate::symbols::Symbol =
            $crate::symbols::Symbol::new($crate::site::c_string(concat!("PMPI_", stringify!($name), "\0")));
        // SAFETY: the arguments are those that the standard specifies for the function.
        REAL.get().map(|real| unsafe { $crate::site::Invoke::invoke(&[$($arg as usize),*], real) })
    }};
}
pub(crate) use pmpi;

/// Converts a text that ends with a zero to a C string.
pub const fn c_string(text: &'static str) -> &'static std::ffi::CStr {
    match std::ffi::CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("the name must end with a zero"),
    }
}

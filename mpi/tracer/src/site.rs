//! A call as it comes in: its arguments in machine words, and the real function behind it.

use crate::language::Language;
use crate::large::Narrowed;
use crate::symbols::Symbol;
use libc::{c_int, c_void};
use std::marker::PhantomData;
use straggler_trace::Function;

/// What is returned where the library does not have the function at all: some error, as the call did nothing.
const NO_SUCH_FUNCTION: c_int = 16;

/// One call of function `function` with `N` arguments, as language `L` passes them.
pub struct Site<L, const N: usize> {
    pub function: Function,
    real: Option<*mut c_void>,
    pub args: [usize; N],
    /// Fortran's last argument, where the return code goes; may be null.
    error: usize,
    /// `real` takes small counts, the arguments are large ones.
    narrow: bool,
    language: PhantomData<L>,
}

impl<L: Language, const N: usize> Site<L, N>
where
    [usize; N]: Invoke,
{
    #[inline(always)]
    pub fn new(function: Function, real: &Symbol, args: [usize; N], error: usize) -> Self {
        Site { function, real: real.get(), args, error, narrow: false, language: PhantomData }
    }

    /// A call with large counts, of `small` where the library has no `real`.
    #[inline(always)]
    pub fn large(function: Function, real: &Symbol, small: &Symbol, args: [usize; N]) -> Self {
        let at = real.get();
        let narrow = at.is_none();
        Site { function, real: at.or_else(|| small.get()), args, error: 0, narrow, language: PhantomData }
    }

    /// Calls the real function with the arguments as they are now.
    ///
    /// # Safety
    /// The arguments are those of the program, or changed to others that are as good.
    #[inline(always)]
    pub unsafe fn invoke(&self) -> c_int {
        let Some(real) = self.real else {
            // SAFETY: Fortran's last argument is an integer, or absent.
            unsafe { tell_error(self.error, NO_SUCH_FUNCTION) };
            return NO_SUCH_FUNCTION;
        };
        // SAFETY: `real` is the library's function of this name, and takes these arguments.
        unsafe {
            if L::FORTRAN {
                // Where the program does not want the return code, the record does.
                let mut own: c_int = 0;
                let error = if self.error == 0 { &raw mut own as usize } else { self.error };
                self.args.invoke_fortran(real, error);
                (error as *const c_int).read()
            } else if self.narrow {
                self.invoke_narrow(real)
            } else {
                self.args.invoke(real)
            }
        }
    }

    #[cold]
    unsafe fn invoke_narrow(&self, real: *mut c_void) -> c_int {
        // SAFETY: the caller's promise; lists are copied in the layout that `real` expects.
        unsafe {
            let Some(narrowed) = Narrowed::new(self.function, self.args) else { return NO_SUCH_FUNCTION };
            let code = narrowed.args.invoke(real);
            if self.function.makes_request() {
                narrowed.keep();
            }
            code
        }
    }

    /// # Safety
    /// The argument is an integer.
    #[inline(always)]
    pub unsafe fn int(&self, at: usize) -> i32 {
        // SAFETY: the caller's promise.
        unsafe { L::int(self.args[at]) }
    }

    /// The value behind an argument that points to an integer, in any language.
    ///
    /// # Safety
    /// The argument points to an integer.
    #[inline(always)]
    pub unsafe fn int_behind(&self, at: usize) -> i32 {
        // SAFETY: the caller's promise.
        unsafe { (self.args[at] as *const c_int).read() }
    }
}

/// # Safety
/// `error` is null or points to an integer.
unsafe fn tell_error(error: usize, code: c_int) {
    if error != 0 {
        // SAFETY: the caller's promise.
        unsafe { (error as *mut c_int).write(code) };
    }
}

/// Calling a function through a pointer, with all arguments as machine words. On the platforms MPI runs on, integers and
/// pointers both take a register or a slot of the stack, so that a word stands for either.
pub trait Invoke {
    /// # Safety
    /// `at` is a function with this many arguments that returns an integer.
    unsafe fn invoke(&self, at: *mut c_void) -> c_int;
    /// # Safety
    /// `at` is a Fortran subroutine with this many arguments, and one for the return code.
    unsafe fn invoke_fortran(&self, at: *mut c_void, error: usize);
    /// The same with room for the hidden lengths of two strings.
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
                // SAFETY: the caller's promise.
                unsafe {
                    let call: unsafe extern "C" fn($(word!($place)),*) -> c_int = std::mem::transmute(at);
                    call($(self[$place]),*)
                }
            }
            #[inline(always)]
            unsafe fn invoke_fortran(&self, at: *mut c_void, error: usize) {
                // SAFETY: the caller's promise.
                unsafe {
                    let call: unsafe extern "C" fn($(word!($place),)* usize) = std::mem::transmute(at);
                    call($(self[$place],)* error);
                }
            }
            #[inline(always)]
            unsafe fn invoke_strings(&self, at: *mut c_void, error: usize, lengths: [usize; 2]) {
                // SAFETY: the caller's promise; further words on the stack are not looked at.
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

/// Calls a function of the library itself, past all recording. Gives its return code, or none if it is not there.
macro_rules! pmpi {
    ($name:ident($($arg:expr),* $(,)?)) => {{
        static REAL: $crate::symbols::Symbol =
            $crate::symbols::Symbol::new($crate::site::c_string(concat!("PMPI_", stringify!($name), "\0")));
        // SAFETY: the arguments are those the standard gives the function.
        REAL.get().map(|real| unsafe { $crate::site::Invoke::invoke(&[$($arg as usize),*], real) })
    }};
}
pub(crate) use pmpi;

/// A name as C writes it; the text ends with a zero.
pub const fn c_string(text: &'static str) -> &'static std::ffi::CStr {
    match std::ffi::CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("the name must end with a zero"),
    }
}

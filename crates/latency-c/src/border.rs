//! The border to C: error codes, strings, and no panics.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The codes of the C header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Code {
    Ok = 0,
    Invalid = 1,
    File = 2,
    Internal = 3,
}

/// Why a call failed.
#[derive(Debug)]
pub struct Fault {
    pub code: Code,
    pub text: String,
}

impl Fault {
    pub fn invalid(fault: impl ToString) -> Fault {
        Fault { code: Code::Invalid, text: fault.to_string() }
    }

    pub fn file(fault: impl ToString) -> Fault {
        Fault { code: Code::File, text: fault.to_string() }
    }

    pub fn internal(fault: impl ToString) -> Fault {
        Fault { code: Code::Internal, text: fault.to_string() }
    }
}

pub fn null(what: &str) -> Fault {
    Fault::invalid(format!("{what} is a null pointer"))
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::new(CString::default());
}

pub fn last_error() -> *const c_char {
    LAST.with_borrow(|text| text.as_ptr())
}

/// Runs `action`. If it fails or panics, keeps the error's text and returns its code with `otherwise`.
pub fn guarded<T>(otherwise: T, action: impl FnOnce() -> Result<T, Fault>) -> (c_int, T) {
    let fault = match catch_unwind(AssertUnwindSafe(action)) {
        Ok(Ok(value)) => return (Code::Ok as c_int, value),
        Ok(Err(fault)) => fault,
        Err(_) => Fault::internal("straggler_latency has a fault: please report it"),
    };
    let text = CString::new(fault.text.replace('\0', " ")).unwrap_or_default();
    LAST.with_borrow_mut(|last| *last = text);
    (fault.code as c_int, otherwise)
}

/// Borrows a string of the caller.
///
/// # Safety
/// `pointer` is null or a zero-terminated string that does not change while the text is used.
pub unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str, Fault> {
    if pointer.is_null() {
        return Err(null(what));
    }
    // SAFETY: promised by the caller.
    let bytes = unsafe { CStr::from_ptr(pointer) };
    bytes.to_str().map_err(|_| Fault::invalid(format!("{what} is not UTF-8")))
}

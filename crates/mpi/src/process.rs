//! This process as a part of an MPI job, from MPI_Init_thread to MPI_Finalize.
#![allow(unsafe_code)]

use crate::functions::Functions;
use crate::launcher::Launcher;
use crate::library::{Library, LibraryError, Surroundings, short};
use crate::wire::Fault;
use std::ffi::{c_char, c_int};
use std::ptr::null_mut;
use std::rc::Rc;
use straggler_trace::mpi_abi::{Abi, LONGEST_TEXT};

/// Why MPI cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Library(#[from] LibraryError),
    #[error("{library} cannot be initialised (MPI_Init_thread returns {code}): start with its own mpirun")]
    NotInitialised { library: String, code: c_int },
    #[error("{library} does not support threads (MPI_THREAD_FUNNELED)")]
    NoThreads { library: String },
    #[error(
        "{launcher} started {processes} processes, but {library} sees only one: the library belongs to another MPI than \
         the launcher. Start with the mpirun of that library, or name the launcher's library with \
         STRAGGLER_MPI=/path/libmpi.so"
    )]
    OtherLauncher { launcher: &'static str, processes: u32, library: String },
}

/// The initialised MPI. It is finalised when the last communicator is gone. Only the thread that initialised it calls
/// it: it lives in an [`Rc`], which other threads cannot have.
#[derive(Debug)]
pub struct Mpi {
    pub(crate) calls: Functions,
    pub(crate) abi: Abi,
    /// What the library says it is.
    pub library: String,
    pub file: String,
}

impl Mpi {
    /// Finds the library and initialises it.
    pub fn start(launcher: &Launcher) -> Result<Rc<Mpi>, StartError> {
        let Library { file, version, abi, functions, .. } =
            Library::find(&Surroundings::of_this_process(launcher.family))?;
        let name = format!("{} ({file})", short(&version));
        let (wanted, mut level) = (abi.thread_funneled, 0);
        // SAFETY: MPI takes null for the arguments of the program. It is initialised once: the caller keeps the result.
        let code = unsafe { (functions.MPI_Init_thread)(null_mut(), null_mut(), wanted, &raw mut level) };
        if code != 0 {
            return Err(StartError::NotInitialised { library: name, code });
        }
        let mpi = Rc::new(Mpi { calls: functions, abi, library: version, file });
        if level < wanted {
            return Err(StartError::NoThreads { library: name });
        }
        match (launcher.name, launcher.size, mpi.number(mpi.calls.MPI_Comm_size, mpi.abi.comm_world)) {
            (Some(launcher), Some(processes), 1) if processes > 1 => {
                Err(StartError::OtherLauncher { launcher, processes, library: name })
            }
            _ => Ok(mpi),
        }
    }

    /// Asks for a number of a communicator.
    pub(crate) fn number(&self, ask: unsafe extern "C" fn(usize, *mut c_int) -> c_int, comm: usize) -> u32 {
        let mut number: c_int = 0;
        // SAFETY: the communicator exists, and the function writes one integer.
        unsafe { ask(comm, &raw mut number) };
        u32::try_from(number).unwrap_or(0)
    }

    /// The name of this host.
    pub fn host(&self) -> String {
        // SAFETY: the text is as long as that of any library.
        text(|text, length| unsafe { (self.calls.MPI_Get_processor_name)(text, length) })
    }

    /// MPI's message for a return code.
    pub(crate) fn error(&self, code: c_int) -> String {
        // SAFETY: as above.
        text(|text, length| unsafe { (self.calls.MPI_Error_string)(code, text, length) })
    }

    /// The result of an MPI call. A failure ends the job: nothing can go on without this process's messages.
    pub(crate) fn sound<T>(&self, result: Result<T, Fault>) -> T {
        result.unwrap_or_else(|fault| {
            let rank = self.number(self.calls.MPI_Comm_rank, self.abi.comm_world);
            eprintln!("error: rank {rank} on {}: {fault}", self.host());
            self.abort(3)
        })
    }

    /// Ends all processes of the job.
    pub fn abort(&self, code: i32) -> ! {
        // SAFETY: MPI is initialised.
        unsafe { (self.calls.MPI_Abort)(self.abi.comm_world, code) };
        std::process::exit(code)
    }
}

/// A text that MPI writes.
fn text(write: impl FnOnce(*mut c_char, *mut c_int) -> c_int) -> String {
    let mut text = vec![0u8; LONGEST_TEXT + 1];
    let mut length: c_int = 0;
    write(text.as_mut_ptr().cast(), &raw mut length);
    text.truncate(usize::try_from(length).unwrap_or(0));
    String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned()
}

impl Drop for Mpi {
    fn drop(&mut self) {
        // A process that panics must not wait for the others in MPI_Finalize: it ends the job.
        if std::thread::panicking() {
            self.abort(101);
        }
        // SAFETY: MPI is initialised, and nothing that uses it is left.
        unsafe { (self.calls.MPI_Finalize)() };
    }
}

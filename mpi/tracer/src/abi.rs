//! Which of the three binary interfaces the traced program uses, and the special addresses of Fortran.

use crate::symbols::{file_of, find, find_variable, in_library};
use std::convert::Infallible;
use std::ffi::CStr;
use std::sync::OnceLock;
pub use straggler_trace::mpi_abi::{Abi, Family, Handle, LONGEST_STATUS, UNDEFINED};

static ABI: OnceLock<Abi> = OnceLock::new();

/// The layout of the library this process uses.
#[inline]
pub fn abi() -> &'static Abi {
    ABI.get_or_init(detect)
}

fn detect() -> Abi {
    let (function, open_mpi) = (c"PMPI_Comm_rank", find_variable(Family::OPEN_MPI_HAS));
    let at = find(function);
    let file = at.and_then(|at| file_of(at)).unwrap_or_default();
    let standard = Family::STANDARD_NAMES.iter().any(|name| at.is_some() && in_library(name, function) == at);
    // Every Open MPI has the handles that the tracer passes on. With the others it only compares, so 0 may stand for them.
    let Ok(abi) = Abi::new(Family::detect(&file, standard, open_mpi.is_some()), |name| {
        Ok::<_, Infallible>(find_variable(name).map_or(0, |at| at as usize))
    });
    abi
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

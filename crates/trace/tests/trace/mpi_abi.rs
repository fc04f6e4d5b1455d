//! The table of MPI's binary interfaces says what the headers of installed libraries say.
//!
//! `STRAGGLER_TEST_MPICC` names more compilers, such as `standard=/opt/mpich/bin/mpicc_abi`, separated by spaces.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ffi::CStr;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::Command;
use straggler_trace::mpi_abi::{Abi, Family, LONGEST_STATUS, LONGEST_TEXT, UNDEFINED};

/// The table as the C program prints a header. Symbols get made-up addresses, which are turned back into names.
fn table(family: Family) -> BTreeMap<String, String> {
    const FIRST: usize = 1 << 40;
    let symbols: RefCell<Vec<String>> = RefCell::default();
    let Ok(abi) = Abi::new(family, |name: &CStr| {
        symbols.borrow_mut().push(name.to_string_lossy().into_owned());
        Ok::<_, Infallible>(FIRST + symbols.borrow().len() - 1)
    });
    let handle = |handle: usize| match handle.checked_sub(FIRST).filter(|place| *place < 1000) {
        Some(place) => symbols.borrow()[place].clone(),
        None => handle.to_string(),
    };
    assert!(abi.status_bytes <= LONGEST_STATUS && LONGEST_TEXT == 8192);
    [
        ("handle_bytes", abi.handle_bytes.to_string()),
        ("status_bytes", abi.status_bytes.to_string()),
        ("source_at", abi.source_at.to_string()),
        ("tag_at", abi.tag_at.to_string()),
        ("comm_world", handle(abi.comm_world)),
        ("comm_self", handle(abi.comm_self)),
        ("comm_null", handle(abi.comm_null)),
        ("request_null", handle(abi.request_null)),
        ("datatype_null", handle(abi.datatype_null)),
        ("message_nobody", handle(abi.message_nobody)),
        ("byte", handle(abi.byte)),
        ("uint8", handle(abi.uint8)),
        ("int64", handle(abi.int64)),
        ("double", handle(abi.double)),
        ("op_max", handle(abi.op_max)),
        ("op_sum", handle(abi.op_sum)),
        ("op_bor", handle(abi.op_bor)),
        ("errors_return", handle(abi.errors_return)),
        ("any_source", abi.any_source.to_string()),
        ("any_tag", abi.any_tag.to_string()),
        ("nobody", abi.nobody.to_string()),
        ("root", abi.root.to_string()),
        ("cart", abi.cart.to_string()),
        ("graph", abi.graph.to_string()),
        ("thread_funneled", abi.thread_funneled.to_string()),
        ("thread_multiple", abi.thread_multiple.to_string()),
        ("err_truncate", abi.err_truncate.to_string()),
        ("status_ignore", abi.status_ignore.to_string()),
        // Printed as a signed number.
        ("in_place", (abi.in_place as isize).to_string()),
        ("undefined", UNDEFINED.to_string()),
        ("success", "0".to_string()),
        ("longest_text_fits", "1".to_string()),
    ]
    .map(|(name, value)| (name.to_string(), value))
    .into()
}

/// What the header of a compiler says; `None` if there is no such compiler.
fn header(compiler: &str) -> Option<BTreeMap<String, String>> {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("abi");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trace/mpi_abi.c");
    let mut build = Command::new(compiler);
    let built = match build.arg("-w").arg("-o").arg(&program).arg(source).arg("-ldl").output() {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        built => built.unwrap(),
    };
    assert!(built.status.success(), "{compiler}: {}", String::from_utf8_lossy(&built.stderr));
    let printed = Command::new(&program).output().unwrap();
    assert!(printed.status.success(), "{compiler}: {}", String::from_utf8_lossy(&printed.stderr));
    let text = String::from_utf8(printed.stdout).unwrap();
    Some(text.lines().filter_map(|line| line.split_once(' ')).map(|(a, b)| (a.into(), b.into())).collect())
}

#[test]
fn mpi_headers_agree() {
    let more = std::env::var("STRAGGLER_TEST_MPICC").unwrap_or_default();
    for one in "openmpi=mpicc.openmpi mpich=mpicc.mpich".split(' ').chain(more.split_whitespace()) {
        let (family, compiler) = one.split_once('=').unwrap();
        let expected = match family {
            "openmpi" => table(Family::OpenMpi),
            "mpich" => table(Family::Mpich),
            "standard" => table(Family::Standard),
            _ => panic!("STRAGGLER_TEST_MPICC: {family} is none of openmpi, mpich, standard"),
        };
        match header(compiler) {
            Some(found) => assert_eq!(found, expected, "{compiler}"),
            None => {
                // Past the capture of tests' output.
                let _ =
                    writeln!(std::io::stderr(), "skipped: the header of {compiler}, as it is not installed");
            }
        }
    }
}

#[test]
fn families_are_told_apart() {
    assert_eq!(Family::detect("/opt/lib/libmpi_abi.so.0.0.0", false, false), Family::Standard);
    assert_eq!(Family::detect("/opt/lib/libmpi_abi.so.1", false, true), Family::Standard);
    assert_eq!(Family::detect("/opt/lib/mpi.so", true, true), Family::Standard);
    assert_eq!(Family::detect("/opt/lib/libmpi.so.40", false, true), Family::OpenMpi);
    assert_eq!(Family::detect("/opt/libmpi_abi/libmpi.so.12", false, false), Family::Mpich);
}

//! `straggler mpi` where there is no MPI; scripts/test-tools runs it under every installed one.

use crate::program::{Folder, binary};
use std::process::{Command, Output};

/// Runs `straggler mpi`, as a process that a launcher has started if it has a rank.
fn mpi(library: &str, rank: Option<u32>, line: &str) -> Output {
    let mut command = Command::new(binary());
    command.arg("mpi").args(line.split(' ')).env("STRAGGLER_MPI", library);
    if let Some(rank) = rank {
        command.env("OMPI_COMM_WORLD_RANK", rank.to_string()).env("OMPI_COMM_WORLD_SIZE", "2");
        command.env("OMPI_COMM_WORLD_LOCAL_RANK", rank.to_string());
    }
    command.output().unwrap()
}

fn said(output: &Output) -> (i32, String) {
    (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_library_that_cannot_be_used_is_told_by_one_process() {
    let folder = Folder::new();
    folder.write("libmpi.so", "not a library");
    let text = folder.path().join("libmpi.so");
    for (library, words) in [
        ("/nonexistent/libmpi.so.40", "/nonexistent/libmpi.so.40: it cannot be loaded"),
        ("libm.so.6", "libm.so.6: it is no MPI library: it has no MPI_Get_library_version"),
        (text.to_str().unwrap(), "it cannot be loaded"),
    ] {
        for rank in [None, Some(0)] {
            let (code, error) = said(&mpi(library, rank, "latency"));
            assert!(code == 3 && error.starts_with(&format!("error: STRAGGLER_MPI={library}: ")), "{error}");
            assert!(error.contains(words), "{error}");
        }
        assert_eq!(said(&mpi(library, Some(1), "latency")), (3, String::new()));
    }
}

#[test]
fn wrong_options_are_told_by_one_process() {
    let (code, error) = said(&mpi("none", Some(0), "latency --no-such"));
    assert!(code == 2 && error.contains("--no-such"), "{error}");
    assert_eq!(said(&mpi("none", Some(1), "latency --no-such")), (2, String::new()));
}

#[test]
fn the_former_name_still_works() {
    let former = Command::new(binary().with_file_name("straggler-mpi")).args(["latency", "--help"]).output();
    let now = Command::new(binary()).args(["mpi", "latency", "--help"]).output();
    assert_eq!(former.unwrap().stdout, now.unwrap().stdout);
}

//! `straggler mpi` where there is no MPI; scripts/test-tools runs it under every installed one.

use crate::outside::program::{Folder, binary};
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
fn wrong_options_are_told_at_length_by_one_process() {
    let (code, error) = said(&mpi("none", Some(0), "latency --no-such"));
    assert!(code == 2 && error.contains("--no-such"), "{error}");
    // Only this one may have a wrong option, so it says so, too.
    let short = "error: rank 1: unexpected argument '--no-such' found\n".to_string();
    assert_eq!(said(&mpi("none", Some(1), "latency --no-such")), (2, short));
}

/// An MPI of one process, one of whose calls fails.
const FAILING: &str = r#"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int MPI_Get_library_version(char *text, int *length) { strcpy(text, "MPICH Version: 4"); return 0; }
int MPI_Init_thread(int *count, char ***arguments, int wanted, int *level) { *level = wanted; return 0; }
int MPI_Comm_size(int comm, int *size) { *size = 1; return 0; }
int MPI_Get_processor_name(char *text, int *length) { strcpy(text, "node1"); *length = 5; return 0; }
int MPI_Error_string(int code, char *text, int *length) { strcpy(text, "broken"); *length = 6; return 0; }
int MPI_Allreduce(const void *from, void *to, int count) { memcpy(to, from, 8 * count); return 0; }
int MPI_Allgather(const void *from, int count, int type, void *to) { memcpy(to, from, count); return 0; }
int MPI_Allgatherv(const void *from, int count, int type, void *to) { memcpy(to, from, count); return 0; }
int MPI_Iallreduce(void) { return 15; }
int MPI_Abort(int comm, int code) { dprintf(2, "MPI_Abort(%d)\n", code); _exit(code); }
"#;

#[test]
fn a_failed_call_ends_the_job() {
    let folder = Folder::new();
    let calls = include_str!("../../../mpi/src/functions.rs").lines();
    let calls = calls.filter_map(|line| line.strip_prefix("    MPI_")?.split('(').next());
    let others = calls.filter(|call| !FAILING.contains(&format!("MPI_{call}(")));
    let others = others.map(|call| format!("int MPI_{call}(void) {{ return 0; }}\n"));
    folder.write("mpi.c", &(FAILING.to_owned() + &others.collect::<String>()));
    let library = folder.path().join("libmpi.so.12");
    let mut build = Command::new("cc");
    build.args(["-shared", "-fPIC", "-w", "-o"]).arg(&library).arg(folder.path().join("mpi.c"));
    assert!(build.status().unwrap().success());
    let line = "simulate --collective barrier --processes 4 --network chic";
    let (code, error) = said(&mpi(library.to_str().unwrap(), None, line));
    assert!(error.ends_with("error: rank 0 on node1: MPI_Iallreduce: broken\nMPI_Abort(3)\n"), "{error}");
    assert_eq!(code, 3);
}

#[test]
fn the_former_name_still_works() {
    let former = Command::new(binary().with_file_name("straggler-mpi")).args(["latency", "--help"]).output();
    let now = Command::new(binary()).args(["mpi", "latency", "--help"]).output();
    assert_eq!(former.unwrap().stdout, now.unwrap().stdout);
}

//! Libraries that are no MPI, or one that cannot be used. No MPI is needed: a C compiler makes them.

use std::path::{Path, PathBuf};
use std::process::Command;
use straggler_mpi::library::{Library, Surroundings};

/// A shared library of a C source.
fn library(folder: &Path, name: &str, source: &str) -> PathBuf {
    let (code, library) = (folder.join("source.c"), folder.join(name));
    std::fs::write(&code, source).unwrap();
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&code).status().unwrap();
    assert!(built.success());
    library
}

/// A library that says it is this MPI, and has no other function.
fn hollow(folder: &Path, name: &str, version: &str) -> PathBuf {
    let source = format!(
        "#include <string.h>\n\
         int MPI_Get_library_version(char *text, int *length) {{ strcpy(text, \"{version}\"); *length = strlen(text); return 0; }}"
    );
    library(folder, name, &source)
}

fn refused(file: &Path) -> String {
    Library::open(file).unwrap_err().to_string()
}

#[test]
fn a_missing_function_is_named_with_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let old = hollow(folder.path(), "libmpi.so.12", "MPICH Version:\\t1.0\\nMPICH Device: none");
    let text = refused(&old);
    assert!(
        text.starts_with(&format!("{} (MPICH Version 1.0) has no MPI_Init_thread: ", old.display())),
        "{text}"
    );
}

#[test]
fn an_unknown_interface_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let other = hollow(folder.path(), "libmpi.so", "Another MPI 7");
    let text = refused(&other);
    assert!(text.contains("(Another MPI 7) has a binary interface that straggler does not know"), "{text}");
    // With the name of the standard's interface, only functions are missing.
    let standard = hollow(folder.path(), "libmpi_abi.so.1", "Another MPI 7");
    assert!(refused(&standard).contains("has no MPI_Init_thread"), "{}", refused(&standard));
}

#[test]
fn the_search_goes_on_after_a_library_that_cannot_be_used() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("lib")).unwrap();
    let other = library(&folder.path().join("lib"), "libmpi.so.40", "int nothing;");
    let named = Surroundings { named: Some(folder.path().to_path_buf()), ..Surroundings::default() };
    let text = Library::find(&named).unwrap_err().to_string();
    for words in
        ["no MPI library was found", "libmpi.so.12", &format!("{}: it is no MPI library", other.display())]
    {
        assert!(text.contains(words), "{text}");
    }
}

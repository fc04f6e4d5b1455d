//! Libraries that are no MPI, or one that cannot be used. No MPI is needed: a C compiler makes them.

use std::path::{Path, PathBuf};
use std::process::Command;
use straggler_mpi::library::{Library, Surroundings};
use straggler_trace::mpi_abi::Family;

/// A shared library of a C source.
fn library(folder: &Path, name: &str, source: &str) -> PathBuf {
    linked(folder, name, source, "")
}

fn linked(folder: &Path, name: &str, source: &str, option: &str) -> PathBuf {
    let (code, library) = (folder.join("source.c"), folder.join(name));
    std::fs::write(&code, source).unwrap();
    let mut build = Command::new("cc");
    build.args(["-shared", "-fPIC", "-w", "-o"]).arg(&library).arg(&code);
    assert!(build.args(Some(option).filter(|option| !option.is_empty())).status().unwrap().success());
    library
}

/// C code of a library that says it is this MPI.
fn stating(version: &str) -> String {
    format!(
        "#include <string.h>\n\
         int MPI_Get_library_version(char *text, int *length) {{ strcpy(text, \"{version}\"); return 0; }}\n"
    )
}

/// The same with all functions that straggler looks up; they do nothing.
fn complete(version: &str) -> String {
    let list = include_str!("../src/functions.rs").lines().filter_map(|line| line.strip_prefix("    MPI_"));
    let names = list.filter_map(|line| line.split_once('(')).map(|(name, _)| name);
    stating(version)
        + &names.map(|name| format!("int MPI_{name}(void) {{ return 0; }}\n")).collect::<String>()
}

/// A library that says it is this MPI, and has no other function.
fn hollow(folder: &Path, name: &str, version: &str) -> PathBuf {
    library(folder, name, &stating(version))
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

#[test]
fn libraries_that_are_not_used_are_gone() {
    let folder = tempfile::tempdir().unwrap();
    let lib = folder.path().join("lib");
    std::fs::create_dir(&lib).unwrap();
    // All three have a function `maker`, which each must call in itself.
    let made = |version: &str, source: String| {
        let maker = format!("const char *maker(void) {{ return \"{version}\"; }}\n");
        maker + &source.replace(&format!("\"{version}\")"), "maker())")
    };
    library(&lib, "libmpi.so.12", &made("Another MPI 7", stating("Another MPI 7")));
    // Open MPI's variables, in a library with a name that MPICH's may have.
    let open_mpi = made("Open MPI v4", complete("Open MPI v4"));
    let variables = "long ompi_mpi_comm_world, ompi_mpi_comm_self, ompi_mpi_comm_null, ompi_request_null, \
         ompi_mpi_datatype_null, ompi_message_no_proc, ompi_mpi_byte, ompi_mpi_uint8_t, ompi_mpi_int64_t, ompi_mpi_double, \
         ompi_mpi_op_max, ompi_mpi_op_sum, ompi_mpi_op_bor, ompi_mpi_errors_return;\n";
    let other = library(&lib, "libmpich.so.12", &(open_mpi + variables));
    let mpich = library(&lib, "libmpich.so", &made("MPICH 4", complete("MPICH 4")));
    assert_eq!(Library::open(&other).unwrap().abi.family, Family::OpenMpi);
    let prefixes = vec![folder.path().to_path_buf()];
    let around = Surroundings { named: None, family: Some(Family::Mpich), prefixes };
    let found = Library::find(&around).unwrap();
    assert_eq!((found.version.as_str(), found.abi.family), ("MPICH 4", Family::Mpich), "{}", found.file);
    drop(found);
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut loaded: Vec<&str> =
        maps.lines().filter_map(|line| line.find(lib.to_str()?).map(|at| &line[at..])).collect();
    loaded.dedup();
    assert_eq!(loaded, [mpich.to_str().unwrap()]);
}

#[test]
fn a_missing_variable_of_open_mpi_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let source = complete("Open MPI v1.6") + "long ompi_mpi_comm_world, ompi_mpi_comm_self;\n";
    let text = refused(&library(folder.path(), "libmpi.so.1", &source));
    let expected = "libmpi.so.1 (Open MPI v1.6) has no ompi_mpi_comm_null: use a library of MPI 3.0 or later";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn the_standards_interface_is_known_by_any_file_name() {
    let folder = tempfile::tempdir().unwrap();
    let family = |file: &Path| Library::open(file).unwrap().abi.family;
    let source = complete("MPICH Version: 5");
    let standard = linked(folder.path(), "libmpi_abi.so.1", &source, "-Wl,-soname,libmpi_abi.so.1");
    let link = folder.path().join("mpi.so");
    std::os::unix::fs::symlink(&standard, &link).unwrap();
    assert_eq!(family(&link), Family::Standard);
    let copy = linked(folder.path(), "libmpi.so.12", &source, "-Wl,-soname,libmpi_abi.so.0");
    assert_eq!(family(&copy), Family::Standard);
    assert_eq!(family(&library(folder.path(), "libmpi.so", &source)), Family::Mpich);
}

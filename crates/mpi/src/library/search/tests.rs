use super::*;

/// The files to try where only these files exist.
fn files(around: &Surroundings, there: &[&str]) -> Vec<String> {
    let is_file = |file: &Path| there.iter().any(|one| Path::new(one) == file);
    let is_folder = |folder: &Path| {
        there.iter().any(|one| *one != folder.to_string_lossy() && Path::new(one).starts_with(folder))
    };
    let found = Search::new(around, &is_file, &is_folder).files;
    found.iter().map(|file| file.display().to_string()).collect()
}

fn around(family: Option<Family>, prefixes: &[&str]) -> Surroundings {
    Surroundings { named: None, family, prefixes: prefixes.iter().map(PathBuf::from).collect() }
}

/// The library that is chosen where these are installed, and the dynamic linker finds those without a slash.
fn chosen(around: &Surroundings, there: &[(&str, Family)]) -> Option<String> {
    let is = |file: &Path| there.iter().find(|(one, _)| Path::new(one) == file).map(|(_, family)| *family);
    let search = Search::new(around, &|file| is(file).is_some(), &|_| true);
    let found = search.choose(|file| is(file).ok_or(()), |family| *family);
    found.ok().map(|(file, _)| file.display().to_string())
}

#[test]
fn a_library_of_another_family_comes_last() {
    // srun --mpi=pmi2, with MPICH in LD_LIBRARY_PATH and Open MPI's mpirun in PATH.
    let pmi = around(Some(Family::Mpich), &["/opt/openmpi"]);
    let open_mpi = ("/opt/openmpi/lib/libmpi.so", Family::OpenMpi);
    let mpich = ("libmpi.so.12", Family::Mpich);
    assert_eq!(chosen(&pmi, &[open_mpi, mpich]).as_deref(), Some("libmpi.so.12"));
    assert_eq!(chosen(&pmi, &[open_mpi]).as_deref(), Some("/opt/openmpi/lib/libmpi.so"));
    // The same the other way round.
    let open = around(Some(Family::OpenMpi), &["/opt/mpich"]);
    let found = chosen(&open, &[("/opt/mpich/lib/libmpi.so", Family::Mpich), ("libmpi.so", Family::OpenMpi)]);
    assert_eq!(found.as_deref(), Some("libmpi.so"));
    // The standard's interface may be any MPI's. Without a launcher, and for a named one, any will do.
    let standard = ("/opt/openmpi/lib/libmpi_abi.so.1", Family::Standard);
    assert_eq!(chosen(&pmi, &[standard, mpich]).as_deref(), Some(standard.0));
    assert_eq!(chosen(&around(None, &["/opt/openmpi"]), &[open_mpi, mpich]).as_deref(), Some(open_mpi.0));
    let named = Surroundings { named: Some("/opt/openmpi".into()), ..pmi };
    assert_eq!(chosen(&named, &[open_mpi, mpich]).as_deref(), Some(open_mpi.0));
}

#[test]
fn the_launchers_own_library_comes_first() {
    let there = ["/opt/a/lib/libmpi.so.40", "/usr/lib/libmpi.so.40", "/usr/lib/libmpich.so.12"];
    let found = files(&around(Some(Family::OpenMpi), &["/opt/a", "/usr"]), &there);
    assert_eq!(found[..3], ["/opt/a/lib/libmpi.so.40", "/usr/lib/libmpi.so.40", "libmpi.so.40"]);
    // Where both are in one folder, the family decides.
    let found = files(&around(Some(Family::Mpich), &["/usr"]), &there);
    assert_eq!(found[..3], ["/usr/lib/libmpich.so.12", "libmpi.so.12", "libmpich.so.12"]);
    // Another family is better than nothing, and nothing is tried twice.
    let place = |name: &str| found.iter().position(|file| file == name);
    assert!(place("/usr/lib/libmpi.so.40") > place("libmpi_abi.so.1"), "{found:?}");
    assert_eq!(found.iter().filter(|file| *file == "libmpi.so.12").count(), 1);
}

#[test]
fn without_a_launcher_the_dynamic_linker_looks_for_all() {
    let found = files(&around(None, &[]), &[]);
    for name in [
        "libmpi_abi.so.1",
        "libmpi_abi.so.0",
        "libmpi.so.40",
        "libmpi.so.80",
        "libmpi.so.12",
        "libmpich.so.12",
        "libmpi.so",
    ] {
        assert!(found.iter().any(|file| file == name), "{name}: {found:?}");
    }
    assert_eq!(found[0], "libmpi_abi.so.1");
}

#[test]
fn a_named_library_is_the_only_one() {
    let named = |named: &str, there: &[&str]| {
        files(&Surroundings { named: Some(named.into()), ..around(Some(Family::Mpich), &["/usr"]) }, there)
    };
    let there = ["/opt/a/lib/libmpi.so.12", "/opt/b/libmpi_abi.so.1", "/usr/lib/libmpich.so.12"];
    assert_eq!(named("libmpi.so.40", &there), ["libmpi.so.40"]);
    assert_eq!(named("/nowhere/libmpi.so", &there), ["/nowhere/libmpi.so"]);
    assert_eq!(named("/opt/a", &there), ["/opt/a/lib/libmpi.so.12"]);
    assert_eq!(named("/opt/b", &there), ["/opt/b/libmpi_abi.so.1"]);
}

#[test]
fn launchers_tell_where_they_were_installed() {
    let program = Path::new("/opt/venv/bin/hydra_pmi_proxy");
    assert_eq!(launcher(program), Some(Some(Family::Mpich)));
    assert_eq!(prefix(program).unwrap(), Path::new("/opt/venv"));
    assert_eq!(launcher(Path::new("/usr/bin/mpiexec")), Some(None));
    assert_eq!(launcher(Path::new("/usr/bin/bash")), None);
}

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

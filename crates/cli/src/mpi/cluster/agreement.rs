//! Checks that all members of a cluster have the same program and the same files, and collects their errors, so that
//! no member waits forever for another.

use crate::kernel::{Exit, Failure, Outcome};
use crate::mpi::cluster::gathered;
use serde::{Deserialize, Serialize};
use std::collections::hash_map::DefaultHasher;
use std::ffi::OsString;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use straggler_model::replace::Temporary;
use straggler_sim::cluster::Cluster;

/// The state of one member.
#[derive(Debug, Serialize, Deserialize)]
struct Said {
    /// Its error, with the exit code.
    failure: Option<(u8, String)>,
    program: u64,
    /// A hash of its arguments, without the number of threads.
    arguments: u64,
    /// A hash of each input file; for a large one, of samples of it.
    files: Vec<(PathBuf, u64)>,
}

/// Succeeds only if all members succeed, with the same program and the same input files.
pub fn agreed<T>(cluster: &dyn Cluster, own: Outcome<T>, files: &[PathBuf]) -> Outcome<T> {
    let failure = own.as_ref().err().map(|failure| (failure.exit as u8, failure.error.to_string()));
    let print = |path: &Path| fingerprint(path).unwrap_or_default();
    static PROGRAM: OnceLock<u64> = OnceLock::new();
    let program =
        *PROGRAM.get_or_init(|| std::env::current_exe().map(|path| print(&path)).unwrap_or_default());
    let arguments = arguments(std::env::args_os().skip(1));
    let files = files.iter().map(|path| (path.clone(), print(path))).collect();
    let all = gathered(cluster, &Said { failure, program, arguments, files })?;
    match trouble(&all, &|rank| cluster.name(rank)) {
        Some(failure) => Err(failure),
        None => own,
    }
}

/// Returns why the members cannot continue together, if they cannot.
fn trouble(all: &[Said], name: &dyn Fn(u32) -> String) -> Option<Failure> {
    let first = all.first()?;
    let failed: Vec<_> =
        (0u32..).zip(all).filter_map(|(rank, said)| Some((rank, said.failure.as_ref()?))).collect();
    if let Some((rank, (code, text))) = failed.first() {
        let everywhere = failed.len() == all.len();
        let text = if everywhere { text.clone() } else { format!("{}: {text}", name(*rank)) };
        return Some(Failure::new(exit_of(*code), anyhow::Error::msg(text)));
    }
    for (rank, said) in (0..).zip(all) {
        if said.program != first.program {
            return Some(Failure::bad_input(format!(
                "{} runs a different program than {}: install the same straggler on all nodes",
                name(rank),
                name(0)
            )));
        }
        if said.arguments != first.arguments {
            return Some(Failure::usage(format!(
                "{} was started with different options than {}: only --threads may differ",
                name(rank),
                name(0)
            )));
        }
        let other = said.files.iter().zip(&first.files).find(|(own, first)| own != first);
        if let Some(((path, _), _)) = other {
            return Some(Failure::bad_input(format!(
                "{}: {} reads a different file than {}: give a path that all nodes share, or copy the file to each",
                path.display(),
                name(rank),
                name(0)
            )));
        }
    }
    None
}

/// A hash of all arguments except the number of threads.
fn arguments(all: impl Iterator<Item = OsString>) -> u64 {
    const THREADS: &str = "--threads";
    let mut hasher = DefaultHasher::new();
    let mut skip = false;
    for word in all {
        let of_threads = word == THREADS || word.to_string_lossy().starts_with("--threads=");
        if !of_threads && !skip {
            word.hash(&mut hasher);
        }
        skip = word == THREADS;
    }
    hasher.finish()
}

/// Checks that all members see a file that the first one creates in a folder. All members call it.
pub fn seen_by_all(cluster: &dyn Cluster, folder: &Path) -> Outcome<()> {
    let made = (cluster.rank() == 0).then(|| Temporary::beside(&folder.join("seen-by-all")));
    let told = made.as_ref().map(|made| match made {
        Ok(file) => Ok(file.path().file_name().map(PathBuf::from).unwrap_or_default()),
        Err(_) => Err(format!("cannot write to {}: give another folder", folder.display())),
    });
    let told: Option<Result<PathBuf, String>> = gathered(cluster, &told)?.into_iter().next().flatten();
    let seen = match told {
        Some(Ok(name)) if folder.join(&name).exists() => Ok(()),
        Some(Ok(_)) => Err(Failure::bad_input(format!(
            "{} is not the same folder that {} sees: give one that all nodes share",
            folder.display(),
            cluster.name(0)
        ))),
        Some(Err(fault)) => Err(Failure::bad_input(fault)),
        None => Err(Failure::from(straggler_sim::RunError::Garbled)),
    };
    agreed(cluster, seen, &[])
}

fn exit_of(code: u8) -> Exit {
    [Exit::Usage, Exit::BadInput, Exit::Stuck, Exit::CheckFailed, Exit::Interrupted]
        .into_iter()
        .find(|exit| *exit as u8 == code)
        .unwrap_or(Exit::BadInput)
}

/// Bytes to read per sample, and samples per file.
const LOOK: u64 = 64 << 10;
const LOOKS: u64 = 4096;

/// A hash of the contents: of a small file completely, of a large one in samples, of a folder file by file.
pub fn fingerprint(path: &Path) -> io::Result<u64> {
    let mut hasher = DefaultHasher::new();
    if path.is_dir() {
        let mut entries: Vec<PathBuf> =
            path.read_dir()?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
        entries.sort();
        for entry in entries {
            hasher.write(entry.as_os_str().as_encoded_bytes());
            hasher.write_u64(fingerprint(&entry)?);
        }
        return Ok(hasher.finish());
    }
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    hasher.write_u64(length);
    let step = (length / LOOKS).max(LOOK);
    let mut bytes = Vec::new();
    for place in (0..length).step_by(step as usize) {
        file.seek(SeekFrom::Start(place))?;
        bytes.clear();
        (&mut file).take(LOOK).read_to_end(&mut bytes)?;
        hasher.write(&bytes);
    }
    Ok(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(program: u64, file: u64) -> Said {
        Said { failure: None, program, arguments: 0, files: vec![("a.goal".into(), file)] }
    }

    fn text(all: &[Said]) -> Option<String> {
        trouble(all, &|rank| format!("rank {rank}")).map(|failure| failure.error.to_string())
    }

    #[test]
    fn differences_are_named() {
        assert_eq!(text(&[said(1, 2), said(1, 2)]), None);
        assert!(
            text(&[said(1, 2), said(3, 2)])
                .unwrap()
                .starts_with("rank 1 runs a different program than rank 0")
        );
        assert!(
            text(&[said(1, 2), said(1, 2), said(1, 3)])
                .unwrap()
                .starts_with("a.goal: rank 2 reads a different")
        );
    }

    #[test]
    fn only_threads_may_differ() {
        let of = |line: &str| arguments(line.split(' ').map(OsString::from));
        assert_eq!(of("simulate --threads 2 --seed 1"), of("simulate --seed 1 --threads=16"));
        assert_ne!(of("simulate --seed 1"), of("simulate --seed 2"));
        let other = Said { arguments: 1, ..said(1, 2) };
        assert!(text(&[said(1, 2), other]).unwrap().starts_with("rank 1 was started with different options"));
    }

    #[test]
    fn a_folder_of_its_own_is_no_shared_one() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let seen = |same: bool| {
            straggler_sim::cluster::on_threads(2, |member| {
                let place = if same { 0 } else { member.rank() as usize };
                seen_by_all(member, folders[place].path()).map_err(|failure| failure.error.to_string())
            })
        };
        assert!(seen(true).iter().all(Result::is_ok));
        let apart = seen(false);
        assert!(
            apart.iter().all(|seen| seen.as_ref().is_err_and(|text| text.contains("that all nodes share"))),
            "{apart:?}"
        );
    }

    #[test]
    fn a_failure_of_one_is_told_with_its_rank() {
        let failed = || Said { failure: Some((3, "a.goal: not there".into())), ..said(1, 2) };
        let failure = trouble(&[said(1, 2), failed()], &|rank| format!("rank {rank}")).unwrap();
        assert_eq!(
            (failure.exit, failure.error.to_string()),
            (Exit::BadInput, "rank 1: a.goal: not there".into())
        );
        assert_eq!(text(&[failed(), failed()]).unwrap(), "a.goal: not there");
    }

    #[test]
    fn fingerprints_see_a_changed_byte() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for length in [0usize, 1, 100_000, 8 << 20] {
            std::fs::write(&path, vec![7; length]).unwrap();
            let (file, folder_before) = (fingerprint(&path).unwrap(), fingerprint(folder.path()).unwrap());
            assert_eq!(file, fingerprint(&path).unwrap());
            let mut changed = vec![7; length + usize::from(length == 0)];
            changed[length / 2] = 8;
            std::fs::write(&path, changed).unwrap();
            assert_ne!(file, fingerprint(&path).unwrap(), "{length}");
            assert_ne!(folder_before, fingerprint(folder.path()).unwrap());
        }
    }
}

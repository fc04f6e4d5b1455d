//! Files that are given more than once.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// Two of the paths that name the same file.
pub fn given_twice(paths: &[PathBuf]) -> Option<(PathBuf, PathBuf)> {
    let mut files: BTreeMap<PathBuf, &PathBuf> = BTreeMap::new();
    for other in paths {
        // A missing file is reported when it is read.
        let Ok(file) = other.canonicalize() else { continue };
        if let Some(path) = files.insert(file, other) {
            return Some((path.clone(), other.clone()));
        }
    }
    None
}

/// `, also as b.json`, if the names differ.
pub fn also_as(path: &Path, other: &Path) -> String {
    if path == other { String::new() } else { format!(", also as {}", other.display()) }
}

/// Whether two files have the same contents.
pub fn are_copies(one: &Path, other: &Path) -> bool {
    let (Ok(one), Ok(other)) = (File::open(one), File::open(other)) else { return false };
    let length = |file: &File| file.metadata().ok().map(|of| of.len());
    let bytes = |file: File| BufReader::with_capacity(1 << 16, file).bytes().map(Result::ok);
    length(&one).is_some()
        && length(&one) == length(&other)
        && bytes(one).zip(bytes(other)).all(|(one, other)| one.is_some() && one == other)
}

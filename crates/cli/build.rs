//! Lists the files that `straggler tools examples` writes, so that the program contains them.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Folders of `bundled`, which links to those of the repository. The other fixtures are only for tests.
const FOLDERS: [&str; 9] = [
    "examples",
    "fixtures/conformance",
    "fixtures/latency",
    "fixtures/networks",
    "fixtures/noise",
    "fixtures/resampling",
    "fixtures/traces",
    "fixtures/training",
    "fixtures/whatif",
];

fn main() {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("bundled");
    let mut files = Vec::new();
    for folder in FOLDERS {
        println!("cargo::rerun-if-changed={}", root.join(folder).display());
        list(&root.join(folder), &mut files);
    }
    files.sort();
    let entry = |path: &PathBuf| {
        let name = path.strip_prefix(&root).unwrap();
        format!("    ({:?}, include_bytes!({:?})),\n", name, path)
    };
    let entries: String = files.iter().map(entry).collect();
    let to = Path::new(&env::var("OUT_DIR").unwrap()).join("examples.rs");
    fs::write(to, format!("&[\n{entries}]\n")).unwrap();
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { list(&path, files) } else { files.push(path) }
    }
}

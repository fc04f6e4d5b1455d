//! Damaged archives: errors name the file and the byte, and nothing panics.

use super::small;
use std::fs;
use std::path::{Path, PathBuf};
use straggler_formats::otf2::{self, Otf2Error};

struct Copy {
    directory: tempfile::TempDir,
    files: Vec<PathBuf>,
}

impl Copy {
    fn new() -> Copy {
        let directory = tempfile::tempdir().unwrap();
        let from = small().parent().unwrap().to_owned();
        let mut files: Vec<PathBuf> = ["small.otf2", "small.def"].map(PathBuf::from).into();
        files.extend(
            (0..4).flat_map(|location| ["def", "evt"].map(|end| format!("small/{location}.{end}").into())),
        );
        fs::create_dir(directory.path().join("small")).unwrap();
        for file in &files {
            fs::copy(from.join(file), directory.path().join(file)).unwrap();
        }
        Copy { directory, files }
    }

    fn path(&self, file: &Path) -> PathBuf {
        self.directory.path().join(file)
    }

    fn read(&self) -> Result<straggler_trace::Trace, Otf2Error> {
        otf2::read(&self.path(Path::new("small.otf2")))
    }
}

/// The byte that an error names, which must be in the file it names or just behind its end.
fn offset(error: &Otf2Error) -> Option<u64> {
    let Otf2Error::Malformed { path, offset, .. } = error else { return None };
    let length = fs::metadata(path).unwrap().len();
    assert!(*offset <= length, "{error}: the file has {length} bytes");
    Some(*offset)
}

#[test]
fn truncations_are_found() {
    let copy = Copy::new();
    for file in &copy.files {
        let path = copy.path(file);
        let whole = fs::read(&path).unwrap();
        // The end mark is not needed; nor is, in the anchor, the archive's identifier and everything after it.
        let needed = whole.len() - if file.ends_with("small.otf2") { 19 } else { 1 };
        for length in (0..needed).step_by(3).chain(needed.saturating_sub(12)..needed) {
            fs::write(&path, &whole[..length]).unwrap();
            let error = copy.read().expect_err("a truncated file");
            let text = error.to_string();
            assert!(text.starts_with(path.to_str().unwrap()), "{text}");
            assert!(offset(&error).is_some(), "{length}: {text}");
        }
        fs::write(&path, &whole).unwrap();
    }
    copy.read().unwrap();
}

#[test]
fn changed_bytes_never_make_it_panic() {
    let copy = Copy::new();
    let (mut errors, mut traces) = (0, 0);
    for file in &copy.files {
        let path = copy.path(file);
        let whole = fs::read(&path).unwrap();
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= [0x01, 0xff, 0x10, 0x80][place % 4];
            fs::write(&path, &damaged).unwrap();
            match copy.read() {
                Ok(_) => traces += 1,
                Err(error) => {
                    let text = error.to_string();
                    errors += 1;
                    assert!(text.starts_with(copy.directory.path().to_str().unwrap()), "{text}");
                    offset(&error);
                }
            }
        }
        fs::write(&path, &whole).unwrap();
    }
    assert!(errors > 300 && traces > 300, "{errors} errors, {traces} traces");
}

#[test]
fn missing_files_are_named() {
    let copy = Copy::new();
    fs::remove_file(copy.path(Path::new("small/3.evt"))).unwrap();
    let error = copy.read().unwrap_err();
    assert!(matches!(error, Otf2Error::NoEvents { rank: 2, location: 3, .. }), "{error}");
    fs::remove_file(copy.path(Path::new("small.def"))).unwrap();
    assert!(copy.read().unwrap_err().to_string().contains("small.def: cannot be read"));
}

#[test]
fn what_we_cannot_read_is_refused_with_the_mend() {
    // The substrate and the compression are bytes 28 and 29 of the anchor.
    for (place, words) in [(28, ["SIONlib", "POSIX"]), (29, ["compressed", "OTF2_COMPRESSION_NONE"])] {
        let copy = Copy::new();
        let path = copy.path(Path::new("small.otf2"));
        let mut bytes = fs::read(&path).unwrap();
        assert_eq!(bytes[place], 1);
        bytes[place] = 2;
        fs::write(&path, &bytes).unwrap();
        let text = copy.read().unwrap_err().to_string();
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    }
    let error = otf2::read(&small().with_extension("def")).unwrap_err();
    assert!(error.to_string().contains("is not an OTF2 anchor file"), "{error}");
}

//! Files of a job: which there are, what format each has, and their bytes.

use super::ImportError;
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Kineto,
    Chakra,
    Execution,
    Inspector,
}

impl Format {
    pub fn name(self) -> &'static str {
        match self {
            Format::Kineto => "a PyTorch profiler trace",
            Format::Chakra => "a Chakra trace",
            Format::Execution => "a PyTorch execution trace",
            Format::Inspector => "a NCCL Inspector log",
        }
    }
}

/// As much of a file as tells its format; descriptions of GPUs may come first.
const HEAD: u64 = 256 * 1024;

/// The files themselves; those of a folder in order of their names. Hidden files are left out.
pub fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, ImportError> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let io = |source| ImportError::Io { path: path.clone(), source };
        let (mut inside, mut folders) = (Vec::new(), Vec::new());
        for entry in std::fs::read_dir(path).map_err(io)? {
            let entry = entry.map_err(io)?;
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            if entry.path().is_file() && !hidden {
                inside.push(entry.path());
            } else if entry.path().is_dir() && !hidden {
                folders.push(entry.path());
            }
        }
        if inside.is_empty() {
            return Err(match folders.into_iter().min() {
                Some(first) => ImportError::OnlyFolders { path: path.clone(), first },
                None => ImportError::EmptyFolder { path: path.clone() },
            });
        }
        inside.sort();
        files.append(&mut inside);
    }
    if files.is_empty() { Err(ImportError::NoFiles) } else { Ok(files) }
}

/// The bytes of a file, unpacked where it is compressed.
pub fn open(path: &Path) -> Result<Box<dyn Read + Send>, ImportError> {
    let io = |source| ImportError::Io { path: path.into(), source };
    let mut file = File::open(path).map_err(io)?;
    let mut magic = Vec::new();
    (&mut file).take(2).read_to_end(&mut magic).map_err(io)?;
    let packed = magic == [0x1f, 0x8b];
    let whole = Cursor::new(magic).chain(file);
    Ok(match packed {
        true => Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 18, whole))),
        false => Box::new(whole),
    })
}

/// Finds out the format from how the content begins.
pub fn format(path: &Path) -> Result<Format, ImportError> {
    let mut head = Vec::new();
    // A compressed file that is cut short still shows its head.
    let result = open(path)?.take(HEAD).read_to_end(&mut head);
    if let (Err(source), true) = (result, head.is_empty()) {
        return Err(ImportError::Io { path: path.into(), source });
    }
    format_of(&head).ok_or_else(|| ImportError::Unknown { path: path.into() })
}

fn format_of(head: &[u8]) -> Option<Format> {
    let has = |word: &str| head.windows(word.len()).any(|at| at == word.as_bytes());
    let first = head.iter().find(|byte| !byte.is_ascii_whitespace())?;
    if *first == b'{' {
        if has("\"coll_perf\"") || has("\"p2p_perf\"") {
            return Some(Format::Inspector);
        }
        if has("\"traceEvents\"") || has("\"schemaVersion\"") {
            return Some(Format::Kineto);
        }
        if has("\"nodes\"") && has("\"schema\"") {
            return Some(Format::Execution);
        }
    }
    super::chakra::begins(head).then_some(Format::Chakra)
}

/// The rank that a file's name tells: the number after `rank` or `worker`, or else the last number that stands
/// by itself, as in `trace.3.et`.
pub fn rank_in_name(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    for word in ["rank", "worker"] {
        if let Some(at) = name.find(word) {
            let rest = name[at + word.len()..].trim_start_matches(['_', '-', '.', '=']);
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            if let Ok(rank) = rest[..digits].parse() {
                return Some(rank);
            }
        }
    }
    // Larger numbers are times and process ids.
    name.split(|c: char| !c.is_alphanumeric())
        .rev()
        .filter(|part| part.len() <= 6)
        .find_map(|part| part.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_ranks() {
        let rank = |name: &str| rank_in_name(Path::new(name));
        assert_eq!(rank("worker3_step_12.1694128201545.pt.trace.json"), Some(3));
        assert_eq!(rank("rank-12.json.gz"), Some(12));
        assert_eq!(rank("custom_allreduce.7.et"), Some(7));
        assert_eq!(rank("dlrm_eg_5.json"), Some(5));
        assert_eq!(rank("resnet_2gpu_et.json.gz"), None);
    }
}

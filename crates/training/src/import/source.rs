//! The files of a job: their list, formats and bytes.

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
            Format::Inspector => "an NCCL Inspector log",
        }
    }
}

/// The byte order mark of UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The bytes needed to detect the format. Descriptions of GPUs may come first.
const HEAD: u64 = 256 * 1024;

/// The given files, and the files of given folders in order of name. Hidden files are skipped.
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

/// The bytes of a file, decompressed if necessary.
pub fn open(path: &Path) -> Result<Box<dyn Read + Send>, ImportError> {
    let io = |source| ImportError::Io { path: path.into(), source };
    let mut file = File::open(path).map_err(io)?;
    let mut magic = Vec::new();
    (&mut file).take(2).read_to_end(&mut magic).map_err(io)?;
    let packed = magic == [0x1f, 0x8b];
    let whole = Cursor::new(magic).chain(file);
    Ok(match packed {
        true => Box::new(without_mark(MultiGzDecoder::new(BufReader::with_capacity(1 << 18, whole)))),
        false => Box::new(without_mark(whole)),
    })
}

/// A text without its byte order mark. A read error is returned by the next read.
fn without_mark(mut text: impl Read) -> impl Read {
    let mut begin = Vec::new();
    let result = (&mut text).take(MARK.len() as u64).read_to_end(&mut begin);
    if begin == MARK {
        begin.clear();
    }
    Cursor::new(begin).chain(Failed(result.err())).chain(text)
}

/// Returns an error once, then end of file.
struct Failed(Option<std::io::Error>);

impl Read for Failed {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// Detects the format from the beginning of the contents.
pub fn format(path: &Path) -> Result<Format, ImportError> {
    let mut head = Vec::new();
    // A truncated compressed file still has a readable head.
    let result = open(path)?.take(HEAD).read_to_end(&mut head);
    if let (Err(source), true) = (result, head.is_empty()) {
        return Err(ImportError::Io { path: path.into(), source });
    }
    if head.is_empty() {
        return Err(ImportError::EmptyFile { path: path.into() });
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

/// The rank in a file's name: the number after `rank` or `worker`, or else the last separate number, as in `trace.3.et`.
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
    // Larger numbers are timestamps and process ids.
    name.split(|c: char| !c.is_alphanumeric())
        .rev()
        .filter(|part| part.len() <= 6)
        .find_map(|part| part.parse().ok())
}

/// The host in the name of a file that PyTorch's `tensorboard_trace_handler` wrote: `n17_4711.1700000000123.pt.trace.json`, with
/// the number of the process and the time.
pub fn host_in_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let (worker, time) = name.split_once(".pt.trace.json")?.0.rsplit_once('.')?;
    let (host, process) = worker.rsplit_once('_')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(time) && is_number(process) && !host.is_empty()).then(|| host.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_in_the_names_that_pytorch_gives() {
        let host = |name: &str| host_in_name(Path::new(name));
        assert_eq!(
            host("gpu-n17.cluster_4711.1700000000123.pt.trace.json.gz").as_deref(),
            Some("gpu-n17.cluster")
        );
        assert_eq!(host("n_1_22.17.pt.trace.json").as_deref(), Some("n_1"));
        assert_eq!([host("rank-3.json"), host("rank0.17.pt.trace.json")], [None, None]);
    }

    #[test]
    fn a_byte_order_mark_is_passed_over() {
        let read = |bytes: &'static [u8]| {
            let mut text = String::new();
            without_mark(bytes).read_to_string(&mut text).map(|_| text)
        };
        assert_eq!(read(b"\xef\xbb\xbf{\"traceEvents\": []}").unwrap(), "{\"traceEvents\": []}");
        assert_eq!(read(b"{}").unwrap(), "{}");
        assert_eq!(read(b"").unwrap(), "");
        let mut failing = without_mark(Failed(Some(std::io::Error::other("no"))));
        assert!(failing.read(&mut [0; 8]).is_err());
    }

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

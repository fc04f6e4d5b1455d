//! Everything that straggler reads, for the fuzz targets beside this file and for an ordinary test of a few seconds
//! (`crates/cli/tests/cli/readers.rs`). A reader may refuse what it gets, but it neither panics nor asks for memory without
//! bound, also not if somebody has repaired the checksum after a change.

#[path = "readers/checkpoint.rs"]
mod checkpoint;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use straggler_analysis::study::{Batch, Journal, Study};
use straggler_formats::import;
use straggler_model::{Network, Time, latency, samples};
use straggler_noise::format::{self as noise, Format, FormatOptions};
use straggler_report::page::{Chart, Line, Lines, Page, Section};
use straggler_report::{finish_times, study_results};
use straggler_schedule::collectives::Selector;
use straggler_schedule::goal;
use straggler_trace::format::directory;
use straggler_training::synthetic::{Synthetic, rows};
use straggler_training::{Kineto, Meta, read_job, read_table};

/// A kind of file.
pub struct Reader {
    pub name: &'static str,
    /// Files of the repository to begin with, or folders of them.
    places: &'static [&'static str],
    /// Further ones.
    more: fn() -> Vec<(&'static str, Vec<u8>)>,
    /// Whether the files of a folder belong together.
    is_folder: bool,
    /// Reads a file; errors are fine.
    pub read: fn(&Path),
    seal: Option<Seal>,
}

/// What a checksum protects, and a file with it and the right checksum.
#[derive(Clone, Copy)]
struct Seal {
    open: fn(&[u8]) -> Option<Vec<u8>>,
    close: fn(&[u8]) -> Vec<u8>,
}

/// A file to begin with, and the files beside it that are read with it.
pub struct Seed {
    pub name: PathBuf,
    pub bytes: Vec<u8>,
    beside: Vec<(PathBuf, Vec<u8>)>,
}

const NONE: Reader =
    Reader { name: "", places: &[], more: Vec::new, is_folder: false, read: |_| (), seal: None };

pub const READERS: &[Reader] = &[
    Reader { name: "allprof", places: &["fixtures/traces/allprof"], is_folder: true, read: import, ..NONE },
    Reader {
        name: "checkpoint",
        more: checkpoint::seeds,
        read: |path| bytes(path, checkpoint::read),
        ..NONE
    },
    Reader { name: "dumpi", places: &["fixtures/traces/dumpi"], is_folder: true, read: import, ..NONE },
    Reader {
        name: "finish-times",
        places: &["fixtures/parquet/earlier/finish.parquet"],
        read: |path| drop(finish_times::read(path)),
        seal: Some(TABLE),
        ..NONE
    },
    Reader {
        name: "goal",
        places: &[
            "fixtures/conformance/eager-00.bin",
            "fixtures/conformance/irequires-03.bin",
            "fixtures/conformance/rendezvous-01.goal",
            "fixtures/conformance/wildcard-01.goal",
        ],
        read: |path| bytes(path, |bytes| drop(goal::parse(bytes))),
        ..NONE
    },
    Reader { name: "journal", more: journals, read: journal, seal: Some(JOURNAL), ..NONE },
    Reader { name: "kineto", more: profiles, read: job, seal: Some(GZIP), ..NONE },
    Reader {
        name: "latencies",
        places: &["fixtures/latency/before.lat", "fixtures/latency/peers.lat"],
        read: |path| bytes(path, |bytes| drop(latency::from_bytes(bytes))),
        ..NONE
    },
    Reader {
        name: "meta",
        places: &["fuzz/seeds/meta.yaml"],
        read: |path| text(path, |text| drop(Meta::parse(text))),
        ..NONE
    },
    Reader {
        name: "network",
        places: &["fixtures/networks"],
        read: |path| text(path, |text| drop(Network::from_toml(text))),
        ..NONE
    },
    Reader {
        name: "noise",
        places: &["fixtures/noise"],
        more: recordings,
        read: |path| bytes(path, |bytes| drop(noise::read(bytes, None, &FormatOptions::default()))),
        seal: Some(CRC_AT_THE_END),
        ..NONE
    },
    Reader {
        name: "otf2",
        places: &["fixtures/traces/otf2/small", "fixtures/traces/otf2/small/small"],
        is_folder: true,
        read: import,
        ..NONE
    },
    Reader {
        name: "page",
        more: pages,
        read: |path| bytes(path, |bytes| drop(Page::from_container(bytes))),
        seal: Some(GZIP),
        ..NONE
    },
    Reader {
        name: "recordings",
        places: &["fuzz/seeds/chakra.0.et", "fuzz/seeds/execution.json", "fuzz/seeds/inspector.log"],
        read: job,
        ..NONE
    },
    Reader {
        name: "samples",
        places: &["fixtures/resampling/uninterrupted.txt"],
        read: |path| bytes(path, |bytes| drop(samples::parse(bytes, None))),
        ..NONE
    },
    Reader {
        name: "selector",
        places: &["crates/schedule/src/collectives/selector/presets"],
        read: |path| text(path, |text| drop(Selector::parse(text, "a table"))),
        ..NONE
    },
    Reader { name: "simgrid", places: &["fixtures/traces/simgrid"], is_folder: true, read: import, ..NONE },
    Reader {
        name: "study",
        places: &["examples/studies"],
        read: |path| text(path, |text| drop(Study::parse(text))),
        ..NONE
    },
    Reader {
        name: "study-results",
        places: &["fixtures/parquet/earlier/results.parquet"],
        read: |path| drop(study_results::read(path)),
        seal: Some(TABLE),
        ..NONE
    },
    Reader {
        name: "table",
        places: &["fixtures/training/by-hand.csv", "fixtures/parquet/operations.pandas.parquet"],
        more: tables,
        read: |path| drop(read_table(path)),
        seal: Some(TABLE),
        ..NONE
    },
    Reader {
        name: "trace",
        places: &["fixtures/traces/halo", "fixtures/traces/regions"],
        is_folder: true,
        read: |path| drop(directory::open(path.parent().unwrap_or(path))),
        ..NONE
    },
];

fn bytes(path: &Path, read: impl FnOnce(&[u8])) {
    read(&fs::read(path).expect("the file was written"));
}

fn text(path: &Path, read: impl FnOnce(&str)) {
    bytes(path, |bytes| read(&String::from_utf8_lossy(bytes)));
}

/// A trace of another program: the folder of the changed file, or of the archive that it belongs to.
fn import(path: &Path) {
    let options = import::Options::default();
    path.ancestors().skip(1).take(2).for_each(|folder| drop(import::read(folder, &options)));
}

fn job(path: &Path) {
    drop(read_job(&[path.into()]));
}

fn journal(path: &Path) {
    drop(Journal::open(path, "a study\n", false));
}

fn journals() -> Vec<(&'static str, Vec<u8>)> {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("journal");
    let mut opened = Journal::open(&path, "a study\n", false).expect("a journal can be made");
    for task in 0..3 {
        let batch = Batch { task, first: 0, micros: 77, makespans: vec![Time(5), Time(u64::from(task))] };
        opened.journal.append(&batch).expect("a batch can be written");
    }
    vec![("journal", fs::read(&path).expect("the journal is there"))]
}

fn small_job() -> Synthetic {
    Synthetic { dp: 2, pp: 2, microbatches: 2, steps: 2, ..Synthetic::default() }
}

fn profiles() -> Vec<(&'static str, Vec<u8>)> {
    let (rows, mut plain, mut packed) = (rows(&small_job()), Vec::new(), Vec::new());
    let job = Kineto::new(&rows, true);
    job.write(0, &mut plain).expect("memory can be written");
    job.write_packed(0, &mut packed).expect("memory can be written");
    vec![("rank-0.json", plain), ("rank-0.json.gz", packed)]
}

fn tables() -> Vec<(&'static str, Vec<u8>)> {
    let mut table = Vec::new();
    straggler_training::write_parquet(&rows(&small_job()), true, &mut table).expect("memory can be written");
    vec![("job.parquet", table)]
}

fn pages() -> Vec<(&'static str, Vec<u8>)> {
    let line = Line { name: "a".into(), x: vec![1.0, 2.0], y: vec![3.0, 4.0], ..Line::default() };
    let mut section = Section::new("one");
    section.add(Chart::new("chart", "straggler", Lines { series: vec![line], ..Lines::default() }));
    let page = Page { title: "page".into(), sections: vec![section], ..Page::default() };
    vec![("a.page", page.to_container())]
}

fn recordings() -> Vec<(&'static str, Vec<u8>)> {
    let text = fs::read(repository().join("fixtures/noise/selfish.0")).expect("the fixture is there");
    let (recording, _) = noise::read(&text, None, &FormatOptions::default()).expect("the fixture is valid");
    let written = noise::write(&recording, Format::Straggler).expect("it can be written");
    written.files.into_iter().map(|file| ("a.noise", file.bytes)).collect()
}

/// Four bytes at the end of a file.
const CRC_AT_THE_END: Seal = Seal {
    open: |file| file.split_last_chunk::<4>().map(|(body, _)| body.to_vec()),
    close: |body| [body, &crc32fast::hash(body).to_le_bytes()].concat(),
};

const GZIP: Seal = Seal {
    open: |file| {
        let mut body = Vec::new();
        GzDecoder::new(file).read_to_end(&mut body).ok()?;
        Some(body)
    },
    close: |body| {
        let mut file = GzEncoder::new(Vec::new(), Compression::fast());
        file.write_all(body).and_then(|()| file.finish()).expect("memory can be written")
    },
};

/// The digits in the footer of Parquet tables of straggler.
const TABLE: Seal = Seal {
    open: |file| Some(file.to_vec()),
    close: |body| {
        let key = b"straggler.crc32";
        let mut file = body.to_vec();
        let digits = file.windows(key.len()).rposition(|part| part == key).map(|at| at + key.len() + 2);
        if let Some(digits) = digits.filter(|digits| digits + 8 <= file.len()) {
            let sum = crc32fast::hash(&[&file[..digits], &file[digits + 8..]].concat());
            file[digits..digits + 8].copy_from_slice(format!("{sum:08x}").as_bytes());
        }
        file
    },
};

/// After the header of a journal, and after each record.
const JOURNAL: Seal = Seal {
    open: |file| Some(file.to_vec()),
    close: |body| {
        let mut file = body.to_vec();
        let number = |file: &[u8], at: usize| {
            let bytes = file.get(at..at + 4)?.try_into().ok()?;
            Some(u32::from_le_bytes(bytes) as usize)
        };
        let mut begin = 0;
        let mut end = number(&file, 20).map(|length| 24 + length);
        while let Some(at) = end.filter(|at| at + 4 <= file.len()) {
            let sum = crc32fast::hash(&file[begin..at]);
            file[at..at + 4].copy_from_slice(&sum.to_le_bytes());
            begin = at + 4;
            end = number(&file, begin + 12).map(|count| begin + 24 + 8 * count);
        }
        file
    },
};

/// Where the fixtures are.
fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = here.ancestors().find(|folder| folder.join("fixtures").is_dir());
    found.expect("the fixtures are in the repository").into()
}

/// Larger files take longer and find no more.
const LARGEST_SEED: u64 = 1 << 16;

impl Reader {
    pub fn seeds(&self) -> Vec<Seed> {
        let mut seeds = Vec::new();
        for place in self.places.iter().map(|place| repository().join(place)) {
            let files = if place.is_dir() { files_in(&place) } else { vec![place.clone()] };
            let root = if place.is_dir() && self.is_folder {
                archive_of(&place)
            } else {
                place.parent().expect("a folder").into()
            };
            let beside = if self.is_folder { all_files_in(&root) } else { Vec::new() };
            let named = |path: &PathBuf| path.strip_prefix(&root).expect("it is in there").to_path_buf();
            let read = |path: &PathBuf| (named(path), fs::read(path).expect("the seed can be read"));
            for file in files {
                let (name, bytes) = read(&file);
                let beside = beside.iter().filter(|other| **other != file).map(read).collect();
                seeds.push(Seed { name, bytes, beside });
            }
        }
        let more = (self.more)().into_iter();
        seeds.extend(more.map(|(name, bytes)| Seed { name: name.into(), bytes, beside: Vec::new() }));
        assert!(!seeds.is_empty(), "{} has no seeds", self.name);
        seeds
    }

    /// Reads a changed seed, also with the right checksum.
    pub fn read_changed(&self, seed: &Seed, change: &mut dyn FnMut(&[u8]) -> Vec<u8>) {
        let folder = tempfile::Builder::new().tempdir_in(memory()).expect("a temporary folder can be made");
        let put = |name: &Path, bytes: &[u8]| {
            let path = folder.path().join("seed").join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder can be made");
            fs::write(&path, bytes).expect("a file can be written");
            path
        };
        seed.beside.iter().for_each(|(name, bytes)| drop(put(name, bytes)));
        (self.read)(&put(&seed.name, &change(&seed.bytes)));
        if let Some(Seal { open, close }) = self.seal
            && let Some(body) = open(&seed.bytes)
        {
            (self.read)(&put(&seed.name, &close(&change(&body))));
        }
    }
}

/// A folder in memory, if the system has one.
fn memory() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.into() } else { std::env::temp_dir() }
}

/// Files that are not too large, without descriptions of them.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder of seeds is there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    let is_seed = |path: &Path| {
        let is_other =
            path.extension().is_some_and(|ending| ["md", "py", "c"].iter().any(|other| ending == *other));
        path.metadata().is_ok_and(|about| about.is_file() && about.len() <= LARGEST_SEED) && !is_other
    };
    files.retain(|path| is_seed(path));
    files.sort();
    files
}

/// The folder with the anchor of an archive, for a folder that holds only some of its files.
fn archive_of(folder: &Path) -> PathBuf {
    let parent = folder.parent().expect("a folder");
    let has_anchor = |folder: &Path| {
        files_in(folder).iter().any(|file| file.extension().is_some_and(|ending| ending == "otf2"))
    };
    if has_anchor(parent) { parent.into() } else { folder.into() }
}

fn all_files_in(folder: &Path) -> Vec<PathBuf> {
    let mut files = files_in(folder);
    let entries = fs::read_dir(folder).expect("the folder of seeds is there").flatten();
    files.extend(entries.filter(|entry| entry.path().is_dir()).flat_map(|entry| all_files_in(&entry.path())));
    files
}

/// Reads the bytes of a fuzzer in place of a seed: the first selects it.
#[allow(dead_code, reason = "only the fuzz targets call it")]
pub fn fuzz(name: &str, bytes: &[u8]) {
    let reader = READERS.iter().find(|reader| reader.name == name).expect("there is a reader of this name");
    let Some((&first, rest)) = bytes.split_first() else { return };
    let seeds = reader.seeds();
    reader.read_changed(&seeds[usize::from(first) % seeds.len()], &mut |_| rest.to_vec());
}

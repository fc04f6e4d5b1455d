//! A folder that holds the newest checkpoint of a run.
//!
//! ```text
//! DIR/straggler-checkpoint   marks the folder as ours, and says whether we made it
//! DIR/checkpoint.json        the simulation, its position and the folder of its blocks; written last, after all blocks
//! DIR/window-W/part-B.bin    the blocks of one thread from block B on, before window W
//! ```
//!
//! Nothing else is ever removed: a folder without the mark must be empty, and in a marked one only these names are ours.

use crate::kernel::prelude::*;
use crate::{kernel::pages::make_folder, simulate::plan::CheckpointPlan};
use std::io::{self, BufWriter, Write};
use std::sync::{Mutex, PoisonError};
use std::{collections::HashMap, ffi::OsStr, fs::File, time::Duration};
use straggler_sim::checkpoint::{Checkpoints, Position, Record, index};

const HEAD: &str = "checkpoint.json";
const MARK: &str = "straggler-checkpoint";
const MADE: &str =
    "Checkpoints of straggler, which made this folder and removes it when the run has finished.\n";
const FOUND: &str = "Checkpoints of straggler, which removes them when the run has finished.\n";
const VERSION: u32 = 3;

/// The header of a checkpoint.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    version: u32,
    simulation: Identity,
    position: Position,
}

/// Identifies a simulation: everything that its results depend on, by name.
pub type Identity = Vec<(String, String)>;

#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    every: Duration,
    simulation: Identity,
    last: Mutex<Instant>,
    begin: Option<Begin>,
}

/// The state from which a run resumes.
#[derive(Debug)]
struct Begin {
    position: Position,
    files: Vec<Mutex<File>>,
    /// For each block, its file and its position in the file.
    blocks: HashMap<u32, (usize, Record)>,
}

fn folder_of(path: &Path, window: u64) -> PathBuf {
    path.join(format!("window-{window}"))
}

/// The window of one of our folders.
fn window_of(name: &OsStr) -> Option<u64> {
    let window = name.to_str()?.strip_prefix("window-")?.parse().ok()?;
    (*name == *format!("window-{window}")).then_some(window)
}

/// Whether a file in such a folder is one of ours.
fn is_part(name: &OsStr) -> bool {
    let block =
        name.to_str().and_then(|name| name.strip_prefix("part-")?.strip_suffix(".bin")?.parse::<u32>().ok());
    block.is_some_and(|block| *name == *format!("part-{block}.bin"))
}

/// Makes the folder, or takes an empty one, and marks it; refuses one with anything else in it.
fn claim(path: &Path) -> Outcome<()> {
    let made = !path.exists();
    make_folder(path)?;
    let mark = path.join(MARK);
    let unreadable = |fault: io::Error| Failure::bad_input(format!("{}: {fault}", path.display()));
    if mark.exists() || path.join(HEAD).exists() {
        return Ok(());
    }
    // The members of a cluster claim it at the same time.
    let mut names = std::fs::read_dir(path).map_err(unreadable)?.flatten().map(|entry| entry.file_name());
    if let Some(other) = names.find(|name| name != MARK) {
        return Err(Failure::usage(format!(
            "{} is not empty and holds no checkpoint: it has {}. Name a new folder",
            path.display(),
            Path::new(&other).display()
        )));
    }
    match File::create_new(&mark)
        .and_then(|mut file| file.write_all(if made { MADE } else { FOUND }.as_bytes()))
    {
        Err(fault) if fault.kind() != io::ErrorKind::AlreadyExists => Err(unreadable(fault)),
        _ => Ok(()),
    }
}

impl Folder {
    /// Opens a folder for the checkpoints of a simulation, and finds the one to resume from.
    pub fn open(plan: &CheckpointPlan, simulation: Identity) -> Outcome<Folder> {
        claim(&plan.folder)?;
        let path = plan.folder.clone();
        let head = read_head(&path.join(HEAD))?;
        let begin = match head {
            None => None,
            Some(head) if !plan.resume => {
                return Err(Failure::usage(format!(
                    "{} holds a checkpoint at {} of simulated time: add --resume to continue from it, or remove the folder",
                    path.display(),
                    Time(head.position.simulated_ps)
                )));
            }
            Some(head) if head.simulation != simulation => {
                return Err(Failure::bad_input(format!(
                    "{} holds a checkpoint of another simulation: {}. Use the same options, or another folder",
                    path.display(),
                    difference(&head.simulation, &simulation)
                )));
            }
            Some(head) => Some(Begin::read(&folder_of(&path, head.position.window), head.position).map_err(
                |fault| {
                    Failure::bad_input(format!(
                        "{}: the checkpoint cannot be read: {fault}. Remove the folder to start over",
                        path.display()
                    ))
                },
            )?),
        };
        Ok(Folder { path, every: plan.every, simulation, last: Mutex::new(Instant::now()), begin })
    }

    /// Removes incomplete files of a killed run. One member of a cluster does it, before any member writes.
    pub fn clean(&self) {
        self.remove_but(self.begin.as_ref().map(|begin| begin.position.window));
    }

    /// Removes the checkpoints when the run is complete.
    pub fn finish(&self) {
        let _ = std::fs::remove_file(self.path.join(HEAD));
        self.remove_but(None);
        let mark = self.path.join(MARK);
        let made = std::fs::read(&mark).is_ok_and(|text| text == MADE.as_bytes());
        let _ = std::fs::remove_file(mark);
        if made {
            // Fails if other files are in the folder, which then stays.
            let _ = std::fs::remove_dir(&self.path);
        }
    }

    /// Removes the blocks of other checkpoints. Leftover blocks do no harm.
    fn remove_but(&self, window: Option<u64>) {
        let entries = |path: &Path| std::fs::read_dir(path).into_iter().flatten().flatten();
        for folder in entries(&self.path) {
            let found = window_of(&folder.file_name());
            if found.is_none() || found == window {
                continue;
            }
            for part in entries(&folder.path()).filter(|part| is_part(&part.file_name())) {
                let _ = std::fs::remove_file(part.path());
            }
            // Fails if other files are in it.
            let _ = std::fs::remove_dir(folder.path());
        }
    }
}

/// The first parameter in which two simulations differ.
fn difference(there: &Identity, here: &Identity) -> String {
    match there.iter().zip(here).find(|(there, here)| there != here) {
        Some(((name, there), (_, here))) => format!("in the checkpoint {name} is {there}, here it is {here}"),
        None => "its parameters differ".into(),
    }
}

fn read_head(path: &Path) -> Outcome<Option<Head>> {
    let text = match std::fs::read_to_string(path) {
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text,
    };
    let head = text.and_then(|text| serde_json::from_str::<Head>(&text).map_err(io::Error::from));
    match head {
        Ok(head) if head.version == VERSION => Ok(Some(head)),
        Ok(head) => Err(Failure::bad_input(format!(
            "{} has version {}, but this program reads version {VERSION}: resume with the program that wrote it",
            path.display(),
            head.version
        ))),
        Err(fault) => Err(Failure::bad_input(format!("{}: cannot be read: {fault}", path.display()))),
    }
}

impl Begin {
    fn read(folder: &Path, position: Position) -> io::Result<Begin> {
        let mut begin = Begin { position, files: Vec::new(), blocks: HashMap::new() };
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if !is_part(&entry.file_name()) {
                continue;
            }
            let mut file = File::open(entry.path())?;
            let number = begin.files.len();
            begin.blocks.extend(index(&mut file)?.into_iter().map(|record| (record.block, (number, record))));
            begin.files.push(Mutex::new(file));
        }
        let wanted = position.processes.div_ceil(1 << position.shift.min(31));
        match (0..wanted).find(|block| !begin.blocks.contains_key(block)) {
            Some(block) => Err(io::Error::other(format!("block {block} of {wanted} is missing"))),
            None => Ok(begin),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Checkpoints for Folder {
    fn is_due(&self) -> bool {
        lock(&self.last).elapsed() >= self.every
    }

    fn write(
        &self,
        window: u64,
        first: u32,
        fill: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let folder = folder_of(&self.path, window);
        let path = folder.join(format!("part-{first}.bin"));
        let file = std::fs::create_dir_all(&folder).and_then(|()| File::create(&path));
        let written = file.and_then(|file| {
            let mut out = BufWriter::with_capacity(1 << 20, file);
            fill(&mut out)?;
            out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
        });
        written.map_err(|fault| at(&path, &fault))
    }

    fn complete(&self, position: &Position) -> io::Result<()> {
        let head = Head { version: VERSION, simulation: self.simulation.clone(), position: *position };
        let text = serde_json::to_string_pretty(&head)?;
        let path = self.path.join(HEAD);
        replace_file(&path, |out| out.write_all(text.as_bytes())).map_err(|error| at(&path, &error.fault))?;
        self.remove_but(Some(position.window));
        *lock(&self.last) = Instant::now();
        Ok(())
    }

    fn position(&self) -> Option<Position> {
        self.begin.as_ref().map(|begin| begin.position)
    }

    fn read(&self, block: u32) -> io::Result<Vec<u8>> {
        let found = self.begin.as_ref().and_then(|begin| Some((begin, begin.blocks.get(&block)?)));
        let missing = || io::Error::new(io::ErrorKind::NotFound, format!("block {block} is missing"));
        let read = found.ok_or_else(missing).and_then(|(begin, (file, record))| {
            let mut file = begin.files.get(*file).map(lock).ok_or_else(missing)?;
            record.read(&mut *file)
        });
        read.map_err(|fault| at(&self.path, &fault))
    }
}

/// An error with the file or folder that it is about.
fn at(path: &Path, fault: &io::Error) -> io::Error {
    io::Error::new(fault.kind(), format!("{}: {fault}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(folder: &Path, resume: bool) -> CheckpointPlan {
        CheckpointPlan { folder: folder.into(), every: Duration::ZERO, resume }
    }

    const POSITION: Position = Position { window: 9, simulated_ps: 9000, windows: 5, shift: 1, processes: 4 };

    /// Two blocks, as the engine writes them.
    fn keep(folder: &Folder, window: u64) {
        for block in 0u32..2 {
            let state = [block as u8; 3];
            let fill = &mut |out: &mut dyn Write| {
                out.write_all(&block.to_le_bytes())?;
                out.write_all(&3u64.to_le_bytes())?;
                out.write_all(&crc32fast::hash(&state).to_le_bytes())?;
                out.write_all(&state)
            };
            folder.write(window, block, fill).unwrap();
        }
    }

    #[test]
    fn a_checkpoint_counts_when_it_is_whole() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("state");
        let open = |resume| Folder::open(&plan(&path, resume), Vec::new());
        let folder = open(false).unwrap();
        assert!(folder.is_due() && folder.position().is_none());
        keep(&folder, 9);
        assert!(open(true).unwrap().position().is_none(), "no head yet");
        folder.complete(&POSITION).unwrap();
        keep(&folder, 12);
        let again = open(true).unwrap();
        assert_eq!(again.position(), Some(POSITION));
        assert_eq!((again.read(0).unwrap(), again.read(1).unwrap()), (vec![0; 3], vec![1; 3]));
        assert!(again.read(2).is_err());
        folder.complete(&Position { window: 12, ..POSITION }).unwrap();
        assert!(!folder_of(&path, 9).exists());
        folder.finish();
        assert!(!path.exists());
    }

    #[test]
    fn only_checkpoints_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("photos");
        let open = |path: &Path| Folder::open(&plan(path, false), Vec::new());
        // A folder in use is refused, and stays as it is.
        let album = path.join("window-photos");
        std::fs::create_dir_all(&album).unwrap();
        std::fs::write(album.join("one.jpg"), "one").unwrap();
        let error = open(&path).unwrap_err().error.to_string();
        assert!(error.contains("is not empty and holds no checkpoint: it has window-photos"), "{error}");
        assert!(album.join("one.jpg").exists() && !path.join(MARK).exists());
        // An empty folder is used, and is empty again.
        let empty = place.path().join("empty");
        std::fs::create_dir(&empty).unwrap();
        let folder = open(&empty).unwrap();
        keep(&folder, 9);
        folder.finish();
        assert_eq!(std::fs::read_dir(&empty).unwrap().count(), 0);
        // What others put beside or into the folders of a run stays.
        let folder = open(&place.path().join("made")).unwrap();
        keep(&folder, 9);
        let others = ["note", "window-09/part-1.bin", "window-7/part-x.bin", "window-9/part-1.bin.old"];
        for other in others.map(|other| folder.path.join(other)) {
            std::fs::create_dir_all(other.parent().unwrap()).unwrap();
            std::fs::write(other, "other").unwrap();
        }
        folder.finish();
        assert!(others.iter().all(|other| folder.path.join(other).exists()));
        assert!(!folder_of(&folder.path, 9).join("part-1.bin").exists());
    }

    #[test]
    fn what_cannot_be_gone_on_from_is_named() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("state");
        let identity = |workload: &str| vec![("the workload".to_string(), workload.to_string())];
        let open = |resume, simulation: &str| Folder::open(&plan(&path, resume), identity(simulation));
        let says = |resume, simulation| open(resume, simulation).unwrap_err().error.to_string();
        let folder = open(false, "a barrier").unwrap();
        keep(&folder, 9);
        folder.complete(&POSITION).unwrap();
        assert!(says(false, "a barrier").contains("add --resume"));
        assert!(
            says(true, "a bcast").contains("in the checkpoint the workload is a barrier, here it is a bcast")
        );
        std::fs::remove_file(folder_of(&path, 9).join("part-1.bin")).unwrap();
        assert!(says(true, "a barrier").contains("block 1 of 2 is missing"));
        std::fs::write(path.join(HEAD), "{").unwrap();
        assert!(says(true, "a barrier").contains("cannot be read"));
    }
}

//! The beginning and the end of a recording.

use crate::abi::{Handle, abi};
use crate::exchange::{self, Run};
use crate::process::{self, Phase};
use crate::site::pmpi;
use crate::{call_sites, clock, output, thread, turns, usage};
use libc::c_int;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use straggler_trace::format::block::BlockKind;
use straggler_trace::format::directory::{EXTENSION, file_name};
use straggler_trace::format::read::Ending;
use straggler_trace::format::save::put_usage;
use straggler_trace::format::write::Pairs;
use straggler_trace::format::{end as end_keys, head};

/// The folder for streams; nothing is recorded without it.
const FOLDER: &str = "STRAGGLER_TRACE_DIR";

/// Set if the arguments of the program must not be recorded.
const NO_COMMAND_LINE: &str = "STRAGGLER_NO_COMMAND_LINE";

/// Set if call sites are to be recorded.
const CALL_SITES: &str = "STRAGGLER_CALL_SITES";

/// The tracer's own communicator; 0 if there is none.
static COMM: AtomicUsize = AtomicUsize::new(0);

/// Begins the recording once MPI has been initialised by a call that all ranks make.
pub fn begin() {
    let Some(folder) = prepared() else { return };
    let (rank, size) = rank_and_size();
    let mut comm: Handle = 0;
    pmpi!(Comm_dup(abi().comm_world, &raw mut comm));
    let comm = abi().handle(comm);
    COMM.store(comm, Ordering::Relaxed);
    let mut own = None;
    let mut run = Run::default();
    if rank == 0 {
        run = Run { id: random(), number: 1 };
        own = claim(&folder, &mut run.number);
    }
    let best = exchange::exchange(comm, rank, size, &mut run);
    let folder = folder_of(&folder, run.number);
    // Rank 0 may be on another machine.
    let _ = std::fs::create_dir_all(&folder);
    let file = own.or_else(|| output::create(&folder.join(file_name(rank))).ok());
    open(file, rank, size, &run.id, &folder);
    if let Some(best) = best {
        exchange::note(&best, false);
    }
}

/// Begins late, if the initialisation was not seen, without any communication with other ranks.
#[cold]
pub fn begin_late() {
    let mut initialised = 0i32;
    pmpi!(Initialized(&raw mut initialised));
    if initialised == 0 {
        return;
    }
    let Some(folder) = prepared() else { return };
    let (rank, size) = rank_and_size();
    let free = (1..1000).find_map(|number| {
        let name = if number == 1 { file_name(rank) } else { format!("rank-{rank:06}-{number}.{EXTENSION}") };
        output::create(&folder.join(name)).ok()
    });
    open(free, rank, size, &[], &folder);
}

/// Prepares the recording once, if a folder was given. Returns the folder.
fn prepared() -> Option<PathBuf> {
    static ONCE: Mutex<bool> = Mutex::new(false);
    let mut done = ONCE.lock().ok()?;
    if std::mem::replace(&mut *done, true) {
        return None;
    }
    let folder = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty());
    if folder.is_none() {
        process::set_phase(Phase::Over);
    }
    clock::choose();
    folder.map(PathBuf::from)
}

fn rank_and_size() -> (u32, u32) {
    let (mut rank, mut size) = (0i32, 1i32);
    pmpi!(Comm_rank(abi().comm_world, &raw mut rank));
    pmpi!(Comm_size(abi().comm_world, &raw mut size));
    (rank.max(0) as u32, size.max(1) as u32)
}

fn random() -> [u8; 16] {
    use std::io::Read;
    let mut bytes = [0; 16];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes));
    if read.is_err() {
        bytes[..8].copy_from_slice(&clock::wall_nanoseconds().to_le_bytes());
        bytes[8..].copy_from_slice(&u64::from(std::process::id()).to_le_bytes());
    }
    bytes
}

/// Creates rank 0's stream, which claims the folder for this run: a command may start MPI more than once.
fn claim(folder: &Path, number: &mut u64) -> Option<c_int> {
    let _ = std::fs::create_dir_all(folder);
    if let Ok(file) = output::create(&folder.join(file_name(0))) {
        return Some(file);
    }
    for candidate in 2..100_000 {
        let own = folder_of(folder, candidate);
        if std::fs::create_dir(&own).is_ok() {
            *number = candidate;
            return output::create(&own.join(file_name(0))).ok();
        }
    }
    None
}

fn folder_of(folder: &Path, number: u64) -> PathBuf {
    if number == 1 { folder.to_owned() } else { folder.join(format!("run-{number}")) }
}

fn open(file: Option<c_int>, rank: u32, size: u32, run: &[u8], folder: &Path) {
    let Some(file) = file else {
        // A stderr that cannot be written to must not end the program.
        let _ = writeln!(
            std::io::stderr(),
            "straggler: rank {rank} is not recorded: cannot create a stream in {}",
            folder.display()
        );
        process::set_phase(Phase::Over);
        return;
    };
    turns::prepare();
    output::begin(file);
    let tick_ps = clock::tick_ps();
    process::set_tick_ps(tick_ps);
    process::know_world(rank, size);
    let mut level = 0i32;
    pmpi!(Query_thread(&raw mut level));
    if level != abi().thread_multiple {
        process::calls_come_one_by_one();
    }
    if is_set(CALL_SITES) {
        call_sites::want();
    }
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cores = cores();
    let pairs = Pairs::new()
        .bytes(head::RUN, run)
        .number(head::RANK, u64::from(rank))
        .number(head::SIZE, u64::from(size))
        .bytes(head::HOST, read("/proc/sys/kernel/hostname").trim().as_bytes())
        .bytes(head::BOOT, read("/proc/sys/kernel/random/boot_id").trim().as_bytes())
        .number(head::PROCESS, u64::from(std::process::id()))
        .bytes(head::PROGRAM, program(&read("/proc/self/cmdline"), is_set(NO_COMMAND_LINE)).as_bytes())
        .bytes(head::LIBRARY, library().as_bytes())
        .bytes(head::TICK_PS, &tick_ps.to_le_bytes())
        .list(head::CORES, cores.into_iter())
        .number(head::THREAD_LEVEL, level.max(0) as u64)
        .number(head::STARTED, clock::wall_nanoseconds())
        .functions();
    output::write_pairs(BlockKind::Head, pairs);
    usage::begin();
    process::set_phase(Phase::Recording);
    thread::watch();
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}

/// The program with its arguments, which the kernel separates by zeros. Without arguments, the
/// folder of the program is left out too.
fn program(command_line: &str, without_arguments: bool) -> String {
    if without_arguments {
        let path = command_line.split('\0').next().unwrap_or_default();
        return path.rsplit('/').next().unwrap_or_default().to_owned();
    }
    command_line.trim_end_matches('\0').replace('\0', " ")
}

/// The first line of the MPI library's version text.
fn library() -> String {
    let (mut text, mut length) = (vec![0u8; 1 << 15], 0i32);
    pmpi!(Get_library_version(text.as_mut_ptr(), &raw mut length));
    text.truncate(length.clamp(0, 1 << 15) as usize);
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines().next().unwrap_or_default().trim_end_matches('\0').trim().to_owned()
}

/// The cores this process may run on.
fn cores() -> Vec<u64> {
    // SAFETY: an empty set is all zeros, and the kernel fills it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) != 0 {
            return Vec::new();
        }
        (0..8 * size_of::<libc::cpu_set_t>())
            .filter(|&core| libc::CPU_ISSET(core, &set))
            .map(|core| core as u64)
            .collect()
    }
}

/// The exchange of times at the end, inside MPI_Finalize.
pub fn part() {
    let comm = COMM.swap(0, Ordering::Relaxed);
    if comm == 0 {
        return;
    }
    let (rank, size) = rank_and_size();
    let best = exchange::exchange(comm, rank, size, &mut Run::default());
    let mut comm = comm;
    pmpi!(Comm_free(&raw mut comm));
    if let Some(best) = best {
        exchange::note(&best, true);
    }
}

/// Writes the rest and closes the stream.
pub fn finish(how: Ending) {
    if process::phase() != Phase::Recording || !output::is_free() {
        return;
    }
    process::set_phase(Phase::Over);
    thread::write_all();
    let code = match how {
        Ending::Finalized => 0,
        Ending::Exited => 1,
        Ending::Aborted => 2,
        // Such a stream already has its end.
        Ending::Unwritable(_) => return output::end(),
    };
    let unknown = process::take_unknown();
    let entries = unknown.iter().map(|(name, &count)| (count, name.as_str()));
    let pairs = Pairs::new().names(end_keys::UNKNOWN, entries).number(end_keys::HOW, code);
    let pairs = match usage::since_the_beginning() {
        Some(usage) => put_usage(pairs, &usage),
        None => pairs,
    };
    output::write_pairs(BlockKind::End, pairs);
    output::end();
}

/// Writes what was recorded if the process ends without MPI_Finalize.
extern "C" fn at_exit() {
    finish(Ending::Exited);
}

#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_left_out_where_they_are_not_wanted() {
        let line = "/home/me/bin/solve\0--password\0secret\0";
        assert_eq!(program(line, false), "/home/me/bin/solve --password secret");
        assert_eq!(program(line, true), "solve");
    }
}

//! Runs a study in a folder: checks everything, reuses existing runs, and saves new ones.

use crate::kernel::devices::{self, GpuAnswer, TypedDevice, threads};
use crate::kernel::memory::{LONG_SECONDS, available_bytes, free_disk_bytes, in_words, seconds_for};
use crate::kernel::pages::{make_folder, refuse_foreign, remove_outdated};
use crate::kernel::prelude::*;
use crate::mpi::cluster;
use crate::study::file::{FittedAnswer, JOURNAL, PAGE, PROVENANCE, RESULTS, STUDY};
use straggler_analysis::study::{
    Batch, Coordinates, Journal, MODEL_VERSION, Needs, Opened, Plan, Results, Study, StudyRunError,
    StudyRunner, Tracks,
};
use straggler_measure::machine;
use straggler_model::{date::utc_now, provenance::Machine};
use straggler_report::study_results::{self, Format};
use straggler_sim::{Accelerator, cluster::Cluster};

/// How to run a study. Only `until_ci` affects the results.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The study file; none for a built-in study.
    pub file: Option<PathBuf>,
    /// All cores unless given.
    pub threads: Option<usize>,
    /// Where replicas run.
    pub device: TypedDevice,
    /// Discard existing runs.
    pub fresh: bool,
    /// Overrides the value in the study.
    pub until_ci: Option<f64>,
}

/// The threads, device and cluster that a study runs on.
struct On<'a> {
    threads: usize,
    device: TypedDevice,
    cluster: Option<&'a dyn Cluster>,
}

/// Data of a run for its provenance.
#[derive(Debug)]
pub struct Session<'a> {
    pub plan: &'a Plan,
    pub tracks: &'a Tracks,
    pub threads: usize,
    pub gpus: Vec<GpuAnswer>,
    pub wall_seconds: f64,
    pub sessions: u32,
}

/// Why the top level of a file with sweeps is not run, if it is not.
pub fn top_not_run(study: &Study) -> Option<String> {
    let key = study.top_lacks?;
    Some(format!("The top level is not run: it lacks `{key}` and only holds settings shared by the sweeps."))
}

/// The plan of a study; file names in it are relative to the study file.
pub fn plan_of(study: &Study, file: Option<&Path>) -> Outcome<Plan> {
    let base = file.and_then(Path::parent).unwrap_or(Path::new(""));
    let named = |fault| match file {
        Some(file) => Failure::bad_input(format!("{}: {fault}", file.display())),
        None => Failure::bad_input_of(fault),
    };
    Plan::new(study, base).map_err(named)
}

/// Announces how long a long study will take, and how to shorten it.
fn announce(messages: u64, threads: usize, console: &Console) {
    let time = seconds_for(messages as f64, threads);
    if time > LONG_SECONDS {
        console.note(&format!(
            "this will take about {} (rough estimate): fewer replicas or processes, or until-ci, reduce \
             it; an interrupted study can be resumed",
            in_words(time)
        ));
    }
}

/// Runs the missing parts of a study and writes its results into the folder.
pub fn run_in(folder: &Path, study: &Study, options: &Options, console: &Console) -> Outcome<Results> {
    lead(folder, study, (load(study, options)?, Instant::now()), options, console, None)
}

fn load(study: &Study, options: &Options) -> Outcome<Plan> {
    let mut plan = plan_of(study, options.file.as_deref())?;
    if let Some(width) = options.until_ci {
        plan.stop_at(width);
    }
    Ok(plan)
}

/// The same with all members of a cluster; only the first returns the results.
pub fn run_on(
    cluster: &dyn Cluster,
    folder: &Path,
    study: &Study,
    options: &Options,
    console: &Console,
) -> Outcome<Option<Results>> {
    let began = Instant::now();
    let plan = cluster::agreed(cluster, load(study, options), &[])?;
    refuse_another_plan(cluster, &plan)?;
    let done = if cluster.rank() == 0 {
        lead(folder, study, (plan, began), options, console, Some(cluster)).map(Some)
    } else {
        follow(&plan, options, cluster).map(|()| None)
    };
    cluster::agreed(cluster, done, &[])
}

/// Files named by a study may differ between nodes even if the study file does not.
fn refuse_another_plan(cluster: &dyn Cluster, plan: &Plan) -> Outcome<()> {
    let all = cluster::gathered(cluster, &plan.fingerprint())?;
    match (0..).zip(&all).find(|(_, fingerprint)| Some(*fingerprint) != all.first()) {
        None => Ok(()),
        Some((rank, _)) => Err(Failure::bad_input(format!(
            "{} and {} see different contents of a file of the study: use paths that all nodes share",
            cluster.name(rank),
            cluster.name(0)
        ))),
    }
}

/// Memory available for runs. Part of it is left for the rest of the program, and cluster members on one node share
/// its memory.
fn memory_of(cluster: Option<&dyn Cluster>) -> Option<u64> {
    let on_node = cluster.map_or(1, |cluster| u64::from(cluster.on_node()));
    available_bytes().map(|bytes| bytes / on_node / 10 * 8)
}

/// Runs the tasks that the first member distributes.
fn follow(plan: &Plan, options: &Options, cluster: &dyn Cluster) -> Outcome<()> {
    let _orderly = Orderly::begin();
    if !cluster::gathered(cluster, &true)?.into_iter().all(|ready| ready) {
        return Ok(());
    }
    let runner = StudyRunner {
        plan,
        threads: threads(options.threads),
        accelerator: None,
        memory: memory_of(Some(cluster)),
        stop: interrupt::flag(),
        advance: &|_| (),
    };
    Ok(runner.follow(cluster)?)
}

/// Runs a plan alone, or with a cluster whose other members wait for tasks.
fn lead(
    folder: &Path,
    study: &Study,
    (plan, began): (Plan, Instant),
    options: &Options,
    console: &Console,
    cluster: Option<&dyn Cluster>,
) -> Outcome<Results> {
    let prepared = prepare(folder, study, &plan, options, console);
    if let Some(cluster) = cluster {
        cluster::gathered(cluster, &prepared.is_ok())?;
    }
    let (mut opened, tracks, complete) = prepared?;
    let _orderly = Orderly::begin();
    let threads = threads(options.threads);
    let on = On { threads, device: options.device, cluster };
    let (tracks, results, gpus) = simulate(&plan, tracks, &on, &mut opened.journal, console)?;
    let wall_seconds = began.elapsed().as_secs_f64();
    let sessions = opened.sessions + 1;
    let session = Session { plan: &plan, tracks: &tracks, threads, gpus, wall_seconds, sessions };
    if !complete {
        // Provenance describes the run that computed something, not one that only read the results.
        put(folder, PROVENANCE, text(&session)?.as_bytes())?;
    }
    // Written last: if there are results, everything else is complete.
    study_results::write(&folder.join(RESULTS), Format::Parquet, &results)?;
    Ok(results)
}

/// What a run writes, in the order in which outdated files go: the results last, so that a killed run leaves nothing that
/// looks newer than they are.
const RESULT_FILES: [&str; 5] = [PAGE, "report.html", "results.csv", PROVENANCE, RESULTS];

/// Opens the folder: the journal, the existing runs, and whether they are complete.
fn prepare(
    folder: &Path,
    study: &Study,
    plan: &Plan,
    options: &Options,
    console: &Console,
) -> Outcome<(Opened, Tracks, bool)> {
    plan.warnings.iter().for_each(|warning| console.warn(warning));
    top_not_run(study).iter().for_each(|text| console.note(text));
    let there = folder.ancestors().find(|place| place.is_dir()).unwrap_or(Path::new("."));
    refuse_too_large(&plan.needs(), available_bytes(), free_disk_bytes(there))?;
    if !folder.join(JOURNAL).exists() {
        devices::refuse_missing(options.device)?;
    }
    make_folder(folder)?;
    refuse_foreign(folder, &RESULT_FILES, JOURNAL)?;
    if std::fs::read(folder.join(STUDY)).is_ok_and(|there| there != study.text.as_bytes()) {
        refuse_foreign(folder, &[STUDY], JOURNAL)?;
    }
    let _orderly = Orderly::begin();
    let opened = Journal::open(&folder.join(JOURNAL), &plan.fingerprint(), options.fresh)?;
    let mut tracks = Tracks::new(plan);
    tracks.restore(&opened.batches);
    report_stored(&opened, console);
    let complete =
        tracks.is_finished() && [RESULTS, PROVENANCE].iter().all(|name| folder.join(name).exists());
    if !complete {
        remove_outdated(folder, &RESULT_FILES)?;
    }
    put(folder, STUDY, study.text.as_bytes())?;
    Ok((opened, tracks, complete))
}

/// Writes a file atomically.
fn put(folder: &Path, name: &str, bytes: &[u8]) -> Outcome<()> {
    if !bytes.is_empty() {
        replace_file(&folder.join(name), |out| out.write_all(bytes))?;
    }
    Ok(())
}

fn simulate(
    plan: &Plan,
    tracks: Tracks,
    on: &On<'_>,
    journal: &mut Journal,
    console: &Console,
) -> Outcome<(Tracks, Results, Vec<GpuAnswer>)> {
    let left = plan
        .tasks
        .iter()
        .enumerate()
        .map(|(index, task)| task.messages.saturating_mul(tracks.at_most(index).into()));
    let left = left.fold(0, u64::saturating_add);
    let (threads, cluster) = (on.threads, on.cluster);
    let gpus = if cluster.is_some() || left == 0 { None } else { devices::open(on.device, left, console)? };
    if gpus.is_none() {
        announce(left, threads * cluster.map_or(1, |cluster| cluster.size() as usize), console);
    }
    let meter = Meter::new(console, left);
    let runner = StudyRunner {
        plan,
        threads,
        accelerator: gpus.as_ref().map(|gpus| gpus as &dyn Accelerator),
        memory: memory_of(cluster),
        stop: interrupt::flag(),
        advance: &|more| meter.advance(more),
    };
    let (tracks, results) = {
        let mut keep = |batch: &Batch| journal.append(batch);
        match cluster {
            None => runner.run(tracks, &mut keep),
            Some(cluster) => runner.lead(cluster, tracks, &mut keep),
        }
    };
    drop(meter);
    let gpus = devices::report(gpus.as_ref(), on.device, console);
    journal.sync()?;
    match results {
        Ok(results) => Ok((tracks, results, gpus)),
        Err(StudyRunError::Interrupted) => Err(interrupted(plan, &tracks)),
        Err(StudyRunError::Keep(fault)) => Err(fault.into()),
        Err(error) => Err(Failure::bad_input(error.to_string())),
    }
}

fn interrupted(plan: &Plan, tracks: &Tracks) -> Failure {
    let all: u64 = plan.tasks.iter().map(|task| u64::from(task.replicas)).sum();
    let left: u64 = (0..plan.tasks.len()).map(|task| u64::from(tracks.at_most(task))).sum();
    let text = format!(
        "interrupted: {} of at most {} are saved; run the same command without --fresh to resume",
        grouped(all - left.min(all)),
        counted(all, "run", "runs")
    );
    Failure::new(Exit::Interrupted, anyhow::Error::msg(text))
}

fn report_stored(opened: &Opened, console: &Console) {
    if opened.cut > 0 {
        console.warn(&format!(
            "the journal ends with a torn record, as after a crash: its {} were dropped, and their runs \
             will be repeated",
            counted(opened.cut, "byte", "bytes")
        ));
    }
    let runs: u64 = opened.batches.iter().map(|batch| batch.makespans.len() as u64).sum();
    if runs > 0 {
        console.note(&format!("already done: {}", counted(runs, "run", "runs")));
    }
}

/// Fails before any run if memory or disk space does not suffice.
pub fn refuse_too_large(needs: &Needs, available: Option<u64>, free: Option<u64>) -> Outcome<()> {
    let rows = counted(needs.rows, "row", "rows");
    if let Some(available) = available.filter(|&available| needs.memory_bytes > available) {
        return Err(Failure::bad_input(format!(
            "the study takes about {} of memory ({} at once, and {rows} of results), but {} are available: \
             use fewer processes or replicas",
            memory(needs.memory_bytes),
            counted(needs.largest_processes.into(), "process", "processes"),
            memory(available)
        )));
    }
    match free.filter(|&free| needs.disk_bytes > free) {
        Some(free) => Err(Failure::bad_input(format!(
            "the study takes about {} on disk ({rows} of results), but {} are free: use fewer replicas, or \
             another folder with -o",
            memory(needs.disk_bytes),
            memory(free)
        ))),
        None => Ok(()),
    }
}

#[derive(Serialize)]
struct Provenance<'a> {
    command: String,
    version: &'static str,
    model_version: u32,
    date: String,
    machine: Machine,
    threads: usize,
    /// Replicas that ran on GPUs in the last session.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    gpus: &'a [GpuAnswer],
    /// Length of the last session.
    wall_seconds: f64,
    /// How often the study was started or resumed.
    sessions: u32,
    /// Networks that were fitted from traces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fitted: Vec<FittedAnswer>,
    points: Vec<PointTiming<'a>>,
}

#[derive(Serialize)]
struct PointTiming<'a> {
    #[serde(flatten)]
    point: &'a Coordinates,
    /// Computing time over all sessions; identical points share theirs.
    seconds: f64,
}

fn text(session: &Session<'_>) -> Outcome<String> {
    let points = session
        .plan
        .points
        .iter()
        .map(|point| PointTiming { point: &point.coordinates, seconds: session.tracks.seconds(point.task) });
    to_json(&Provenance {
        command: command_line(),
        version: env!("CARGO_PKG_VERSION"),
        model_version: MODEL_VERSION,
        date: utc_now(),
        machine: machine::this(),
        threads: session.threads,
        gpus: &session.gpus,
        wall_seconds: session.wall_seconds,
        sessions: session.sessions,
        fitted: session.plan.fitted.iter().map(FittedAnswer::new).collect(),
        points: points.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_numbers() {
        let needs = Needs {
            points: 1,
            rows: 1_000_000,
            messages: 1,
            disk_bytes: 40_000_000,
            memory_bytes: 5 << 30,
            largest_processes: 1 << 24,
        };
        let says = |available, free| refuse_too_large(&needs, available, free).unwrap_err().error.to_string();
        let text = says(Some(1 << 30), None);
        assert!(text.contains("5.00 GiB of memory") && text.contains("16,777,216 processes"), "{text}");
        let text = says(None, Some(1 << 20));
        assert!(
            text.contains("38.1 MiB on disk (1,000,000 rows") && text.contains("1.00 MiB are free"),
            "{text}"
        );
        assert!(refuse_too_large(&needs, Some(5 << 30), Some(40_000_000)).is_ok());
        assert!(refuse_too_large(&needs, None, None).is_ok());
    }
}

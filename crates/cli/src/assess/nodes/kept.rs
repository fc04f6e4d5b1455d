//! The measurement of a cluster as files: a recording per node, which all commands can read, and a list of them with
//! the data of the whole cluster.

use crate::assess::nodes::{Json, Report, page};
use crate::kernel::pages::{Finding, make_folder, refuse_foreign, remove_outdated};
use crate::kernel::prelude::*;
use std::collections::BTreeSet;
use straggler_analysis::nodes::{CoreClock, Measurement, Part};
use straggler_noise::format::{self, Format, FormatOptions};

const LIST: &str = "measurement.json";
const NODES: &str = "nodes";
const FORMAT: &str = "straggler cluster measurement";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Written {
    format: String,
    version: u32,
    clock_error_ps: u64,
    said: Vec<String>,
    nodes: Vec<WrittenNode>,
}

#[derive(Serialize, Deserialize)]
struct WrittenNode {
    host: String,
    file: String,
    places: Vec<CoreClock>,
    left_out: u64,
    left_out_ps: u64,
}

/// Writes the measurement. The list comes last: a folder with a list is complete.
pub fn keep(measured: &Measurement, folder: &Path) -> Outcome<()> {
    clear(folder)?;
    make_folder(&folder.join(NODES))?;
    let mut taken = BTreeSet::new();
    let mut nodes = Vec::with_capacity(measured.parts.len());
    for part in measured.parts.iter().filter(|part| !part.recording.cores.is_empty()) {
        let file = format!("{NODES}/{}.noise", file_name(&part.host, &mut taken));
        put(&folder.join(&file), part)?;
        nodes.push(WrittenNode {
            host: part.host.clone(),
            file,
            places: part.places.clone(),
            left_out: part.left_out,
            left_out_ps: part.left_out_time.ps(),
        });
    }
    let (format, clock_error_ps) = (FORMAT.into(), measured.clock_error.ps());
    let list = Written { format, version: VERSION, clock_error_ps, said: measured.said.clone(), nodes };
    let text = to_json(&list)?;
    // Written even after a signal, so that no measurement is lost.
    Ok(replace_file(&folder.join(LIST), |out| out.write_all(text.as_bytes()))?)
}

/// Reads what [`keep`] wrote.
pub fn read(folder: &Path) -> Outcome<Measurement> {
    let path = folder.join(LIST);
    let text = std::fs::read_to_string(&path).map_err(|fault| unreadable(&path, &fault))?;
    let bad = |fault: String| Failure::bad_input(format!("{}: {fault}", path.display()));
    let list: Written = serde_json::from_str(&text)
        .map_err(|fault| bad(format!("it is not a measurement of `straggler mpi assess`: {fault}")))?;
    if (list.format.as_str(), list.version) != (FORMAT, VERSION) {
        return Err(bad(format!("it is not a measurement of `straggler mpi assess` of version {VERSION}")));
    }
    let mut measured = Measurement {
        parts: Vec::with_capacity(list.nodes.len()),
        clock_error: Time(list.clock_error_ps),
        said: list.said,
    };
    for node in list.nodes {
        interrupt::check()?;
        measured.parts.push(read_node(folder, node)?);
    }
    Ok(measured)
}

/// Notes for the user.
pub fn notes(measured: &Measurement) -> Vec<String> {
    let mut notes = measured.said.clone();
    let hindrances: BTreeSet<&str> =
        measured.parts.iter().filter_map(|part| part.recording.attribution.hindrance.as_deref()).collect();
    notes.extend(hindrances.into_iter().map(String::from));
    let full: u64 =
        measured.parts.iter().flat_map(|part| &part.recording.cores).map(|core| core.lost.detours).sum();
    if full > 0 {
        notes.push(format!(
            "buffers were full: {} were lost, and the same core was not measured after that",
            counted(full, "detour", "detours")
        ));
    }
    notes.extend(left_out(measured));
    notes
}

fn left_out(measured: &Measurement) -> Option<String> {
    let count: u64 = measured.parts.iter().map(|part| part.left_out).sum();
    let time: f64 = measured.parts.iter().map(|part| part.left_out_time.seconds()).sum();
    let kept: f64 = measured.parts.iter().map(|part| part.recording.noise_and_length().0.seconds()).sum();
    (count > 0).then(|| {
        format!(
            "the {} shortest detours, {} of the noise, were dropped to save memory",
            grouped(count),
            percent(time / (time + kept).max(f64::MIN_POSITIVE))
        )
    })
}

fn put(path: &Path, part: &Part) -> Outcome<()> {
    for file in format::write(&part.recording, Format::Straggler)?.files {
        replace_file(path, |out| out.write_all(&file.bytes))?;
    }
    Ok(())
}

fn read_node(folder: &Path, node: WrittenNode) -> Outcome<Part> {
    let path = folder.join(&node.file);
    let bytes = std::fs::read(&path).map_err(|fault| unreadable(&path, &fault))?;
    let bad = |fault: String| Failure::bad_input(format!("{}: {fault}", path.display()));
    let read = format::read(&bytes, Some(Format::Straggler), &FormatOptions::default());
    let (recording, _) = read.map_err(|fault| bad(fault.to_string()))?;
    if recording.cores.len() != node.places.len() {
        return Err(bad(format!(
            "it has {}, but {LIST} has {}: the file belongs to another measurement",
            counted(recording.cores.len() as u64, "core", "cores"),
            node.places.len()
        )));
    }
    let sound = |place: &CoreClock| {
        (0.5..2.0).contains(&place.rate) && place.iteration_ps >= 0.0 && place.iteration_ps < 1e12
    };
    if !node.places.iter().all(sound) {
        return Err(bad(format!("the clock of its cores in {LIST} is invalid")));
    }
    let left_out_time = Time(node.left_out_ps);
    Ok(Part { host: node.host, recording, places: node.places, left_out: node.left_out, left_out_time })
}

/// A unique file name for a host.
fn file_name(host: &str, taken: &mut BTreeSet<String>) -> String {
    let plain =
        |letter: char| if letter.is_ascii_alphanumeric() || "-_".contains(letter) { letter } else { '_' };
    let name: String = host.chars().take(100).map(plain).collect();
    let name = if name.is_empty() { "node".to_string() } else { name };
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let free = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name));
    let free = free.unwrap_or(name);
    taken.insert(free.clone());
    free
}

const JSON: &str = "assess.json";
const PAGES: [&str; 2] = ["assess.page", "report.html"];

/// Fails if there are files of others where the results are to be.
pub fn check(folder: &Path) -> Outcome<()> {
    refuse_foreign(folder, &PAGES, JSON)
}

/// Removes the files of an earlier assessment, which had another measurement.
pub fn clear(folder: &Path) -> Outcome<()> {
    remove_outdated(folder, &PAGES)?;
    remove_outdated(folder, &[JSON])
}

/// Writes all files and returns their names.
pub fn write(folder: &Path, report: &Report, findings: &[Finding], json: &Json<'_>) -> Outcome<Vec<String>> {
    make_folder(folder)?;
    let text = to_json(json)?;
    interrupt::or_interrupted(replace_file(&folder.join(JSON), |out| out.write_all(text.as_bytes())))?;
    let page = page::page(report, findings);
    for name in PAGES {
        pages::write(&folder.join(name), &page)?;
    }
    Ok([JSON].into_iter().chain(PAGES).map(String::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_noise::NoiseRecording;
    use straggler_noise::recording::{Core, Detour, Evidence};

    fn measurement() -> Measurement {
        let part = |host: &str| {
            let mut recording =
                NoiseRecording { sources: NoiseRecording::unnamed(), ..NoiseRecording::default() };
            let source = recording.source_id("kworker", Evidence::Traced);
            let detours = vec![Detour { start: Time(5), duration: Time(7), source }];
            recording.cores.push(Core { core: 3, length: Time(1000), detours, ..Core::default() });
            let places = vec![CoreClock { began_ps: 9, rate: 1.000001, iteration_ps: 20_000.5 }];
            Part { host: host.into(), recording, places, left_out: 2, left_out_time: Time(3) }
        };
        let parts = vec![part("n1.site"), part("n1/site"), part("")];
        Measurement { parts, clock_error: Time(11), said: vec!["a note".into()] }
    }

    #[test]
    fn what_is_kept_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let measured = measurement();
        keep(&measured, folder.path()).unwrap();
        assert_eq!(read(folder.path()).unwrap(), measured);
        assert!(folder.path().join("nodes/n1_site-2.noise").is_file());
        assert!(folder.path().join("nodes/node.noise").is_file());
    }

    #[test]
    fn files_that_do_not_belong_together_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        keep(&measurement(), folder.path()).unwrap();
        let list = folder.path().join(LIST);
        let text = std::fs::read_to_string(&list).unwrap();
        std::fs::write(&list, text.replace("\"rate\": 1.000001", "\"rate\": 0.0")).unwrap();
        let refused = |folder: &Path| read(folder).unwrap_err().error.to_string();
        assert!(refused(folder.path()).contains("is invalid"), "{}", refused(folder.path()));
        std::fs::write(&list, text.replace(FORMAT, "another")).unwrap();
        assert!(refused(folder.path()).contains("not a measurement"));
        std::fs::write(&list, &text[..text.len() / 2]).unwrap();
        assert!(refused(folder.path()).contains("not a measurement"));
        std::fs::remove_file(&list).unwrap();
        assert!(refused(folder.path()).contains(LIST));
    }
}

//! Writing a file durably, and reading it.

use super::round_trip::message;
use super::{Ending, Session};
use crate::latency::Operation;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use straggler_model::latency::Labels;

pub fn run(session: &mut Session<'_>, folder: &Path) -> Ending {
    let (core, _) = session.two_cores();
    session.put(0, core);
    let cached = "The file was read from the page cache of the kernel, not from the disk.";
    session.measurement.notes.push(cached.into());
    let open = |size: u64| -> io::Result<(File, Vec<u8>)> {
        // An unnamed file, so that nothing is left behind, whatever happens.
        let file = tempfile::tempfile_in(folder).map_err(|fault| {
            io::Error::new(fault.kind(), format!("{}: cannot create a file there: {fault}", folder.display()))
        })?;
        let bytes = message(size)?;
        file.write_all_at(&bytes, 0)?;
        Ok((file, bytes))
    };
    for &size in &session.options.sizes {
        let labels = Labels { size: Some(size), ..session.labels("write+fsync") };
        session.measure(labels, core, || open(size).map(|(file, bytes)| Write { file, bytes }))?;
        let labels = Labels { size: Some(size), ..session.labels("read") };
        session.measure(labels, core, || open(size).map(|(file, bytes)| Read { file, bytes }))?;
    }
    Ok(())
}

struct Write {
    file: File,
    bytes: Vec<u8>,
}

impl Operation for Write {
    fn perform(&mut self) -> io::Result<()> {
        self.file.write_all_at(&self.bytes, 0)?;
        self.file.sync_all()
    }
}

struct Read {
    file: File,
    bytes: Vec<u8>,
}

impl Operation for Read {
    fn perform(&mut self) -> io::Result<()> {
        self.file.read_exact_at(&mut self.bytes, 0)
    }
}

//! A measurement and its recorders.

use crate::border::Fault;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use straggler_measure::latency::{Recorder, begin};
use straggler_measure::timer;
use straggler_model::latency::{Bins, Labels, Measurement, write};
use straggler_model::provenance::Timer;

/// What `straggler_latency *` points to.
#[derive(Debug)]
pub struct Session {
    timer: Timer,
    content: Mutex<Content>,
}

#[derive(Debug)]
struct Content {
    /// Has no series; they come from the recorders.
    measurement: Measurement,
    /// From [`Box::into_raw`]. The caller holds copies; the session frees them.
    recorders: Vec<*mut Recorder>,
}

impl Session {
    pub fn open(kernel: &str) -> Result<Session, Fault> {
        let timer = timer::examine().map_err(Fault::internal)?;
        let command: Vec<String> =
            std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
        let measurement = begin(kernel, &command.join(" "), &timer);
        Ok(Session { timer, content: Mutex::new(Content { measurement, recorders: Vec::new() }) })
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn series(&self, name: &str, bytes: u64, bins: Option<&str>) -> Result<*mut Recorder, Fault> {
        let bins: Bins = bins.map_or(Ok(Bins::default()), str::parse).map_err(Fault::invalid)?;
        let size = (bytes > 0).then_some(bytes);
        let labels = Labels { kernel: name.into(), size, ..Labels::default() };
        let recorder = Box::into_raw(Box::new(Recorder::new(&self.timer, labels, bins)));
        self.content().recorders.push(recorder);
        Ok(recorder)
    }

    pub fn note(&self, note: &str) {
        self.content().measurement.notes.push(note.into());
    }

    /// # Safety
    /// No thread uses a recorder of this session.
    pub unsafe fn write(&self, path: &str) -> Result<(), Fault> {
        let content = self.content();
        let mut measurement = content.measurement.clone();
        for &recorder in &content.recorders {
            // SAFETY: it comes from `Box::into_raw`, is freed with the session, and nobody else uses it.
            let series = unsafe { &mut *recorder }.so_far();
            if !series.trials.is_empty() {
                measurement.add(series).map_err(Fault::invalid)?;
            }
        }
        write(Path::new(path), &measurement).map_err(Fault::file)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        for recorder in std::mem::take(&mut self.content().recorders) {
            // SAFETY: it comes from `Box::into_raw`, and whoever closes a session uses its recorders no more.
            drop(unsafe { Box::from_raw(recorder) });
        }
    }
}

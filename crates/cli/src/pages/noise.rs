//! The page of noise: every detour, their durations, their frequencies, and their sources.

use crate::answers::noise::{opening, tables};
use crate::invocation::command_line;
use crate::pages::{self, noise_charts};
use straggler_analysis::noise::Analysis;
use straggler_model::noise::NoiseRecording;
use straggler_model::noise::recording::Origin;
use straggler_report::page::{Chart, Page, Section};

/// A recording, its file or description, and the seed of the analysis.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    pub recording: &'a NoiseRecording,
    pub name: &'a str,
    pub seed: u64,
}

pub fn is_synthetic(recording: &NoiseRecording) -> bool {
    matches!(recording.origin, Origin::Synthetic { .. })
}

/// The command that made a recording; if unknown, the command that shows it.
fn command(recording: &NoiseRecording) -> String {
    match &recording.origin {
        Origin::Measured { command, .. } => command.clone(),
        Origin::Imported | Origin::Synthetic { .. } => command_line(),
    }
}

impl Subject<'_> {
    pub fn page(&self) -> Page {
        let analysis = Analysis::of(self.recording, self.seed);
        let summary = pages::paragraphs(&opening(self.recording, &analysis)).into_iter().take(1).collect();
        let whose = self.recording.machine.host.as_deref().unwrap_or(self.name);
        let mut page = pages::page(format!("Noise of {whose}"), summary, vec![self.section(&analysis)]);
        page.facts.add("Noise", self.name);
        let machine = &self.recording.machine;
        for (name, text) in [
            ("Processor", &machine.processor),
            ("Kernel", &machine.kernel),
            ("Hypervisor", &machine.hypervisor),
            ("Cores", &machine.allowed_cores),
        ] {
            if let Some(text) = text {
                page.facts.add(name, text.clone());
            }
        }
        page
    }

    pub fn section(&self, analysis: &Analysis) -> Section {
        let recording = self.recording;
        let mut section = Section::new(format!("Noise: {}", self.name));
        section.text = pages::paragraphs(&opening(recording, analysis));
        if analysis.overhead.detours == 0 {
            return section;
        }
        let (command, synthetic) = (command(recording), is_synthetic(recording));
        let charts = [
            Chart::new("Every detour: time and duration", &command, noise_charts::scatter(recording)),
            Chart::new("How long detours are", &command, noise_charts::distribution(recording)),
            Chart::new("Number of detours by duration", &command, noise_charts::histogram(recording)),
            Chart::new("Frequencies in the noise", &command, noise_charts::spectrum(&analysis.spectrum))
                .with_note(noise_charts::SPECTRUM_NOTE),
        ];
        charts.into_iter().for_each(|chart| section.add(chart.synthetic(synthetic)));
        section.add(tables::sources(&analysis.sources).titled("Sources of the noise", &command));
        section.add(tables::cores(analysis, usize::MAX).titled("Noise by core", &command));
        section
    }
}

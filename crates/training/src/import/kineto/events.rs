//! The events of a trace that the analysis needs, and only the needed fields.

use super::super::json::Sink;
use super::super::recorded::{Distinct, collective_name};
use super::host::{HostSpans, SHORTEST_PS};
use super::phases::Pass;
use super::values::{Texts, bare, number, picoseconds};
use crate::Kind;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Deserializer, Value};
use std::rc::Rc;

/// An operation on the GPU.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    pub start_ps: i64,
    pub duration_ps: i64,
    /// The index in [`Events::streams`].
    pub stream: u32,
    pub correlation: u64,
    /// The index in [`Events::communications`], or [`Kernel::COMPUTE`].
    pub communication: u32,
}

impl Kernel {
    pub const COMPUTE: u32 = u32::MAX;

    pub fn end_ps(&self) -> i64 {
        self.start_ps.saturating_add(self.duration_ps)
    }

    pub fn is_compute(&self) -> bool {
        self.communication == Kernel::COMPUTE
    }
}

/// The call on the host that launched work with a correlation number.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    pub correlation: u64,
    pub at_ps: i64,
    /// `None` if it has no end.
    pub takes_ps: Option<i64>,
    pub thread: i64,
}

/// A span of a host thread.
#[derive(Clone, Debug)]
pub struct Span<T> {
    pub thread: i64,
    pub start_ps: i64,
    pub end_ps: i64,
    pub what: T,
}

/// What is known of a communication kernel. Most traces have many equal ones.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Communication {
    /// The collective as named by the kernel, and by PyTorch.
    pub kernel: Option<&'static str>,
    pub name: Option<Rc<str>>,
    pub group: Option<Rc<str>>,
    pub description: Option<Rc<str>>,
    pub ranks: Option<Rc<str>>,
    pub size: Option<u32>,
    pub elements: Option<u64>,
    pub dtype: Option<Rc<str>>,
    pub seq: Option<u64>,
    pub source: Option<u32>,
    pub target: Option<u32>,
}

/// `stream` continues when the work launched on `on_stream` before `record` is done.
#[derive(Clone, Copy, Debug)]
pub struct StreamWait {
    pub stream: u32,
    pub correlation: u64,
    pub on_stream: u32,
    pub record: u64,
}

#[derive(Clone, Debug)]
pub struct ProfilerStep {
    pub number: i64,
    pub start_ps: i64,
    pub end_ps: Option<i64>,
}

/// An event whose time is invalid: its start if that is known, and the launch that it belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Untimed {
    pub at_ps: Option<i64>,
    pub correlation: Option<u64>,
}

#[derive(Debug, Default)]
pub struct Events {
    pub count: usize,
    pub unreadable: usize,
    /// Those of the unreadable events whose time is invalid.
    pub untimed: Vec<Untimed>,
    /// The number of places with invalid JSON, and the byte at which the first begins.
    pub damaged: usize,
    pub first_damaged: Option<u64>,
    pub rank: Option<u32>,
    pub world: Option<u32>,
    pub groups: Value,
    pub base_ns: i64,
    pub synthetic: bool,
    /// The time of the first event. The others are relative to it.
    pub origin_ps: Option<i128>,
    /// Device and stream.
    pub streams: Distinct<(i64, i64)>,
    pub kernels: Vec<Kernel>,
    pub launches: Vec<Launch>,
    pub communications: Distinct<Communication>,
    pub texts: Texts,
    /// `record_param_comms`, and annotations like `nccl:all_reduce`.
    pub host_communications: Vec<Span<Communication>>,
    pub annotations: Vec<Span<Pass>>,
    /// What the host does, where it takes long.
    pub host: HostSpans,
    /// Work of the host itself: data loading, garbage collection.
    pub host_work: Vec<Span<Kind>>,
    pub steps: Vec<ProfilerStep>,
    /// As seen by the GPU, for traces without steps of the host.
    pub gpu_steps: Vec<ProfilerStep>,
    pub waits: Vec<StreamWait>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default)]
    ph: Option<&'a RawValue>,
    #[serde(borrow, default)]
    cat: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tid: Option<&'a RawValue>,
    #[serde(borrow, default)]
    ts: Option<&'a RawValue>,
    #[serde(borrow, default)]
    dur: Option<&'a RawValue>,
    #[serde(borrow, default)]
    args: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
struct Args<'a> {
    #[serde(borrow, default)]
    device: Option<&'a RawValue>,
    #[serde(borrow, default)]
    stream: Option<&'a RawValue>,
    #[serde(borrow, default)]
    correlation: Option<&'a RawValue>,
    #[serde(borrow, default)]
    wait_on_stream: Option<&'a RawValue>,
    #[serde(borrow, default)]
    wait_on_cuda_event_record_corr_id: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "Collective name")]
    name: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "In msg nelems")]
    elements: Option<&'a RawValue>,
    #[serde(borrow, default)]
    dtype: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "Group size")]
    size: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "Process Group Name")]
    group: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "Process Group Description")]
    description: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "Process Group Ranks")]
    ranks: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "Seq")]
    seq: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "Src Rank")]
    source: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "Dst Rank")]
    target: Option<&'a RawValue>,
}

impl Args<'_> {
    fn communication(&self, texts: &mut Texts) -> Communication {
        let small = |raw| number::<u32>(raw);
        Communication {
            kernel: None,
            name: texts.intern(self.name),
            group: texts.intern(self.group),
            description: texts.intern(self.description),
            ranks: texts.intern(self.ranks),
            size: small(self.size),
            elements: number(self.elements),
            dtype: texts.intern(self.dtype),
            seq: number(self.seq),
            source: small(self.source),
            target: small(self.target),
        }
    }
}

pub fn is_nccl(name: &str) -> bool {
    // The old and the new naming scheme.
    name.starts_with("ncclKernel") || name.starts_with("ncclDevKernel")
}

/// PyTorch annotates the data loader; the program must annotate garbage collections.
fn host_work(annotation: &str) -> Option<Kind> {
    let name = annotation.to_ascii_lowercase();
    if name.starts_with("enumerate(dataloader)") {
        return Some(Kind::DataLoad);
    }
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    (name.contains("garbage collection") || words.any(|word| word == "gc")).then_some(Kind::Gc)
}

fn launches_work(call: &str) -> bool {
    call.contains("Launch") || call.contains("Memcpy") || call.contains("Memset")
}

impl Sink for Events {
    fn is_list(&self, key: &str) -> bool {
        key == "traceEvents"
    }

    fn element(&mut self, text: &[u8]) -> Result<usize, serde_json::Error> {
        let mut events = Deserializer::from_slice(text).into_iter::<Event>();
        let event = events.next().transpose()?;
        let length = events.byte_offset();
        if let Some(event) = event {
            self.count += 1;
            if self.take(&event).is_none() {
                self.unreadable += 1;
                let untimed = self.untimed(&event);
                self.untimed.extend(untimed);
            }
        }
        Ok(length)
    }

    fn member(&mut self, key: &str, value: &RawValue) {
        let object = || serde_json::from_str::<Value>(value.get()).unwrap_or_default();
        match key {
            "distributedInfo" => {
                let info = object();
                let small = |key: &str| info[key].as_u64().and_then(|number| u32::try_from(number).ok());
                self.rank = small("rank");
                self.world = small("world_size");
                self.groups = info["pg_config"].clone();
            }
            "baseTimeNanoseconds" => self.base_ns = number(Some(value)).unwrap_or(0),
            "synthetic" => self.synthetic = value.get() == "true",
            _ => {}
        }
    }

    fn strange(&mut self) {
        self.count += 1;
        self.unreadable += 1;
    }

    fn may_begin(&self, text: &[u8]) -> bool {
        // Keys that begin events: arguments may also contain lists of objects.
        const KEYS: [&str; 8] = ["ph", "cat", "name", "pid", "tid", "ts", "id", "dur"];
        let key = text[1..].trim_ascii_start().strip_prefix(b"\"");
        key.is_some_and(|key| {
            KEYS.iter()
                .any(|known| key.strip_prefix(known.as_bytes()).is_some_and(|rest| rest.starts_with(b"\"")))
        })
    }

    fn damaged(&mut self, at: u64) {
        self.damaged += 1;
        self.first_damaged.get_or_insert(at);
    }
}

impl Events {
    /// Keeps an event if it is needed. `None` if it is needed but invalid.
    fn take(&mut self, event: &Event) -> Option<()> {
        let category = bare(event.cat);
        let name = bare(event.name);
        match category {
            // The profilers of 2020 and 2021 had other categories, and none for annotations.
            "kernel" | "gpu_memcpy" | "gpu_memset" | "Kernel" | "Memcpy" | "Memset" => {
                self.kernel(event, name)
            }
            "cuda_runtime" | "cuda_driver" | "Runtime" if launches_work(name) => self.launch(event),
            "cpu_op" | "Operator" if name == "record_param_comms" => self.host_communication(event),
            "Operator" if !name.starts_with("aten::") => {
                self.host_span(event, name);
                self.annotation(event, name, "user_annotation")
            }
            "user_annotation" => {
                self.host_span(event, name);
                self.annotation(event, name, category)
            }
            "cpu_op" | "Operator" | "cuda_runtime" | "cuda_driver" | "Runtime" => {
                self.host_span(event, name);
                Some(())
            }
            "gpu_user_annotation" => self.annotation(event, name, category),
            "cuda_sync" if name == "Stream Wait Event" => self.stream_wait(event),
            _ => Some(()),
        }
    }

    /// Where an event belongs whose start or end is invalid. `None` if both are valid.
    fn untimed(&mut self, event: &Event) -> Option<Untimed> {
        // Waits between streams have no times of their own.
        if bare(event.cat) == "cuda_sync" || matches!(self.times(event), Some((_, Some(_)))) {
            return None;
        }
        let correlation = Events::args(event).and_then(|args| number(args.correlation));
        Some(Untimed { at_ps: self.start(event), correlation })
    }

    /// The GPU that computes.
    pub fn gpu(&self) -> Option<i64> {
        let kernel = self.kernels.iter().find(|kernel| kernel.is_compute())?;
        self.streams.items.get(kernel.stream as usize).map(|&(device, _)| device)
    }

    fn start(&mut self, event: &Event) -> Option<i64> {
        let at = picoseconds(event.ts)?;
        let origin = *self.origin_ps.get_or_insert(at);
        i64::try_from(at - origin).ok().filter(|start| start.abs() < i64::MAX / 4)
    }

    /// The start of an event, and its end if it has one.
    fn times(&mut self, event: &Event) -> Option<(i64, Option<i64>)> {
        let start = self.start(event)?;
        let duration = match event.dur {
            Some(_) => Some(picoseconds(event.dur).filter(|duration| (0..1 << 60).contains(duration))?),
            None => None,
        };
        let open = bare(event.ph) == "B";
        Some((start, duration.filter(|_| !open).map(|duration| start + duration as i64)))
    }

    fn args<'a>(event: &Event<'a>) -> Option<Args<'a>> {
        serde_json::from_str(event.args?.get()).ok()
    }

    fn kernel(&mut self, event: &Event, name: &str) -> Option<()> {
        let (start_ps, end_ps) = self.times(event)?;
        let args = Events::args(event)?;
        let stream = self.streams.place((number(args.device).unwrap_or(0), number(args.stream)?));
        let communication = match is_nccl(name) {
            true => {
                let mut known = args.communication(&mut self.texts);
                known.kernel = Some(collective_name(name.split('(').next().unwrap_or(name)));
                self.communications.place(known)
            }
            false => Kernel::COMPUTE,
        };
        let correlation = number(args.correlation).unwrap_or(0);
        let duration_ps = end_ps? - start_ps;
        self.kernels.push(Kernel { start_ps, duration_ps, stream, correlation, communication });
        Some(())
    }

    fn launch(&mut self, event: &Event) -> Option<()> {
        let at_ps = self.start(event)?;
        let takes_ps = self.times(event).and_then(|(_, end)| Some(end? - at_ps));
        let correlation = number(Events::args(event)?.correlation)?;
        self.launches.push(Launch { correlation, at_ps, takes_ps, thread: number(event.tid).unwrap_or(0) });
        Some(())
    }

    /// What the host does, if it takes long. Marks of steps enclose everything.
    fn host_span(&mut self, event: &Event, name: &str) {
        let long = |duration: &i128| *duration >= i128::from(SHORTEST_PS);
        if name.starts_with("ProfilerStep#") || picoseconds(event.dur).filter(long).is_none() {
            return;
        }
        if let Some((start_ps, Some(end_ps))) = self.times(event) {
            self.host.push(number(event.tid).unwrap_or(0), start_ps, end_ps, name);
        }
    }

    fn host_communication(&mut self, event: &Event) -> Option<()> {
        let (start_ps, end_ps) = self.times(event)?;
        let what = Events::args(event).unwrap_or_default().communication(&mut self.texts);
        if what != Communication::default() {
            let thread = number(event.tid).unwrap_or(0);
            self.host_communications.push(Span { thread, start_ps, end_ps: end_ps?, what });
        }
        Some(())
    }

    fn annotation(&mut self, event: &Event, name: &str, category: &str) -> Option<()> {
        let on_host = category == "user_annotation";
        if let Some(number) = name.strip_prefix("ProfilerStep#") {
            let start_ps = self.start(event)?;
            let end_ps = self.times(event).and_then(|(_, end)| end);
            let step = ProfilerStep { number: number.parse().ok()?, start_ps, end_ps };
            if on_host {
                self.steps.push(step)
            } else {
                self.gpu_steps.push(step)
            }
            return Some(());
        }
        if !on_host {
            return Some(());
        }
        let thread = number(event.tid).unwrap_or(0);
        let span = self.times(event).and_then(|(start_ps, end_ps)| Some((start_ps, end_ps?)));
        if name.starts_with("nccl:") {
            let (start_ps, end_ps) = span?;
            let what = Communication { name: Some(name.into()), ..Communication::default() };
            self.host_communications.push(Span { thread, start_ps, end_ps, what });
        } else if let Some(what) = Pass::named(name) {
            let (start_ps, end_ps) = span?;
            self.annotations.push(Span { thread, start_ps, end_ps, what });
        } else if let Some(what) = host_work(name) {
            let (start_ps, end_ps) = span?;
            self.host_work.push(Span { thread, start_ps, end_ps, what });
        }
        Some(())
    }

    fn stream_wait(&mut self, event: &Event) -> Option<()> {
        let args = Events::args(event)?;
        let device = number(args.device).unwrap_or(0);
        let stream = self.streams.place((device, number(args.stream)?));
        let on_stream = self.streams.place((device, number(args.wait_on_stream)?));
        let record = number(args.wait_on_cuda_event_record_corr_id)?;
        self.waits.push(StreamWait { stream, correlation: number(args.correlation)?, on_stream, record });
        Some(())
    }
}

//! GPUs for replicas, if there are any and the work is worth it.

use crate::kernel::prelude::*;
use crate::{args::Common, kernel::memory};
use straggler_gpu::{Device, DeviceError, Gpus, Tuning, cuda::Cuda};

/// Number of messages from which a GPU is worth the second it takes to start.
const WORTHWHILE: u64 = 500_000_000;

/// Opens the GPUs for a run of this many messages.
pub fn open(device: TypedDevice, messages: u64, console: &Console) -> Outcome<Option<Gpus>> {
    let wanted = match device {
        TypedDevice::Cpu => false,
        TypedDevice::Gpu => true,
        TypedDevice::Auto => messages >= WORTHWHILE,
    };
    if !wanted {
        return Ok(None);
    }
    match Cuda::all() {
        Ok(found) => {
            found.unusable.iter().for_each(|fault| console.warn(&format!("skipping a GPU: {fault}")));
            let devices: Vec<Box<dyn Device>> =
                found.usable.into_iter().map(|one| Box::new(one) as Box<dyn Device>).collect();
            Ok(Some(Gpus::new(devices, Tuning::default())))
        }
        Err(fault) if device == TypedDevice::Gpu => Err(missing(&fault)),
        Err(fault) => {
            console.detail(&format!("no GPU: {fault}"));
            Ok(None)
        }
    }
}

/// Fails early if `--device gpu` was given and there is no GPU.
pub fn refuse_missing(device: TypedDevice) -> Outcome<()> {
    if device == TypedDevice::Gpu {
        is_there(device)?;
    }
    Ok(())
}

/// Checks whether GPUs are present and `device` allows them.
pub fn is_there(device: TypedDevice) -> Outcome<bool> {
    if device == TypedDevice::Cpu {
        return Ok(false);
    }
    match Cuda::all() {
        Ok(_) => Ok(true),
        Err(fault) if device == TypedDevice::Gpu => Err(missing(&fault)),
        Err(_) => Ok(false),
    }
}

fn missing(fault: &DeviceError) -> Failure {
    Failure::bad_input(format!(
        "--device gpu: {fault}. Use --device cpu, or --device auto to use a GPU only if there is one"
    ))
}

/// The replicas that a GPU ran; the rest ran on the CPU.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct GpuAnswer {
    pub device: String,
    pub replicas: u64,
}

/// Reports what ran where. Falling back to the CPU is a warning with `--device gpu`, else a note.
pub fn report(gpus: Option<&Gpus>, device: TypedDevice, console: &Console) -> Vec<GpuAnswer> {
    let Some(gpus) = gpus else { return Vec::new() };
    let ran = gpus.ran().into_iter().filter(|&(_, replicas)| replicas > 0);
    let answers: Vec<GpuAnswer> =
        ran.map(|(name, replicas)| GpuAnswer { device: name.to_string(), replicas }).collect();
    for GpuAnswer { device, replicas } in &answers {
        let noun = if *replicas == 1 { "replica" } else { "replicas" };
        console.note(&format!("{} {noun} ran on {device}", grouped(*replicas)));
    }
    for (unfit, (least, most)) in gpus.unfit() {
        let processes =
            if least == most { grouped(least) } else { format!("{} to {}", grouped(least), grouped(most)) };
        let noun = if most == 1 { "process" } else { "processes" };
        let text = format!("runs of {processes} {noun} ran on the CPU: {unfit}");
        if device == TypedDevice::Gpu { console.warn(&text) } else { console.note(&text) }
    }
    gpus.faults().iter().for_each(|fault| console.warn(fault));
    answers
}

/// Number of threads to use: as asked for, else the number of available cores. More than a few per
/// core only slow each other down, so the number asked for is capped.
pub fn threads(asked: Option<usize>) -> usize {
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    asked.map_or(available, |asked| asked.min(4 * available.max(2)))
}

/// From this many threads on, small allocation steps cause contention in the kernel.
const MANY_THREADS: usize = 4;

/// Sets up the global thread pool, which readers of schedules and parallel replicas use.
pub fn use_threads(common: &Common) {
    let count = threads(common.threads.map(Into::into));
    if count >= MANY_THREADS {
        memory::grow_in_large_steps();
    }
    // Fails only if the pool exists already, which is impossible this early.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(count).build_global();
}

/// Where replicas run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum TypedDevice {
    /// GPUs, if there are any and the work is large enough to benefit
    #[default]
    Auto,
    /// The CPU
    Cpu,
    /// GPUs; the CPU for what they cannot run
    Gpu,
}

#[derive(Clone, Debug, Args)]
pub struct DeviceOption {
    /// Where to run replicas of collectives; the results are the same
    #[arg(long, value_enum, default_value_t, value_name = "DEVICE")]
    pub device: TypedDevice,
}

//! GPUs for replicas, if there are any and the work is worth it.

use crate::args::device::TypedDevice;
use crate::console::Console;
use crate::exit::{Failure, Outcome};
use serde::Serialize;
use straggler_gpu::cuda::Cuda;
use straggler_gpu::{Device, DeviceError, Gpus, Tuning};
use straggler_report::numbers::grouped;

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
pub fn tell(gpus: Option<&Gpus>, device: TypedDevice, console: &Console) -> Vec<GpuAnswer> {
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

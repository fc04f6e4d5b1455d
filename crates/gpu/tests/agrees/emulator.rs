//! Runs the kernel on the CPU, in the host's memory.

use straggler_gpu::layout::Plan;
use straggler_gpu::{Device, DeviceError, Kernel, Memory};

/// Runs the kernel's source as it was compiled for the CPU.
#[derive(Debug)]
pub struct Emulator {
    /// The free memory that it reports.
    bytes: u64,
    source: Source,
}

/// How the kernel's source was compiled: as plain C++, or its CUDA side, with CPU threads for those of a warp.
#[derive(Debug)]
enum Source {
    Plain,
    Warps,
}

impl Emulator {
    pub fn new(bytes: u64) -> Emulator {
        Emulator { bytes, source: Source::Plain }
    }

    pub fn of_warps(bytes: u64) -> Emulator {
        Emulator { bytes, source: Source::Warps }
    }
}

/// Memory of the host, aligned as the kernel needs it.
struct Words(*mut [u128]);

impl Memory for Words {
    fn address(&self) -> u64 {
        self.0.cast::<u8>() as u64
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        // SAFETY: the pointer came from a box in `reserve`, and is freed only here.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl Device for Emulator {
    fn name(&self) -> &str {
        "the kernel on the CPU"
    }

    fn free_bytes(&self) -> Result<u64, DeviceError> {
        Ok(self.bytes)
    }

    fn reserve(&self, bytes: u64) -> Result<Box<dyn Memory>, DeviceError> {
        // Garbage, since nothing may depend on the initial content.
        let words = vec![0xDEAD_BEEF_u128 << 64 | 0x1234; (bytes as usize).div_ceil(16)];
        Ok(Box::new(Words(Box::into_raw(words.into_boxed_slice()))))
    }

    fn write(&self, memory: &dyn Memory, bytes: &[u8]) -> Result<(), DeviceError> {
        // SAFETY: the memory was reserved with at least this length.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory.address() as *mut u8, bytes.len()) };
        Ok(())
    }

    fn launch(&self, kernel: Kernel, plan: &Plan) -> Result<(), DeviceError> {
        let plan = std::ptr::from_ref(plan).cast();
        // SAFETY: the plan's addresses are of memory that was reserved for it.
        unsafe {
            match (&self.source, kernel) {
                (Source::Plain, Kernel::Begin) => straggler_gpu_kernel::straggler_begin(plan),
                (Source::Plain, Kernel::Advance(round)) => {
                    straggler_gpu_kernel::straggler_advance(plan, round)
                }
                (Source::Plain, Kernel::Conclude) => straggler_gpu_kernel::straggler_conclude(plan),
                (Source::Warps, Kernel::Begin) => straggler_gpu_kernel::straggler_warps_begin(plan),
                (Source::Warps, Kernel::Advance(round)) => {
                    straggler_gpu_kernel::straggler_warps_advance(plan, round)
                }
                (Source::Warps, Kernel::Conclude) => straggler_gpu_kernel::straggler_warps_conclude(plan),
            }
        }
        Ok(())
    }

    fn read(&self, memory: &dyn Memory, from: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        let source = (memory.address() + from) as *const u8;
        // SAFETY: the memory was reserved with at least this length.
        unsafe { std::ptr::copy_nonoverlapping(source, bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }
}

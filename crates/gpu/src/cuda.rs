//! An NVIDIA GPU, through the CUDA driver API.

use crate::device::{Device, DeviceError, Kernel, Memory};
use crate::layout::Plan;
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaContext, CudaFunction, CudaModule, CudaStream, DriverError, result, sys};
use cudarc::nvrtc::Ptx;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The kernel compiled for Ampere, and for Hopper and later GPUs.
const AMPERE: &str = include_str!("../kernel/engine_80.ptx");
const HOPPER: &str = include_str!("../kernel/engine_90.ptx");

/// Threads of a block.
const BLOCK: u32 = 128;

/// A GPU that is ready to run the kernel.
#[derive(Debug)]
pub struct Cuda {
    name: String,
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    spares: Arc<Spares>,
    /// How many blocks can run at the same time.
    at_once: u32,
    begin: CudaFunction,
    advance: CudaFunction,
    conclude: CudaFunction,
    _module: Arc<CudaModule>,
}

impl From<DriverError> for DeviceError {
    fn from(error: DriverError) -> DeviceError {
        let text =
            error.error_string().map_or_else(|_| format!("{error:?}"), |text| text.to_string_lossy().into());
        DeviceError::Other(text)
    }
}

/// The GPUs of a machine.
#[derive(Debug)]
pub struct Found {
    /// At least one.
    pub usable: Vec<Cuda>,
    /// Why other GPUs are not usable.
    pub unusable: Vec<DeviceError>,
}

impl Cuda {
    /// Finds all GPUs of the machine. Fails if none can run the kernel.
    pub fn all() -> Result<Found, DeviceError> {
        // SAFETY: the library's constructors run when it is loaded; it is the driver's own.
        if !unsafe { sys::is_culib_present() } {
            return Err(DeviceError::Other("the CUDA driver (libcuda.so) is not installed".into()));
        }
        let count = CudaContext::device_count()?;
        let mut found = Found { usable: Vec::new(), unusable: Vec::new() };
        for ordinal in 0..count {
            match Cuda::new(ordinal as usize) {
                Ok(gpu) => found.usable.push(gpu),
                Err(fault) => found.unusable.push(fault),
            }
        }
        // One usable GPU is enough.
        if !found.usable.is_empty() {
            return Ok(found);
        }
        let nothing = || DeviceError::Other("the CUDA driver finds no GPU".into());
        Err(found.unusable.into_iter().next().unwrap_or_else(nothing))
    }

    /// The GPU with this number.
    pub fn new(ordinal: usize) -> Result<Cuda, DeviceError> {
        let context = CudaContext::new(ordinal)?;
        let (major, minor) = context.compute_capability()?;
        let kernel = match major {
            9.. => HOPPER,
            8 => AMPERE,
            _ => {
                let name = context.name()?;
                let text = format!("{name} has compute capability {major}.{minor}, and 8.0 is needed");
                return Err(DeviceError::Other(text));
            }
        };
        Cuda::with_kernel(context, kernel)
    }

    /// The GPU with this number, with another kernel, for kernel development.
    pub fn with_ptx(ordinal: usize, ptx: &str) -> Result<Cuda, DeviceError> {
        Cuda::with_kernel(CudaContext::new(ordinal)?, ptx)
    }

    fn with_kernel(context: Arc<CudaContext>, ptx: &str) -> Result<Cuda, DeviceError> {
        let module = context.load_module(Ptx::from_src(ptx))?;
        let advance = module.load_function("straggler_advance")?;
        let of_one = advance.occupancy_max_active_blocks_per_multiprocessor(BLOCK, 0, None)?;
        let stream = context.new_stream()?;
        let blocks = Mutex::default();
        Ok(Cuda {
            name: context.name()?,
            spares: Arc::new(Spares { context: context.clone(), stream: stream.clone(), blocks }),
            at_once: multiprocessors(&context)? * of_one.max(1),
            stream,
            begin: module.load_function("straggler_begin")?,
            advance,
            conclude: module.load_function("straggler_conclude")?,
            _module: module,
            context,
        })
    }
}

fn multiprocessors(context: &CudaContext) -> Result<u32, DeviceError> {
    let count = context.attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
    Ok(count.max(1) as u32)
}

/// Unused memory, kept with its sizes. Freeing takes half a millisecond per gigabyte, and the same sizes are often
/// asked for again.
#[derive(Debug)]
struct Spares {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    blocks: Mutex<Vec<(u64, CUdeviceptr)>>,
}

impl Spares {
    fn blocks(&self) -> MutexGuard<'_, Vec<(u64, CUdeviceptr)>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a block of exactly this size, if there is one.
    fn take(&self, bytes: u64) -> Option<CUdeviceptr> {
        let mut blocks = self.blocks();
        let place = blocks.iter().position(|&(size, _)| size == bytes)?;
        Some(blocks.swap_remove(place).1)
    }

    fn bytes(&self) -> u64 {
        self.blocks().iter().map(|&(size, _)| size).sum()
    }

    fn give_back(&self) {
        let blocks = std::mem::take(&mut *self.blocks());
        // A lost GPU has no memory to free.
        if self.context.bind_to_thread().is_ok() && self.stream.synchronize().is_ok() {
            for (_, address) in blocks {
                // SAFETY: the address came from the allocation in `reserve` and is freed only here; nothing uses it any more.
                let _ = unsafe { result::free_sync(address) };
            }
        }
    }
}

impl Drop for Spares {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Memory of a GPU.
struct Held {
    address: CUdeviceptr,
    bytes: u64,
    spares: Arc<Spares>,
}

impl Memory for Held {
    fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.spares.blocks().push((self.bytes, self.address));
    }
}

fn allocate(bytes: u64) -> Result<CUdeviceptr, DeviceError> {
    // SAFETY: the memory is written before anyone reads it.
    unsafe { result::malloc_sync(bytes as usize) }.map_err(|error| match error.0 {
        sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => DeviceError::OutOfMemory { bytes },
        _ => error.into(),
    })
}

impl Device for Cuda {
    fn name(&self) -> &str {
        &self.name
    }

    fn free_bytes(&self) -> Result<u64, DeviceError> {
        Ok(self.context.mem_get_info()?.0 as u64 + self.spares.bytes())
    }

    fn reserve(&self, bytes: u64) -> Result<Box<dyn Memory>, DeviceError> {
        self.context.bind_to_thread()?;
        let address = match self.spares.take(bytes) {
            Some(address) => {
                // Kernels started before may still use it.
                self.stream.synchronize()?;
                address
            }
            None => allocate(bytes).or_else(|fault| match fault {
                DeviceError::OutOfMemory { .. } => {
                    self.spares.give_back();
                    allocate(bytes)
                }
                _ => Err(fault),
            })?,
        };
        Ok(Box::new(Held { address, bytes, spares: self.spares.clone() }))
    }

    fn write(&self, memory: &dyn Memory, bytes: &[u8]) -> Result<(), DeviceError> {
        self.context.bind_to_thread()?;
        // SAFETY: the memory was reserved with at least this length.
        unsafe { result::memcpy_htod_sync(memory.address(), bytes) }?;
        // The copy may still be under way, and kernels run in a stream of their own.
        Ok(self.context.synchronize()?)
    }

    fn launch(&self, kernel: Kernel, plan: &Plan) -> Result<(), DeviceError> {
        use cudarc::driver::{LaunchConfig, PushKernelArg};
        self.context.bind_to_thread()?;
        // Thread numbers have 32 bits. In a round, the threads loop over the marked processes.
        let all = plan.room.div_ceil(u64::from(BLOCK)).max(1) as u32;
        let blocks = match kernel {
            Kernel::Advance(_) => all.min(self.at_once),
            Kernel::Begin | Kernel::Conclude => all,
        };
        let config = LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (BLOCK, 1, 1), shared_mem_bytes: 0 };
        let function = match kernel {
            Kernel::Begin => &self.begin,
            Kernel::Advance(_) => &self.advance,
            Kernel::Conclude => &self.conclude,
        };
        let mut arguments = self.stream.launch_builder(function);
        arguments.arg(plan);
        if let Kernel::Advance(round) = &kernel {
            arguments.arg(round);
        }
        // SAFETY: the plan's addresses are of memory that was reserved for it on this GPU.
        unsafe { arguments.launch(config) }?;
        Ok(())
    }

    fn read(&self, memory: &dyn Memory, from: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.context.bind_to_thread()?;
        self.stream.synchronize()?;
        // SAFETY: the memory was reserved with at least this length, and nothing writes it now.
        Ok(unsafe { result::memcpy_dtoh_sync(bytes, memory.address() + from) }?)
    }
}

// SAFETY: the structure is plain numbers, laid out as the kernel's.
unsafe impl cudarc::driver::DeviceRepr for Plan {}

//! Devices that run the kernel: a GPU, or in tests the CPU.

use crate::layout::Plan;

/// Memory of a device, freed on drop.
pub trait Memory {
    fn address(&self) -> u64;
}

/// The functions of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kernel {
    Begin,
    /// A round, with its number.
    Advance(u32),
    Conclude,
}

/// Why a device operation failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    #[error("no memory for {bytes} bytes")]
    OutOfMemory { bytes: u64 },
    #[error("{0}")]
    Other(String),
}

/// A device that holds memory and runs the kernel.
pub trait Device: Send + Sync {
    /// The name that users see.
    fn name(&self) -> &str;

    /// How much memory could be reserved.
    fn free_bytes(&self) -> Result<u64, DeviceError>;

    /// Reserves memory with arbitrary content.
    fn reserve(&self, bytes: u64) -> Result<Box<dyn Memory>, DeviceError>;

    /// Fills memory from its beginning on.
    fn write(&self, memory: &dyn Memory, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Starts a function of the kernel for all threads of the plan; it runs after all launches before it.
    fn launch(&self, kernel: Kernel, plan: &Plan) -> Result<(), DeviceError>;

    /// Reads memory from byte `from` on, after all launches have ended.
    fn read(&self, memory: &dyn Memory, from: u64, bytes: &mut [u8]) -> Result<(), DeviceError>;
}

impl dyn Device + '_ {
    /// Reserves memory and fills it with `bytes`.
    pub(crate) fn hold(&self, bytes: &[u8]) -> Result<Box<dyn Memory>, DeviceError> {
        let memory = self.reserve(bytes.len() as u64)?;
        self.write(&*memory, bytes)?;
        Ok(memory)
    }
}

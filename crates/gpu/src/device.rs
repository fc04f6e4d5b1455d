//! What runs the kernel: a GPU, or in tests the CPU.

use crate::layout::Plan;

/// Memory of a device; it is given back when this is dropped.
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

/// Why a device did not do what it was asked to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    #[error("no memory for {bytes} bytes")]
    OutOfMemory { bytes: u64 },
    #[error("{0}")]
    Other(String),
}

pub trait Device: Send + Sync {
    /// The name that users see.
    fn name(&self) -> &str;

    /// How much memory could be reserved.
    fn free_bytes(&self) -> Result<u64, DeviceError>;

    /// Memory with arbitrary content.
    fn reserve(&self, bytes: u64) -> Result<Box<dyn Memory>, DeviceError>;

    /// Fills memory from its beginning on.
    fn write(&self, memory: &dyn Memory, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Starts one of the kernel's functions for all threads of the plan, after all that was started before.
    fn launch(&self, kernel: Kernel, plan: &Plan) -> Result<(), DeviceError>;

    /// Reads memory, from a byte on, when all that was started has ended.
    fn read(&self, memory: &dyn Memory, from: u64, bytes: &mut [u8]) -> Result<(), DeviceError>;
}

impl dyn Device + '_ {
    /// Memory with this content.
    pub(crate) fn hold(&self, bytes: &[u8]) -> Result<Box<dyn Memory>, DeviceError> {
        let memory = self.reserve(bytes.len() as u64)?;
        self.write(&*memory, bytes)?;
        Ok(memory)
    }
}

//! The component's memory, as the host uses it while the component runs or waits.

use super::canonical::{aligned, size, word};
use super::imports::State;
use wasmtime::{AsContextMut, Instance, Memory, Result, StoreContextMut, TypedFunc, format_err};

/// What the canonical ABI asks of every component.
pub struct Abi {
    memory: Memory,
    /// Old address, old size, alignment and new size, to an address.
    realloc: TypedFunc<(u32, u32, u32, u32), u32>,
}

impl Abi {
    /// Those of an instance.
    pub fn of(instance: Instance, mut wasm: impl AsContextMut) -> Result<Self> {
        let memory = instance.get_memory(&mut wasm, "memory").ok_or_else(|| format_err!("the component has no memory"))?;
        Ok(Self { memory, realloc: instance.get_typed_func(&mut wasm, "cabi_realloc")? })
    }
}

/// The component's memory.
pub struct Guest<'g> {
    wasm: StoreContextMut<'g, State>,
    memory: Memory,
}

impl<'g> Guest<'g> {
    /// That of the instance in this store.
    #[inline]
    pub fn of(wasm: impl Into<StoreContextMut<'g, State>>) -> Result<Self> {
        let wasm = wasm.into();
        let memory = wasm
            .data()
            .abi
            .as_ref()
            .map(|abi| abi.memory)
            .ok_or_else(|| format_err!("the component's memory is not there, or its allocator is at work"))?;
        Ok(Self { wasm, memory })
    }

    /// The memory, and what belongs to the instance.
    #[inline]
    pub fn parts(&mut self) -> (&mut [u8], &mut State) {
        self.memory.data_and_store_mut(&mut self.wasm)
    }

    /// The memory.
    #[inline]
    pub fn memory(&self) -> &[u8] {
        self.memory.data(&self.wasm)
    }

    /// So many bytes of the component's allocator; of none, an address that is not null.
    #[inline]
    pub fn allocate(&mut self, bytes: usize, align: usize) -> Result<usize> {
        if bytes == 0 {
            return Ok(align);
        }
        // Taken, not cloned: that would count references of its type. The allocator calls no import that would look for it.
        let abi = self.wasm.data_mut().abi.take().ok_or_else(|| format_err!("the component's allocator is at work"))?;
        let at = abi.realloc.call(&mut self.wasm, (0, 0, word(align)?, word(bytes)?));
        self.wasm.data_mut().abi = Some(abi);
        let at = size(at?);
        aligned(at, align)
    }

    /// A piece of the memory.
    #[inline]
    pub fn room(&mut self, at: usize, bytes: usize) -> Result<&mut [u8]> {
        let memory = self.memory.data_mut(&mut self.wasm);
        let length = memory.len();
        let room = at.checked_add(bytes).and_then(|end| memory.get_mut(at..end));
        room.ok_or_else(|| format_err!("the component has {bytes} bytes at {at} written to, of a memory of {length}"))
    }

    /// Writes bytes to a place in memory.
    #[inline]
    pub fn write(&mut self, at: usize, bytes: &[u8]) -> Result<()> {
        self.room(at, bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }
}

//! The component's memory, as the host uses it while the component runs or waits.

use super::canonical::{Lift as _, aligned, size, word};
use super::imports::State;
use super::shelves::Shelves;
use orbweaver_engine::store::Changes;
use wasmtime::{AsContextMut, Instance, Memory, Result, StoreContext, StoreContextMut, TypedFunc, format_err};

/// Pages are copied in pieces: glibc copies 4 KiB and more by one instruction, `rep movsb`, which takes several times as long on AMD's Zen where both
/// places are almost as far from the beginning of a page (its bug 30994).
const COPIED_AT_ONCE: usize = 2048;

/// What the canonical ABI asks of every component, and what ours has besides.
pub struct Abi {
    memory: Memory,
    /// Old address, old size, alignment and new size, to an address.
    realloc: TypedFunc<(u32, u32, u32, u32), u32>,
    shelves: Option<Shelves>,
    /// `None`: this component keeps no pages, or has no room for them.
    pub kept_pages: Option<KeptPages>,
}

/// Where the component has what crosses beside calls, of pages that it keeps: the numbers of the page that it knows, and of the one that it is given;
/// whether there are changes, and where. All of these are words of 8 bytes.
#[derive(Clone, Copy)]
pub struct KeptPages(u32);

impl KeptPages {
    /// The function of the core module that tells where they are.
    const EXPORT: &str = "orbweaver:host/kept-pages@1";

    fn word(self, position: usize) -> usize {
        size(self.0) + position * size_of::<u64>()
    }

    /// The number of the page that the component knows; 0 of none.
    #[inline]
    pub fn known(self, memory: &[u8]) -> Result<u64> {
        u64::lift(memory, self.word(0))
    }

    /// Tells that of the page that it is given.
    #[inline]
    pub fn tell_number(self, guest: &mut Guest<'_>, number: u64) -> Result<()> {
        guest.write(self.word(1), &number.to_le_bytes())
    }

    /// Tells what has changed, beside what it has been told and has not looked at.
    fn tell_changes(self, guest: &mut Guest<'_>, changes: &Changes) -> Result<()> {
        guest.write(self.word(2), &1_u64.to_le_bytes())?;
        for (position, word) in (3..).zip(changes.words()).filter(|(_, word)| **word > 0) {
            let at = self.word(position);
            let told = u64::lift(guest.memory(), at)?;
            guest.write(at, &(told | word).to_le_bytes())?;
        }
        Ok(())
    }
}

impl Abi {
    /// Those of an instance.
    pub fn of(instance: Instance, mut wasm: impl AsContextMut<Data = State>) -> Result<Self> {
        let memory = instance.get_memory(&mut wasm, "memory").ok_or_else(|| format_err!("the component has no memory"))?;
        let realloc = instance.get_typed_func(&mut wasm, "cabi_realloc")?;
        let mut told = |name: &str| match instance.get_func(&mut wasm, name) {
            Some(place) => place.typed::<(), u32>(&wasm)?.call(&mut wasm, ()).map(Some),
            None => Ok(None),
        };
        let (shelves, kept_pages) = (told(Shelves::EXPORT)?.map(Shelves::at), told(KeptPages::EXPORT)?.map(KeptPages));
        let kept_pages = kept_pages.filter(|_| wasm.as_context().data().keeps_pages);
        Ok(Self { memory, realloc, shelves, kept_pages })
    }

    /// The component's memory, to look at.
    pub fn memory<'m>(&self, wasm: impl Into<StoreContext<'m, State>>) -> &'m [u8] {
        self.memory.data(wasm)
    }
}

/// The component's memory.
pub struct Guest<'g> {
    wasm: StoreContextMut<'g, State>,
    memory: Memory,
    shelves: Option<Shelves>,
}

impl<'g> Guest<'g> {
    /// That of the instance in this store.
    #[inline]
    pub fn of(wasm: impl Into<StoreContextMut<'g, State>>) -> Result<Self> {
        let wasm = wasm.into();
        let abi = wasm.data().abi.as_ref();
        let (memory, shelves) = abi
            .map(|abi| (abi.memory, abi.shelves))
            .ok_or_else(|| format_err!("the component's memory is not there, or its allocator is at work"))?;
        Ok(Self { wasm, memory, shelves })
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
        if let Some(shelves) = self.shelves
            && let Some(block) = shelves.take(self.memory.data_mut(&mut self.wasm), bytes, align)
        {
            return Ok(block);
        }
        self.allocate_by_call(bytes, align)
    }

    /// As [`Guest::allocate`], by the component itself.
    #[inline(never)]
    fn allocate_by_call(&mut self, bytes: usize, align: usize) -> Result<usize> {
        // Taken, not cloned: that would count references of its type. The allocator calls no import that would look for it.
        let abi = self.wasm.data_mut().abi.take().ok_or_else(|| format_err!("the component's allocator is at work"))?;
        let at = abi.realloc.call(&mut self.wasm, (0, 0, word(align)?, word(bytes)?));
        self.wasm.data_mut().abi = Some(abi);
        let at = size(at?);
        aligned(at, align)
    }

    /// Tells a component that keeps pages what has changed since it was last told. To be called behind the beginning of each transaction.
    #[inline]
    pub fn tell_changes(&mut self) -> Result<()> {
        let State { store, abi, numbers_pages, .. } = self.wasm.data_mut();
        // As long as it has not been given a number, it keeps none.
        let kept_pages = abi.as_ref().and_then(|abi| abi.kept_pages).filter(|_| *numbers_pages);
        let Some(kept_pages) = kept_pages else { return Ok(()) };
        let changes = store.take_changes();
        if changes == Changes::NONE { Ok(()) } else { kept_pages.tell_changes(self, &changes) }
    }

    /// Gives two blocks back, of so many bytes at these addresses, as the component would do it. Not where that takes a call.
    #[inline]
    pub fn keep(&mut self, blocks: [(u32, usize); 2]) -> bool {
        self.shelves.is_some_and(|shelves| shelves.keep(self.memory.data_mut(&mut self.wasm), blocks))
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
        let room = self.room(at, bytes.len())?;
        if bytes.len() <= COPIED_AT_ONCE {
            // Without the loop, so that what has a known length is a few moves.
            room.copy_from_slice(bytes);
            return Ok(());
        }
        room.chunks_mut(COPIED_AT_ONCE).zip(bytes.chunks(COPIED_AT_ONCE)).for_each(|(room, bytes)| room.copy_from_slice(bytes));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::component::Component;
    use super::super::instance::{Instance, Options};
    use orbweaver_engine::environment::SystemEnvironment;
    use orbweaver_engine::store::MemoryStore;

    #[test]
    fn the_component_tells_of_its_free_blocks() -> wasmtime::Result<()> {
        let environment = Box::new(SystemEnvironment::default());
        let instance = Instance::new(&Component::load()?, Box::new(MemoryStore::new()), environment, &Options::default());
        let mut instance = instance.map_err(|(error, _)| wasmtime::Error::msg(error.to_string()))?;
        assert!(instance.state().abi.as_ref().is_some_and(|abi| abi.shelves.is_some()));
        Ok(())
    }
}

//! How values of WIT types cross: where they lie in the component's memory, and how they are passed, by the
//! [canonical ABI](https://github.com/WebAssembly/component-model/blob/main/design/mvp/CanonicalABI.md).
//!
//! By hand instead of by wasmtime's component functions, for a call is short here: their ways to a memory, to a function that allocates in it
//! and to the results were a quarter of a lone GET (docs/boundary.md). What the component gives is not trusted: an address outside
//! of its memory, a case that there is not and text that is no UTF-8 are errors, which end the instance as a trap does.

use super::bindings::exports::orbweaver::engine::keys::ExpireWhen;
use bytes::Bytes;
use smallvec::SmallVec;
use wasmtime::{Result, bail, format_err};

pub use super::guest::Guest;
/// Derives all three traits for records and variants.
pub use orbweaver_canonical::Canonical;

/// Parameters, flat: integers as they are, floats as their bits.
pub type Flat = SmallVec<[u64; Shape::MOST_FLAT]>;

/// What the memory of a value looks like.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// How many bytes it takes.
    pub size: usize,
    /// Its addresses are multiples of this.
    pub align: usize,
    /// How many parameters it is, where it is passed flat.
    pub flat: usize,
    /// Where the payload of a variant begins.
    pub payload: usize,
}

impl Shape {
    /// What is more than this crosses in memory.
    pub const MOST_FLAT: usize = 16;
    /// An address and a length.
    const LIST: Self = Self { size: 8, align: 4, flat: 2, payload: 0 };
    const NOTHING: Self = Self::of_number(0, 1, 0);

    const fn of_number(size: usize, align: usize, flat: usize) -> Self {
        Self { size, align, flat, payload: 0 }
    }

    /// A record of these fields.
    #[must_use]
    pub const fn of_record(fields: &[Self]) -> Self {
        let (mut record, mut left) = (Self::NOTHING, fields);
        while let Some((field, behind)) = left.split_first() {
            record.size = up(record.size, field.align) + field.size;
            record.align = if field.align > record.align { field.align } else { record.align };
            record.flat += field.flat;
            left = behind;
        }
        record.size = up(record.size, record.align);
        record
    }

    /// A variant of 256 cases at most, some of which have these payloads.
    #[must_use]
    pub const fn of_variant(payloads: &[Self]) -> Self {
        let (mut largest, mut left) = (Self::NOTHING, payloads);
        while let Some((payload, behind)) = left.split_first() {
            largest.size = if payload.size > largest.size { payload.size } else { largest.size };
            largest.align = if payload.align > largest.align { payload.align } else { largest.align };
            largest.flat = if payload.flat > largest.flat { payload.flat } else { largest.flat };
            left = behind;
        }
        let payload = largest.align;
        Self { size: up(payload + largest.size, largest.align), align: largest.align, flat: largest.flat + 1, payload }
    }
}

/// The next multiple of `align`, which is a power of two.
const fn up(address: usize, align: usize) -> usize {
    (address + align - 1) & !(align - 1)
}

/// Where the fields of a record are, one behind the other.
pub struct Place(usize);

impl Place {
    /// Those of a record at this address.
    #[must_use]
    pub const fn at(address: usize) -> Self {
        Self(address)
    }

    /// The next field.
    pub const fn of<T: Canonical + ?Sized>(&mut self) -> usize {
        let at = up(self.0, T::SHAPE.align);
        self.0 = at + T::SHAPE.size;
        at
    }
}

/// A value that crosses.
pub trait Canonical {
    /// How it lies in memory.
    const SHAPE: Shape;
}

/// One that the component is given.
pub trait Lower: Canonical {
    /// Writes it to its image: zeros, as many as it takes bytes. Lists go to memory that the component allocates.
    fn lower(&self, guest: &mut Guest<'_>, image: &mut [u8]) -> Result<()>;

    /// Appends it to parameters.
    fn flatten(&self, guest: &mut Guest<'_>, flat: &mut Flat) -> Result<()>;

    /// Writes several, one behind the other.
    fn lower_all(all: &[Self], guest: &mut Guest<'_>, at: usize) -> Result<()>
    where
        Self: Sized,
    {
        let mut place = Place::at(at);
        all.iter().try_for_each(|one| write(one, guest, place.of::<Self>()))
    }
}

/// No value of `wit/` takes more.
const MOST_BYTES: usize = 128;

/// Writes a value to where there is room for it, at once: to look for the memory is a part of what a short call takes.
#[inline(always)]
pub fn write<T: Lower>(value: &T, guest: &mut Guest<'_>, at: usize) -> Result<()> {
    const { assert!(T::SHAPE.size <= MOST_BYTES, "a large value") };
    let mut image = [0; MOST_BYTES];
    let image = image.get_mut(..T::SHAPE.size).unwrap_or_default();
    value.lower(guest, image)?;
    guest.write(at, image)
}

/// The image of a part of a value.
#[inline(always)]
pub fn part(image: &mut [u8], at: usize) -> &mut [u8] {
    image.get_mut(at..).unwrap_or_default()
}

/// Puts bytes at the head of an image.
#[inline(always)]
pub fn put<const N: usize>(image: &mut [u8], bytes: [u8; N]) -> Result<()> {
    *image.first_chunk_mut().ok_or_else(|| format_err!("a value has no room for {N} bytes of it"))? = bytes;
    Ok(())
}

/// One that the component gives.
pub trait Lift: Canonical + Sized {
    /// Reads it.
    fn lift(memory: &[u8], at: usize) -> Result<Self>;

    /// Reads `count` of them, one behind the other, whose bytes are known to be there.
    fn lift_all(memory: &[u8], at: usize, count: usize) -> Result<Vec<Self>> {
        let (mut place, mut all) = (Place::at(at), Vec::with_capacity(count));
        for _ in 0..count {
            all.push(Self::lift(memory, place.of::<Self>())?);
        }
        Ok(all)
    }
}

/// A piece of the component's memory.
#[inline]
pub fn piece(memory: &[u8], at: usize, length: usize) -> Result<&[u8]> {
    let piece = at.checked_add(length).and_then(|end| memory.get(at..end));
    piece.ok_or_else(|| format_err!("the component gives {length} bytes at {at} of a memory of {}", memory.len()))
}

/// The bytes of a number.
#[inline]
fn number<const N: usize>(memory: &[u8], at: usize) -> Result<[u8; N]> {
    let bytes = memory.get(at..).and_then(|behind| behind.first_chunk());
    bytes.copied().ok_or_else(|| format_err!("the component gives a value at {at} of a memory of {} bytes", memory.len()))
}

/// The error for a case that a variant does not have.
pub fn no_case<T>(case: u8) -> Result<T> {
    bail!("the component gives case {case} of a variant that has not so many")
}

/// An address or a length, as the component has it.
#[inline]
pub fn word(number: usize) -> Result<u32> {
    u32::try_from(number).map_err(|_| format_err!("{number} bytes do not fit into the component's memory"))
}

/// A number of the component's as one of the host's.
#[inline]
pub fn size(word: u32) -> usize {
    usize::try_from(word).unwrap_or(usize::MAX)
}

/// An address that the component gives for what is to lie at multiples of `align`.
#[inline]
pub fn aligned(at: usize, align: usize) -> Result<usize> {
    if !at.is_multiple_of(align) {
        bail!("the component gives {at} as an address, which is no multiple of {align}");
    }
    Ok(at)
}

/// The list of an address and a length.
#[inline]
pub fn list<T: Lift>(memory: &[u8], at: u32, count: u32) -> Result<Vec<T>> {
    let (at, count) = (aligned(size(at), T::SHAPE.align)?, size(count));
    piece(memory, at, count.saturating_mul(T::SHAPE.size))?;
    T::lift_all(memory, at, count)
}

macro_rules! numbers {
    ($($number:ty: $size:literal),*) => {$(
        impl Canonical for $number {
            const SHAPE: Shape = Shape::of_number($size, $size, 1);
        }

        impl Lower for $number {
            #[inline(always)]
            fn lower(&self, _guest: &mut Guest<'_>, image: &mut [u8]) -> Result<()> {
                put(image, self.to_le_bytes())
            }

            fn flatten(&self, _guest: &mut Guest<'_>, flat: &mut Flat) -> Result<()> {
                let mut bits = [0; 8];
                bits.iter_mut().zip(self.to_le_bytes()).for_each(|(bits, byte)| *bits = byte);
                flat.push(u64::from_le_bytes(bits));
                Ok(())
            }

            fn lower_all(all: &[Self], guest: &mut Guest<'_>, at: usize) -> Result<()> {
                let room = guest.room(at, all.len() * $size)?;
                room.chunks_exact_mut($size).zip(all).for_each(|(room, number)| room.copy_from_slice(&number.to_le_bytes()));
                Ok(())
            }
        }

        impl Lift for $number {
            fn lift(memory: &[u8], at: usize) -> Result<Self> {
                Ok(Self::from_le_bytes(number(memory, at)?))
            }

            fn lift_all(memory: &[u8], at: usize, count: usize) -> Result<Vec<Self>> {
                let numbers = piece(memory, at, count.saturating_mul($size))?.as_chunks().0;
                Ok(numbers.iter().map(|&bytes| Self::from_le_bytes(bytes)).collect())
            }
        }
    )*};
}

numbers!(u32: 4, u64: 8, i64: 8, f64: 8);

impl Canonical for u8 {
    const SHAPE: Shape = Shape::of_number(1, 1, 1);
}

impl Lower for u8 {
    #[inline(always)]
    fn lower(&self, _guest: &mut Guest<'_>, image: &mut [u8]) -> Result<()> {
        put(image, [*self])
    }

    fn flatten(&self, _guest: &mut Guest<'_>, flat: &mut Flat) -> Result<()> {
        flat.push((*self).into());
        Ok(())
    }

    fn lower_all(all: &[Self], guest: &mut Guest<'_>, at: usize) -> Result<()> {
        guest.write(at, all)
    }
}

impl Lift for u8 {
    fn lift(memory: &[u8], at: usize) -> Result<Self> {
        number(memory, at).map(|[byte]| byte)
    }

    fn lift_all(memory: &[u8], at: usize, count: usize) -> Result<Vec<Self>> {
        piece(memory, at, count).map(<[Self]>::to_vec)
    }
}

impl Canonical for bool {
    const SHAPE: Shape = u8::SHAPE;
}

impl Lower for bool {
    #[inline(always)]
    fn lower(&self, guest: &mut Guest<'_>, image: &mut [u8]) -> Result<()> {
        u8::from(*self).lower(guest, image)
    }

    fn flatten(&self, guest: &mut Guest<'_>, flat: &mut Flat) -> Result<()> {
        u8::from(*self).flatten(guest, flat)
    }
}

impl Lift for bool {
    fn lift(memory: &[u8], at: usize) -> Result<Self> {
        Ok(u8::lift(memory, at)? != 0)
    }
}

impl<T: Canonical + ?Sized> Canonical for &T {
    const SHAPE: Shape = T::SHAPE;
}

impl<T: Lower + ?Sized> Lower for &T {
    #[inline(always)]
    fn lower(&self, guest: &mut Guest<'_>, image: &mut [u8]) -> Result<()> {
        T::lower(self, guest, image)
    }

    fn flatten(&self, guest: &mut Guest<'_>, flat: &mut Flat) -> Result<()> {
        T::flatten(self, guest, flat)
    }
}

impl<T: Canonical> Canonical for [T] {
    const SHAPE: Shape = Shape::LIST;
}

/// Puts a list into memory that the component allocates for it.
#[inline(always)]
pub fn placed<T: Lower>(list: &[T], guest: &mut Guest<'_>) -> Result<(u32, u32)> {
    if list.is_empty() {
        // At an address that is not null.
        return Ok((word(T::SHAPE.align)?, 0));
    }
    let bytes = list.len().checked_mul(T::SHAPE.size).ok_or_else(|| format_err!("a list is too long"))?;
    let at = guest.allocate(bytes, T::SHAPE.align)?;
    T::lower_all(list, guest, at)?;
    Ok((word(at)?, word(list.len())?))
}

impl<T: Lower> Lower for [T] {
    #[inline(always)]
    fn lower(&self, guest: &mut Guest<'_>, image: &mut [u8]) -> Result<()> {
        let (start, count) = placed(self, guest)?;
        put(image, start.to_le_bytes())?;
        put(part(image, size_of::<u32>()), count.to_le_bytes())
    }

    fn flatten(&self, guest: &mut Guest<'_>, flat: &mut Flat) -> Result<()> {
        let (start, count) = placed(self, guest)?;
        flat.extend([start.into(), count.into()]);
        Ok(())
    }
}

/// What lies in memory as the list that it is taken for.
macro_rules! lists {
    ($($owned:ty $(, of $element:ident)?: $list:ident, $lent:ty;)*) => {$(
        impl$(<$element: Canonical>)? Canonical for $owned {
            const SHAPE: Shape = Shape::LIST;
        }

        impl$(<$element: Lower>)? Lower for $owned {
            #[inline(always)]
            fn lower(&self, guest: &mut Guest<'_>, image: &mut [u8]) -> Result<()> {
                <$lent>::lower(self.$list(), guest, image)
            }

            fn flatten(&self, guest: &mut Guest<'_>, flat: &mut Flat) -> Result<()> {
                <$lent>::flatten(self.$list(), guest, flat)
            }
        }
    )*};
}

lists! {
    Vec<T>, of T: as_slice, [T];
    str: as_bytes, [u8];
    String: as_bytes, [u8];
    Bytes: as_ref, [u8];
}

impl<T: Lift> Lift for Vec<T> {
    fn lift(memory: &[u8], at: usize) -> Result<Self> {
        list(memory, u32::lift(memory, at)?, u32::lift(memory, at + 4)?)
    }
}

impl Lift for String {
    fn lift(memory: &[u8], at: usize) -> Result<Self> {
        Self::from_utf8(Vec::lift(memory, at)?).map_err(|_| format_err!("the component gives a text that is no UTF-8"))
    }
}

impl Lift for Bytes {
    fn lift(memory: &[u8], at: usize) -> Result<Self> {
        Vec::lift(memory, at).map(Self::from)
    }
}

impl<T: Canonical> Canonical for Option<T> {
    const SHAPE: Shape = Shape::of_variant(&[T::SHAPE]);
}

impl<T: Lower> Lower for Option<T> {
    fn lower(&self, guest: &mut Guest<'_>, image: &mut [u8]) -> Result<()> {
        put(image, [self.is_some().into()])?;
        self.as_ref().map_or(Ok(()), |some| some.lower(guest, part(image, Self::SHAPE.payload)))
    }

    fn flatten(&self, guest: &mut Guest<'_>, flat: &mut Flat) -> Result<()> {
        let end = flat.len() + Self::SHAPE.flat;
        flat.push(self.is_some().into());
        self.as_ref().map_or(Ok(()), |some| some.flatten(guest, flat))?;
        flat.resize(end, 0);
        Ok(())
    }
}

impl<T: Lift> Lift for Option<T> {
    fn lift(memory: &[u8], at: usize) -> Result<Self> {
        match u8::lift(memory, at)? {
            0 => Ok(None),
            1 => T::lift(memory, at + Self::SHAPE.payload).map(Some),
            case => no_case(case),
        }
    }
}

impl<T: Canonical, E: Canonical> Canonical for Result<T, E> {
    const SHAPE: Shape = Shape::of_variant(&[T::SHAPE, E::SHAPE]);
}

impl<T: Lower, E: Lower> Lower for Result<T, E> {
    #[inline(always)]
    fn lower(&self, guest: &mut Guest<'_>, image: &mut [u8]) -> Result<()> {
        put(image, [self.is_err().into()])?;
        let payload = part(image, Self::SHAPE.payload);
        match self {
            Ok(done) => done.lower(guest, payload),
            Err(error) => error.lower(guest, payload),
        }
    }

    fn flatten(&self, guest: &mut Guest<'_>, flat: &mut Flat) -> Result<()> {
        let end = flat.len() + Self::SHAPE.flat;
        flat.push(self.is_err().into());
        match self {
            Ok(done) => done.flatten(guest, flat)?,
            Err(error) => error.flatten(guest, flat)?,
        }
        flat.resize(end, 0);
        Ok(())
    }
}

impl<T: Lift, E: Lift> Lift for Result<T, E> {
    fn lift(memory: &[u8], at: usize) -> Result<Self> {
        let payload = at + Self::SHAPE.payload;
        match u8::lift(memory, at)? {
            0 => T::lift(memory, payload).map(Ok),
            1 => E::lift(memory, payload).map(Err),
            case => no_case(case),
        }
    }
}

macro_rules! tuples {
    ($(($($part:ident),*))*) => {$(
        impl<$($part: Canonical),*> Canonical for ($($part,)*) {
            const SHAPE: Shape = Shape::of_record(&[$($part::SHAPE),*]);
        }

        #[allow(non_snake_case, unused_variables, unused_mut, clippy::allow_attributes)]
        impl<$($part: Lower),*> Lower for ($($part,)*) {
            #[inline(always)]
            fn lower(&self, guest: &mut Guest<'_>, image: &mut [u8]) -> Result<()> {
                let ($($part,)*) = self;
                let mut place = Place::at(0);
                $($part.lower(guest, part(image, place.of::<$part>()))?;)*
                Ok(())
            }

            fn flatten(&self, guest: &mut Guest<'_>, flat: &mut Flat) -> Result<()> {
                let ($($part,)*) = self;
                $($part.flatten(guest, flat)?;)*
                Ok(())
            }
        }

        #[allow(unused_variables, unused_mut, clippy::allow_attributes)]
        impl<$($part: Lift),*> Lift for ($($part,)*) {
            fn lift(memory: &[u8], at: usize) -> Result<Self> {
                let mut place = Place::at(at);
                Ok(($($part::lift(memory, place.of::<$part>())?,)*))
            }
        }
    )*};
}

tuples! { () (A) (A, B) (A, B, C) (A, B, C, D) (A, B, C, D, E) }

/// The only flags; each is a bit of one byte, in this order.
const EXPIRE_WHEN: [ExpireWhen; 4] = [ExpireWhen::NEVER, ExpireWhen::EXPIRES, ExpireWhen::LATER, ExpireWhen::EARLIER];

impl ExpireWhen {
    fn bits(self) -> u8 {
        EXPIRE_WHEN.iter().rev().fold(0, |bits, &flag| (bits << 1) | u8::from(self & flag == flag))
    }
}

impl Canonical for ExpireWhen {
    const SHAPE: Shape = u8::SHAPE;
}

impl Lower for ExpireWhen {
    fn lower(&self, guest: &mut Guest<'_>, image: &mut [u8]) -> Result<()> {
        self.bits().lower(guest, image)
    }

    fn flatten(&self, guest: &mut Guest<'_>, flat: &mut Flat) -> Result<()> {
        self.bits().flatten(guest, flat)
    }
}

impl Lift for ExpireWhen {
    fn lift(memory: &[u8], at: usize) -> Result<Self> {
        let bits = u8::lift(memory, at)?;
        let set = EXPIRE_WHEN.into_iter().zip(0..).filter(|(_, place)| (bits >> place) & 1 == 1);
        Ok(set.fold(Self::empty(), |all, (flag, _)| all | flag))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::bindings::exports::orbweaver::engine::{keys::KeyExpiry, resp, types};
    use crate::runtime::bindings::orbweaver::kv::store;

    fn shape<T: Canonical>() -> (usize, usize, usize) {
        let Shape { size, align, flat, .. } = T::SHAPE;
        (size, align, flat)
    }

    #[test]
    fn records_and_variants_lie_as_the_canonical_abi_says() {
        // A u64, a u32, a u64, a u32, a bool, and at 32 an option of an address and a length.
        assert_eq!(shape::<resp::Answer>(), (48, 8, 8));
        // A case, and at 8 a text and a u64.
        assert_eq!(shape::<store::Error>(), (24, 8, 4));
        assert_eq!(shape::<resp::Deliveries>(), (16, 8, 3));
        assert_eq!(shape::<types::Condition>(), (1, 1, 1));
        assert_eq!(shape::<Result<(), bool>>(), (2, 1, 2));
        assert_eq!(shape::<(bool, f64, &[u8])>(), (24, 8, 4));
        assert_eq!((Result::<u32, store::Error>::SHAPE.payload, Option::<u32>::SHAPE.payload, Option::<bool>::SHAPE.payload), (8, 4, 1));
    }

    #[test]
    fn values_are_read_from_their_places() -> Result<()> {
        let mut memory = vec![0; 8];
        memory.extend([7, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 9, 9, 9, 9, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 1, 9, 9, 9]);
        memory.extend([1, 9, 9, 9, 0, 0, 0, 0, 3, 0, 0, 0]);
        memory.iter_mut().zip(b"abc").for_each(|(byte, &letter)| *byte = letter);
        let resp::Answer { connection, consumed, needed, end, close, state } = Lift::lift(&memory, 8)?;
        assert_eq!((connection, consumed, needed, end, close, state.as_deref()), (7, 2, 3, 4, true, Some(&b"abc"[..])));
        let expiry: Result<KeyExpiry, String> = Lift::lift(&[0, 9, 9, 9, 9, 9, 9, 9, 2, 9, 9, 9, 9, 9, 9, 9, 5, 0, 0, 0, 0, 0, 0, 0], 0)?;
        assert!(matches!(expiry, Ok(KeyExpiry::AtMs(5))));
        let numbers: Vec<u64> = list(&[1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0], 0, 2)?;
        assert_eq!(numbers, [1, 2]);
        Ok(())
    }

    #[test]
    fn what_the_component_must_not_give_is_an_error() {
        let memory = [1, 0, 0, 0, 8, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 7];
        let error = |result: Result<String>| result.err().map(|error| error.to_string()).unwrap_or_default();
        // Eight bytes at one are there, and no text; 2^32 - 1 at eight are not.
        assert!(error(String::lift(&memory, 0)).contains("UTF-8"));
        assert!(error(String::lift(&memory, 4)).contains("4294967295 bytes at 8"));
        // Half a number, a list that would be longer than any memory, one that is not aligned.
        assert!(u32::lift(&memory, 10).is_err() && u32::lift(&memory, usize::MAX).is_err());
        assert!(list::<resp::Answer>(&memory, 0, u32::MAX).is_err() && list::<u32>(&memory, 1, 1).is_err());
        // Cases that there are not.
        assert!(bool::lift(&memory, 12).is_ok() && Option::<u8>::lift(&memory, 12).is_err() && KeyExpiry::lift(&memory, 12).is_err());
        assert!(Result::<(), u8>::lift(&memory, 12).is_err());
    }
}

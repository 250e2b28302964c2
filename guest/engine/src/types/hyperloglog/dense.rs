//! The dense representation: registers of six bits, one after the other, each byte filled from its lowest bit.

use super::REGISTERS;

/// Bits of a register.
const BITS: usize = 6;
const MASK: u16 = (1 << BITS) - 1;
/// Bytes of all registers.
pub(super) const BYTES: usize = REGISTERS * BITS / 8;

/// The byte that a register begins in, and the bit there.
fn place(register: usize) -> (usize, usize) {
    (register * BITS / 8, register * BITS % 8)
}

/// The byte and the one after it, in which every register is whole.
fn pair(registers: &[u8], byte: usize) -> u16 {
    let at = |byte: usize| registers.get(byte).copied().unwrap_or_default();
    u16::from_le_bytes([at(byte), at(byte + 1)])
}

/// The value of a register.
pub(super) fn get(registers: &[u8], register: usize) -> u8 {
    let (byte, bit) = place(register);
    let [value, _] = (pair(registers, byte) >> bit & MASK).to_le_bytes();
    value
}

/// Stores a value, which is below 64.
pub(super) fn set(registers: &mut [u8], register: usize, value: u8) {
    let (byte, bit) = place(register);
    let new = pair(registers, byte) & !(MASK << bit) | (u16::from(value) & MASK) << bit;
    for (offset, new) in new.to_le_bytes().into_iter().enumerate() {
        if let Some(old) = registers.get_mut(byte + offset) {
            *old = new;
        }
    }
}

/// The values of all registers.
pub(super) fn all(registers: &[u8]) -> impl Iterator<Item = u8> {
    (0..REGISTERS).map(|register| get(registers, register))
}

#[cfg(test)]
mod tests {
    use super::{BYTES, REGISTERS, all, set};

    #[test]
    fn every_register_keeps_its_value_beside_the_others() {
        let value = |register: usize| u8::try_from(register * 37 % 64).unwrap();
        let mut registers = vec![0xff; BYTES];
        for register in (0..REGISTERS).rev() {
            set(&mut registers, register, value(register));
        }
        assert!(all(&registers).eq((0..REGISTERS).map(value)));
    }

    #[test]
    fn registers_fill_bytes_from_the_lowest_bit() {
        let mut registers = vec![0; BYTES];
        set(&mut registers, 0, 0b10_0001);
        set(&mut registers, 1, 0b11_0110);
        assert_eq!(registers[..3], [0b1010_0001, 0b1101, 0]);
    }
}

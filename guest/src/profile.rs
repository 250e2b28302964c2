//! How often each branch was taken since the instance was made, for a build with `-Cprofile-generate` (`cargo xtask profile`).
//!
//! A runtime of its own, because one from a crate would give the guest other dependencies, and with them its functions other names
//! than those in the build that uses the profile. The format is LLVM's raw profile (`llvm/ProfileData/InstrProfData.inc`, version 10).

#![expect(unsafe_code, reason = "the linker's symbols lead to what the compiler has put in")]

use std::ptr::addr_of;

/// The version of the format, and that the counters are the compiler's own, not those of its front end.
const VERSION: u64 = 10 | 1 << 56;
/// "lprofR" between 255 and 129: of a program with pointers of 32 bits.
const MAGIC: u64 = u64::from_be_bytes(*b"\xfflprofR\x81");
/// The last kind of values that counters could have been about.
const LAST_VALUE_KIND: u64 = 2;

unsafe extern "C" {
    static __start___llvm_prf_data: u8;
    static __stop___llvm_prf_data: u8;
    static __start___llvm_prf_cnts: u8;
    static __stop___llvm_prf_cnts: u8;
    static __start___llvm_prf_names: u8;
    static __stop___llvm_prf_names: u8;
}

/// Counted code asks for it, to bring in a runtime that is not needed here.
#[unsafe(no_mangle)]
static __llvm_profile_runtime: i32 = 0;

/// The bytes of a file for `llvm-profdata merge`.
pub fn raw() -> Vec<u8> {
    // SAFETY: the linker defines them around what the compiler has put in for each function. There is one thread; that code which runs
    // here counts meanwhile makes a number smaller or larger by one.
    let (data, counters, names) = unsafe {
        (
            section(addr_of!(__start___llvm_prf_data), addr_of!(__stop___llvm_prf_data)),
            section(addr_of!(__start___llvm_prf_cnts), addr_of!(__stop___llvm_prf_cnts)),
            section(addr_of!(__start___llvm_prf_names), addr_of!(__stop___llvm_prf_names)),
        )
    };
    // Addresses are of 32 bits, and so is their difference.
    let from_data_to_counters = (counters.as_ptr().addr() as u32).wrapping_sub(data.as_ptr().addr() as u32);
    let header = [
        MAGIC,
        VERSION,
        0,
        (data.len() / RECORD_BYTES) as u64,
        0,
        (counters.len() / size_of::<u64>()) as u64,
        0,
        0,
        0,
        names.len() as u64,
        u64::from(from_data_to_counters),
        0,
        names.as_ptr().addr() as u64,
        0,
        0,
        LAST_VALUE_KIND,
    ];
    let mut file: Vec<u8> = header.iter().flat_map(|field| field.to_le_bytes()).collect();
    for part in [data, counters, names] {
        file.extend_from_slice(part);
        file.resize(file.len().next_multiple_of(size_of::<u64>()), 0);
    }
    file
}

/// What the compiler says of one function: two hashes, four addresses, three kinds of numbers, all aligned to 8 bytes.
const RECORD_BYTES: usize = 48;

/// What stands between two symbols of the linker.
unsafe fn section(start: *const u8, stop: *const u8) -> &'static [u8] {
    // SAFETY: the caller's, who names a section's two ends.
    unsafe { std::slice::from_raw_parts(start, stop.addr() - start.addr()) }
}

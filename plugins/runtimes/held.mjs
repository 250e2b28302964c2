// A clock that stands still and randomness from a seed, as the engine's `HeldEnvironment`: for hosts in JavaScript.

/** The function `now` of a clock that shows these Unix milliseconds. */
export const heldClock = (ms) => () => ({ seconds: BigInt(ms) / 1000n, nanoseconds: Number(BigInt(ms) % 1000n) * 1_000_000 });

const u64 = (number) => BigInt.asUintN(64, number);

/** The function `get-random-u64` of SplitMix64. */
export function heldRandomness(seed) {
  let state = BigInt(seed);
  return () => {
    state = u64(state + 0x9e3779b97f4a7c15n);
    let z = state;
    z = u64((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = u64((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return z ^ (z >> 31n);
  };
}

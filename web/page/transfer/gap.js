// How long the page was ever kept from answering: the longest gap between two timers.

const EVERY_MS = 8;

/** Measures until the returned function is called, which tells the longest gap in milliseconds. @returns {() => number} */
export function measureGaps() {
  let longest = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }, EVERY_MS);
  return () => {
    clearInterval(timer);
    return Math.max(longest, performance.now() - last);
  };
}

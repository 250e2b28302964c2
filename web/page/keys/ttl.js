// Times to live that count down.

const SECOND = 1000;
const UNITS = [['d', 86_400_000], ['h', 3_600_000], ['m', 60_000]];

/** What is left until a time, for people. @param {number} expiresAt @param {number} [now] Both in Unix milliseconds. */
export function left(expiresAt, now = Date.now()) {
  const ms = Math.max(0, expiresAt - now);
  const [, minute] = UNITS[2];
  if (ms < Number(minute)) return `${Math.ceil(ms / SECOND)} s`;
  const [first, second] = UNITS.map(([unit, length], position) => {
    const whole = position > 0 ? ms % Number(UNITS[position - 1][1]) : ms;
    return { unit, count: Math.floor(whole / Number(length)) };
  }).filter(({ count }, position, all) => count > 0 || all.slice(0, position).some((before) => before.count > 0));
  const seconds = { unit: 's', count: Math.floor((ms % Number(minute)) / SECOND) };
  return [first, second ?? seconds].map(({ unit, count }) => `${count} ${unit}`).join(' ');
}

/** Calls back about every second, while the page is seen. @param {() => void} listener */
export function everySecond(listener) {
  setInterval(() => !document.hidden && listener(), SECOND);
}

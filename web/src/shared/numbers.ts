// Numbers: limits, rounding, and how they are written for people.

export const clamp = (x: number, low: number, high: number): number =>
  Math.max(low, Math.min(high, x));

/** Index of the last value that is not above `t` (0 if there is none). */
export function lastNotAfter(times: ArrayLike<number>, t: number): number {
  let low = 0;
  let high = times.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle;
    else high = middle;
  }
  return low;
}

/** 1, 2 or 5 times a power of ten, not above `x`. */
export function roundDown(x: number): number {
  const power = 10 ** Math.floor(Math.log10(x));
  if (x / power >= 5) return 5 * power;
  if (x / power >= 2) return 2 * power;
  return power;
}

function digits(x: number): string {
  const size = Math.abs(x);
  if (size === 0) return '0';
  if (size >= 1e5 || size < 1e-3) return x.toExponential(2);
  if (size >= 1000) return x.toFixed(0);
  return x.toPrecision(4);
}

/** A number for people: about four digits, with a real minus sign. */
export function pretty(x: number): string {
  if (Number.isNaN(x)) return '–';
  if (!Number.isFinite(x)) return x > 0 ? '∞' : '−∞';
  return digits(x).replace(/-/g, '−').replace('e+', 'e');
}

/** Four decimals; what rounds to zero has no sign. */
export function fourDecimals(x: number): string {
  const shown = Math.abs(x) < 5e-5 ? 0 : x;
  return shown.toFixed(4).replace('-', '−');
}

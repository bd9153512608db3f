// Curves from what was recorded: from samples, or from an overview (smallest and largest values in
// columns of equal width).
import { lastNotAfter } from '../shared/numbers';
import type { Overview, Samples } from './protocol';
import type { Curves } from './source';

/** Gaps of up to this many empty columns are closed: there a signal has fewer samples than
 *  columns, and lines should run on. */
const SHORT_GAP = 3;

/** The middle of a column. */
const columnTime = (t0: number, t1: number, columns: number, c: number): number =>
  t0 + ((c + 0.5) * (t1 - t0)) / columns;

function isEmptyColumn(o: Overview, c: number): boolean {
  for (let i = 0; i < o.signals.length; ++i)
    if (!Number.isNaN(o.min[i * o.columns + c])) return false;
  return true;
}

/** Columns of an overview to draw: all but the empty ones in short gaps. */
function columnsToDraw(o: Overview): number[] {
  const keep: number[] = [];
  let gap: number[] = [];
  for (let c = 0; c < o.columns; ++c) {
    if (isEmptyColumn(o, c)) {
      gap.push(c);
      continue;
    }
    if (gap.length > SHORT_GAP) keep.push(...gap);
    gap = [];
    keep.push(c);
  }
  return keep;
}

export function curvesOfOverview(o: Overview): Curves {
  const keep = columnsToDraw(o);
  const pick = (from: Float32Array, i: number) =>
    Float32Array.from(keep, (c) => from[i * o.columns + c]);
  return {
    signals: Array.from(o.signals),
    x: Float64Array.from(keep, (c) => columnTime(o.t0, o.t1, o.columns, c)),
    lo: Array.from(o.signals, (_, i) => pick(o.min, i)),
    hi: Array.from(o.signals, (_, i) => pick(o.max, i)),
    exact: false,
  };
}

export function curvesOfSamples(samples: Samples): Curves {
  const width = samples.signals.length;
  const lo = Array.from({ length: width }, (_, i) =>
    Float64Array.from(samples.times, (_t, k) => samples.values[k * width + i]),
  );
  return { signals: Array.from(samples.signals), x: samples.times, lo, hi: lo, exact: true };
}

/** Widens the range from `lo[k]` to `hi[k]` so that it holds a value; NaN changes nothing. */
function widen(lo: Float64Array | Float32Array, hi: typeof lo, k: number, low: number, high = low) {
  if (!Number.isNaN(low) && !(low >= lo[k])) lo[k] = low;
  if (!Number.isNaN(high) && !(high <= hi[k])) hi[k] = high;
}

/** Curves of a whole record; `columnOf`: where each signal is stored, -1 if it is not. */
export function curvesFromRecord(
  record: Samples,
  signals: number[],
  columnOf: (signal: number) => number,
  [t0, t1]: [number, number],
  columns: number,
): Curves {
  const width = record.signals.length;
  const first = lastNotAfter(record.times, t0);
  const end = Math.min(record.times.length, lastNotAfter(record.times, t1) + 2);
  const stored = signals.map(columnOf);
  const value = (k: number, c: number) => (c < 0 ? NaN : record.values[k * width + c]);
  if (end - first <= 2 * columns) {
    const lo = stored.map((c) =>
      Float64Array.from({ length: end - first }, (_, k) => value(first + k, c)),
    );
    return { signals, x: record.times.slice(first, end), lo, hi: lo, exact: true };
  }
  const x = Float64Array.from({ length: columns }, (_, c) => columnTime(t0, t1, columns, c));
  const lo = stored.map(() => new Float64Array(columns).fill(NaN));
  const hi = stored.map(() => new Float64Array(columns).fill(NaN));
  for (let k = first; k < end; ++k) {
    const bin = Math.floor(((record.times[k] - t0) / (t1 - t0)) * columns);
    if (bin < 0 || bin >= columns) continue;
    stored.forEach((c, i) => widen(lo[i], hi[i], bin, value(k, c)));
  }
  return { signals, x, lo, hi, exact: false };
}

/** Curves of a stored overview; neighbouring columns are joined where there are too many. */
export function curvesFromOverview(
  o: Overview,
  signals: number[],
  columnOf: (signal: number) => number,
  [t0, t1]: [number, number],
  columns: number,
): Curves {
  const step = (o.t1 - o.t0) / o.columns || 1;
  const first = Math.max(0, Math.floor((t0 - o.t0) / step) - 1);
  const end = Math.min(o.columns, Math.ceil((t1 - o.t0) / step) + 1);
  const joined = Math.max(1, Math.floor((end - first) / columns)); // stored columns in one
  const count = Math.max(0, Math.ceil((end - first) / joined));
  const x = new Float64Array(count);
  const lo = signals.map(() => new Float32Array(count).fill(NaN));
  const hi = signals.map(() => new Float32Array(count).fill(NaN));
  for (let k = 0; k < count; ++k) {
    const c0 = first + k * joined;
    const c1 = Math.min(end, c0 + joined);
    x[k] = o.t0 + ((c0 + c1) / 2) * step;
    signals.forEach((signal, i) => {
      const row = columnOf(signal);
      if (row < 0) return;
      for (let c = c0; c < c1; ++c)
        widen(lo[i], hi[i], k, o.min[row * o.columns + c], o.max[row * o.columns + c]);
    });
  }
  return { signals, x, lo, hi, exact: false };
}

/** Recorded values between two times. */
export function samplesBetween(
  record: Samples,
  signals: number[],
  columnOf: (signal: number) => number,
  t0: number,
  t1: number,
): Samples {
  const width = record.signals.length;
  let first = lastNotAfter(record.times, t0);
  if (record.times[first] < t0) ++first;
  const count = Math.max(0, lastNotAfter(record.times, t1) + 1 - first);
  const stored = signals.map(columnOf);
  const values = new Float64Array(count * signals.length);
  for (let k = 0; k < count; ++k)
    stored.forEach((c, i) => {
      values[k * signals.length + i] = c < 0 ? NaN : record.values[(first + k) * width + c];
    });
  return {
    id: 0,
    more: false,
    signals: Uint32Array.from(signals),
    times: record.times.slice(first, first + count),
    values,
  };
}

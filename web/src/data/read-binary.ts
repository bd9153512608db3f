// Reads the binary messages of docs/view-protocol.md; numbers are little-endian.  A message that is
// too short for what it announces throws.
import type { Frame, Overview, Samples } from './protocol';

export const KIND_FRAME = 1;
export const KIND_OVERVIEW = 2;
export const KIND_SAMPLES = 3;

/** Bytes before the data of each kind of message. */
const FRAME_HEAD = 32;
const OVERVIEW_HEAD = 32;
const SAMPLES_HEAD = 24;

/** Where the numbers of a frame begin, counted from its first byte. */
export const FRAME_TIME = 8;
export const FRAME_BODIES = 20;
export const FRAME_POSES = FRAME_HEAD;

export const isWholeFrame = (size: number): boolean => size >= FRAME_HEAD;

export function kindOf(view: DataView, at = 0): number {
  return view.byteLength >= at + 4 ? view.getUint32(at, true) : 0;
}

function floats(buffer: ArrayBuffer, at: number, count: number, end: number): Float32Array {
  if (at + 4 * count > end) throw new Error('message too short');
  if (at % 4 === 0) return new Float32Array(buffer, at, count);
  return new Float32Array(buffer.slice(at, at + 4 * count));
}

function doubles(buffer: ArrayBuffer, at: number, count: number, end: number): Float64Array {
  if (at + 8 * count > end) throw new Error('message too short');
  if (at % 8 === 0) return new Float64Array(buffer, at, count);
  return new Float64Array(buffer.slice(at, at + 8 * count));
}

/** Indices of signals; their list is padded to a multiple of eight bytes. */
const signalList = (view: DataView, at: number, count: number): Uint32Array =>
  Uint32Array.from({ length: count }, (_, i) => view.getUint32(at + 4 * i, true));
const signalBytes = (count: number): number => 4 * (count + (count & 1));

export function readFrame(buffer: ArrayBuffer, at = 0, size = buffer.byteLength - at): Frame {
  if (!isWholeFrame(size)) throw new Error('frame too short');
  const view = new DataView(buffer, at, size);
  const end = at + size;
  const bodies = view.getUint32(FRAME_BODIES, true);
  const contacts = view.getUint32(24, true);
  const lines = view.getUint32(28, true);
  const count = 7 * bodies + 9 + 8 * contacts + 7 * lines;
  if (FRAME_HEAD + 4 * count > size) throw new Error('frame too short');
  let position = at + FRAME_POSES;
  const take = (n: number) => {
    const part = floats(buffer, position, n, end);
    position += 4 * n;
    return part;
  };
  return {
    id: view.getUint32(4, true),
    t: view.getFloat64(FRAME_TIME, true),
    phase: view.getInt32(16, true),
    places: take(7 * bodies),
    com: take(9),
    contacts: take(8 * contacts),
    lines: take(7 * lines),
  };
}

export function readOverview(buffer: ArrayBuffer, at = 0, size = buffer.byteLength - at): Overview {
  if (size < OVERVIEW_HEAD) throw new Error('overview too short');
  const view = new DataView(buffer, at, size);
  const end = at + size;
  const columns = view.getUint32(8, true);
  const signals = view.getUint32(12, true);
  const data = at + OVERVIEW_HEAD + signalBytes(signals);
  const count = signals * columns;
  if (data + 8 * count > end) throw new Error('overview too short');
  return {
    id: view.getUint32(4, true),
    columns,
    t0: view.getFloat64(16, true),
    t1: view.getFloat64(24, true),
    signals: signalList(view, OVERVIEW_HEAD, signals),
    min: floats(buffer, data, count, end),
    max: floats(buffer, data + 4 * count, count, end),
  };
}

export function readSamples(buffer: ArrayBuffer, at = 0, size = buffer.byteLength - at): Samples {
  if (size < SAMPLES_HEAD) throw new Error('samples too short');
  const view = new DataView(buffer, at, size);
  const end = at + size;
  const count = view.getUint32(8, true);
  const signals = view.getUint32(12, true);
  const data = at + SAMPLES_HEAD + signalBytes(signals);
  if (data + 8 * count * (signals + 1) > end) throw new Error('samples too short');
  return {
    id: view.getUint32(4, true),
    more: view.getUint32(16, true) !== 0,
    signals: signalList(view, SAMPLES_HEAD, signals),
    times: doubles(buffer, data, count, end),
    values: doubles(buffer, data + 8 * count, count * signals, end),
  };
}

// The run of a report: all its messages are in the page, one after the other, in base64.
import { clamp, lastNotAfter } from '../shared/numbers';
import { curvesFromOverview, curvesFromRecord, samplesBetween } from './curves';
import { pointInWorld } from './pose';
import type { Frame, Overview, Samples, Scene } from './protocol';
import {
  FRAME_BODIES,
  FRAME_POSES,
  FRAME_TIME,
  isWholeFrame,
  KIND_FRAME,
  KIND_OVERVIEW,
  KIND_SAMPLES,
  kindOf,
  readFrame,
  readOverview,
  readSamples,
} from './read-binary';
import { readScene } from './read-json';
import type { Curves, Handlers, Source } from './source';

/** Points of a path at most. */
const MOST_PATH_POINTS = 4000;

function paddingOf(text: string): number {
  if (text.endsWith('==')) return 2;
  return text.endsWith('=') ? 1 : 0;
}

function decodeBase64(text: string): ArrayBuffer {
  const clean = text.trim();
  const built = Uint8Array as unknown as { fromBase64?: (s: string) => Uint8Array };
  if (built.fromBase64) return built.fromBase64(clean).buffer as ArrayBuffer;
  const out = new Uint8Array(Math.floor((clean.length * 3) / 4) - paddingOf(clean));
  const part = 1 << 20; // a multiple of 4
  let at = 0;
  for (let i = 0; i < clean.length; i += part) {
    const bytes = atob(clean.slice(i, i + part));
    for (let k = 0; k < bytes.length; ++k) out[at++] = bytes.charCodeAt(k);
  }
  return out.buffer;
}

/** Moves the pose that begins at `k` from `a` towards `b`, turning the shorter way. */
function blendPose(a: Float32Array, b: Float32Array, k: number, u: number): void {
  let dot = 0;
  for (let j = 3; j < 7; ++j) dot += a[k + j] * b[k + j];
  let square = 0;
  for (let j = 0; j < 7; ++j) {
    const to = j >= 3 && dot < 0 ? -b[k + j] : b[k + j];
    a[k + j] += u * (to - a[k + j]);
    if (j >= 3) square += a[k + j] ** 2;
  }
  const scale = 1 / Math.sqrt(square || 1);
  for (let j = 3; j < 7; ++j) a[k + j] *= scale;
}

/** Bodies and centre of mass between two frames; everything else is the earlier frame's. */
function blendFrames(a: Frame, b: Frame, u: number): void {
  if (b.places.length !== a.places.length) return;
  a.places = Float32Array.from(a.places);
  for (let k = 0; k < a.places.length; k += 7) blendPose(a.places, b.places, k, u);
  a.com = a.com.map((x, k) => x + u * (b.com[k] - x));
}

export class ReportSource implements Source {
  readonly served = false;
  private readonly scene: Scene;
  private buffer: ArrayBuffer = new ArrayBuffer(0);
  private readonly frameAt: number[] = [];
  private readonly frameSize: number[] = [];
  private readonly times: number[] = []; // of the frames
  private overview: Overview | null = null;
  private record: Samples | null = null;
  private readonly columns = new Map<number, number>();
  private handlers!: Handlers;

  constructor(sceneText: string, dataText: string) {
    this.scene = readScene(JSON.parse(sceneText));
    this.scene.live = false;
    if (!dataText.trim()) return;
    this.buffer = decodeBase64(dataText);
    this.findMessages();
    const signals = this.record?.signals ?? this.overview?.signals;
    signals?.forEach((s, i) => this.columns.set(s, i));
  }

  /** Each message has its length before it and is padded to a multiple of eight bytes. */
  private findMessages(): void {
    const view = new DataView(this.buffer);
    let position = 0;
    while (position + 8 <= view.byteLength) {
      const size = view.getUint32(position, true);
      const at = position + 8;
      if (size < 4 || at + size > view.byteLength) break;
      this.take(view, at, size);
      position = at + size + ((8 - (size % 8)) % 8);
    }
  }

  private take(view: DataView, at: number, size: number): void {
    const kind = kindOf(view, at);
    if (kind === KIND_OVERVIEW) this.overview = readOverview(this.buffer, at, size);
    else if (kind === KIND_SAMPLES) this.record = readSamples(this.buffer, at, size);
    if (kind !== KIND_FRAME || !isWholeFrame(size)) return;
    const t = view.getFloat64(at + FRAME_TIME, true);
    if (this.times.length && !(t > this.times[this.times.length - 1])) return;
    this.frameAt.push(at);
    this.frameSize.push(size);
    this.times.push(t);
  }

  private columnOf = (signal: number): number => this.columns.get(signal) ?? -1;

  private frame(i: number): Frame {
    return readFrame(this.buffer, this.frameAt[i], this.frameSize[i]);
  }

  open(handlers: Handlers): void {
    this.handlers = handlers;
    handlers.scene(this.scene);
  }

  /** A report may hold fewer frames than samples, so poses between two frames are blended. */
  wantFrame(t: number): void {
    if (!this.times.length) return;
    const i = lastNotAfter(this.times, t);
    const frame = this.frame(i);
    const isLast = i + 1 >= this.times.length;
    const u = isLast ? 0 : (t - this.times[i]) / (this.times[i + 1] - this.times[i]);
    if (u > 1e-6) {
      blendFrames(frame, this.frame(i + 1), u);
      frame.t = t;
    }
    this.handlers.frame(frame);
  }

  stepTime(t: number, by: number): number {
    const times = this.times.length ? this.times : (this.record?.times ?? []);
    if (!times.length) {
      // only an overview: steps as long as a sample
      const { first, last, samples } = this.scene.time;
      return clamp(t + (by * (last - first)) / Math.max(1, samples - 1), first, last);
    }
    const tolerance = 1e-9 * (1 + Math.abs(t));
    let i = lastNotAfter(times, t + tolerance);
    if (by < 0 && times[i] < t - tolerance) ++i; // between two frames: back to the earlier one
    return times[clamp(i + by, 0, times.length - 1)];
  }

  async curves(
    _key: string,
    signals: number[],
    t0: number,
    t1: number,
    columns: number,
  ): Promise<Curves | null> {
    const span: [number, number] = [t0, t1];
    if (this.record) return curvesFromRecord(this.record, signals, this.columnOf, span, columns);
    if (this.overview)
      return curvesFromOverview(this.overview, signals, this.columnOf, span, columns);
    return null;
  }

  async samples(signals: number[], t0: number, t1: number): Promise<Samples | null> {
    return this.record && samplesBetween(this.record, signals, this.columnOf, t0, t1);
  }

  path(body: number, point: readonly number[]): Float64Array | null {
    const every = Math.max(1, Math.ceil(this.times.length / MOST_PATH_POINTS));
    const view = new DataView(this.buffer);
    const out: number[] = [];
    for (let i = 0; i < this.times.length; i += every) {
      if (body >= view.getUint32(this.frameAt[i] + FRAME_BODIES, true)) continue;
      const pose = new Float32Array(this.buffer, this.frameAt[i] + FRAME_POSES + 28 * body, 7);
      out.push(this.times[i], ...pointInWorld(pose, 0, point));
    }
    return Float64Array.from(out);
  }

  send(): void {}
}

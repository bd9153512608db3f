// Where a run comes from.  EmbeddedSource: a report, everything stands in the page.  SocketSource: the program at the
// other end of a WebSocket.  Both give curves for a stretch of time, and frames, one on its way at a time: the newest
// wish wins, and older ones that have not left yet are dropped.
import {
  KIND_FRAME, KIND_OVERVIEW, KIND_SAMPLES, kindOf, readEvents, readFrame, readNotes, readOverview, readRows, readSamples, readScene, readState,
  type Event, type Frame, type Overview, type Samples, type Scene, type State,
} from './protocol';

/** Values of some signals over a stretch of time: smallest and largest per column (lo === hi where samples are exact). */
export interface Curves {
  signals: number[];
  x: Float64Array;
  lo: (Float64Array | Float32Array)[];
  hi: (Float64Array | Float32Array)[];
  exact: boolean;
}
export interface Handlers {
  scene(scene: Scene): void;
  frame(frame: Frame): void;
  state(state: State): void;
  events(from: number, list: Event[]): void;
  summary(rows: Scene['summary'], notes: string[]): void;
  connection(up: boolean, why: string): void;
  error(text: string): void;
}
export interface Source {
  readonly served: boolean;
  open(handlers: Handlers): void;
  /** Wishes for the frame at t; it comes to handlers.frame. */
  wantFrame(t: number): void;
  /** The time of the recorded frame `by` places away from t. */
  stepTime(t: number, by: number): number;
  /** Curves in about `columns` columns; null if a newer wish under the same key took its place, or nobody answered. */
  curves(key: string, signals: number[], t0: number, t1: number, columns: number): Promise<Curves | null>;
  /** Recorded values; null where only overviews exist. */
  samples(signals: number[], t0: number, t1: number): Promise<Samples | null>;
  /** Places of a body's point over the run as far as they are at hand (t, x, y, z ...). */
  path(body: number, point: readonly number[]): Float64Array | null;
  send(command: object): void;
}

export function rotate(p: ArrayLike<number>, at: number, v: readonly number[]): [number, number, number] {
  const [w, x, y, z] = [p[at + 3], p[at + 4], p[at + 5], p[at + 6]];
  const tx = 2 * (y * v[2] - z * v[1]), ty = 2 * (z * v[0] - x * v[2]), tz = 2 * (x * v[1] - y * v[0]);
  return [
    p[at] + v[0] + w * tx + y * tz - z * ty,
    p[at + 1] + v[1] + w * ty + z * tx - x * tz,
    p[at + 2] + v[2] + w * tz + x * ty - y * tx,
  ];
}

/** Index of the last value not above t (0 if there is none). */
export function lastNotAfter(times: ArrayLike<number>, t: number): number {
  let a = 0, b = times.length;
  while (b - a > 1) {
    const m = (a + b) >> 1;
    if (times[m] <= t) a = m;
    else b = m;
  }
  return a;
}

const overviewColumnTime = (o: Overview, c: number) => o.t0 + ((c + 0.5) * (o.t1 - o.t0)) / o.columns;

/** Columns of an overview as curves; columns that hold nothing for any signal are left out if they stand alone. */
export function curvesOfOverview(o: Overview): Curves {
  const n = o.columns, s = o.signals.length;
  const keep: number[] = [];
  let run: number[] = [];
  for (let c = 0; c < n; ++c) {
    let some = false;
    for (let i = 0; i < s && !some; ++i) some = o.min[i * n + c] === o.min[i * n + c];
    if (some) {
      if (run.length > 3) keep.push(...run);
      run = [];
      keep.push(c);
    } else run.push(c);
  }
  const pick = (from: Float32Array, i: number) => Float32Array.from(keep, (c) => from[i * n + c]);
  return {
    signals: Array.from(o.signals), x: Float64Array.from(keep, (c) => overviewColumnTime(o, c)),
    lo: Array.from(o.signals, (_, i) => pick(o.min, i)), hi: Array.from(o.signals, (_, i) => pick(o.max, i)), exact: false,
  };
}

export function curvesOfSamples(sm: Samples): Curves {
  const n = sm.times.length, s = sm.signals.length;
  const lo = Array.from({ length: s }, (_, i) => {
    const column = new Float64Array(n);
    for (let k = 0; k < n; ++k) column[k] = sm.values[k * s + i];
    return column;
  });
  return { signals: Array.from(sm.signals), x: sm.times, lo, hi: lo, exact: true };
}

/* ---- a report ---- */
function decode64(text: string): ArrayBuffer {
  const clean = text.trim();
  const from = (Uint8Array as unknown as { fromBase64?: (s: string) => Uint8Array }).fromBase64;
  if (from) return from.call(Uint8Array, clean).buffer as ArrayBuffer;
  const size = Math.floor((clean.length * 3) / 4) - (clean.endsWith('==') ? 2 : clean.endsWith('=') ? 1 : 0);
  const out = new Uint8Array(size);
  const part = 1 << 20; // a multiple of 4
  for (let i = 0, at = 0; i < clean.length; i += part) {
    const bytes = atob(clean.slice(i, i + part));
    for (let k = 0; k < bytes.length; ++k) out[at++] = bytes.charCodeAt(k);
  }
  return out.buffer;
}

export class EmbeddedSource implements Source {
  readonly served = false;
  private scene: Scene;
  private buffer: ArrayBuffer = new ArrayBuffer(0);
  private at: number[] = [];
  private size: number[] = [];
  private times: number[] = [];
  private overview: Overview | null = null;
  private record: Samples | null = null;
  private columnOf = new Map<number, number>();
  private handlers!: Handlers;

  constructor(sceneText: string, dataText: string) {
    this.scene = readScene(JSON.parse(sceneText));
    this.scene.live = false;
    if (!dataText.trim()) return;
    this.buffer = decode64(dataText);
    const v = new DataView(this.buffer);
    for (let p = 0; p + 8 <= v.byteLength;) {
      const length = v.getUint32(p, true);
      const at = p + 8;
      if (length < 4 || at + length > v.byteLength) break;
      const kind = kindOf(v, at);
      if (kind === KIND_FRAME && length >= 32) {
        const t = v.getFloat64(at + 8, true);
        if (!this.times.length || t > this.times[this.times.length - 1]) {
          this.at.push(at), this.size.push(length), this.times.push(t);
        }
      } else if (kind === KIND_OVERVIEW) this.overview = readOverview(this.buffer, at, length);
      else if (kind === KIND_SAMPLES) this.record = readSamples(this.buffer, at, length);
      p = at + length + ((8 - (length % 8)) % 8);
    }
    const signals = this.record?.signals ?? this.overview?.signals;
    signals?.forEach((s, i) => this.columnOf.set(s, i));
  }

  open(handlers: Handlers): void {
    this.handlers = handlers;
    handlers.scene(this.scene);
  }

  /** Frames may be thinned out: between two of them bodies move on the shortest way, the rest is the earlier one's. */
  wantFrame(t: number): void {
    if (!this.times.length) return;
    const i = lastNotAfter(this.times, t);
    const a = readFrame(this.buffer, this.at[i], this.size[i]);
    const u = i + 1 < this.times.length ? (t - this.times[i]) / (this.times[i + 1] - this.times[i]) : 0;
    if (u > 1e-6) {
      const b = readFrame(this.buffer, this.at[i + 1], this.size[i + 1]);
      if (b.places.length === a.places.length) {
        a.places = Float32Array.from(a.places);
        for (let k = 0; k < a.places.length; k += 7) {
          let dot = 0;
          for (let j = 3; j < 7; ++j) dot += a.places[k + j] * b.places[k + j];
          let norm = 0;
          for (let j = 0; j < 7; ++j) {
            const to = j >= 3 && dot < 0 ? -b.places[k + j] : b.places[k + j];
            a.places[k + j] += u * (to - a.places[k + j]);
            if (j >= 3) norm += a.places[k + j] ** 2;
          }
          norm = 1 / Math.sqrt(norm || 1);
          for (let j = 3; j < 7; ++j) a.places[k + j] *= norm;
        }
        a.com = a.com.map((x, k) => x + u * (b.com[k] - x));
      }
      a.t = t;
    }
    this.handlers.frame(a);
  }

  stepTime(t: number, by: number): number {
    const times = this.times.length ? this.times : this.record?.times ?? [];
    if (!times.length) { // nothing but an overview
      const { first, last, samples } = this.scene.time;
      return Math.max(first, Math.min(last, t + (by * (last - first)) / Math.max(1, samples - 1)));
    }
    const eps = 1e-9 * (1 + Math.abs(t));
    let i = lastNotAfter(times, t + eps);
    if (by < 0 && times[i] < t - eps) ++i; // between two: back to the one before
    return times[Math.max(0, Math.min(times.length - 1, i + by))];
  }

  async curves(_key: string, signals: number[], t0: number, t1: number, columns: number): Promise<Curves | null> {
    if (this.record) return this.curvesFromRecord(this.record, signals, t0, t1, columns);
    if (this.overview) return this.curvesFromOverview(this.overview, signals, t0, t1, columns);
    return null;
  }

  private curvesFromRecord(r: Samples, signals: number[], t0: number, t1: number, columns: number): Curves {
    const wide = r.signals.length;
    const a = Math.max(0, lastNotAfter(r.times, t0));
    const b = Math.min(r.times.length, lastNotAfter(r.times, t1) + 2);
    const column = signals.map((s) => this.columnOf.get(s) ?? -1);
    const value = (k: number, c: number) => (c < 0 ? NaN : r.values[k * wide + c]);
    if (b - a <= 2 * columns) {
      const lo = column.map((c) => Float64Array.from({ length: b - a }, (_, k) => value(a + k, c)));
      return { signals, x: r.times.slice(a, b), lo, hi: lo, exact: true };
    }
    const x = Float64Array.from({ length: columns }, (_, c) => t0 + ((c + 0.5) * (t1 - t0)) / columns);
    const lo = column.map(() => new Float64Array(columns).fill(NaN));
    const hi = column.map(() => new Float64Array(columns).fill(NaN));
    for (let k = a; k < b; ++k) {
      const bin = Math.floor(((r.times[k] - t0) / (t1 - t0)) * columns);
      if (bin < 0 || bin >= columns) continue;
      column.forEach((c, i) => {
        const y = value(k, c);
        if (!(y >= lo[i][bin])) lo[i][bin] = y === y ? y : lo[i][bin];
        if (!(y <= hi[i][bin])) hi[i][bin] = y === y ? y : hi[i][bin];
      });
    }
    return { signals, x, lo, hi, exact: false };
  }

  private curvesFromOverview(o: Overview, signals: number[], t0: number, t1: number, columns: number): Curves {
    const step = (o.t1 - o.t0) / o.columns || 1;
    const a = Math.max(0, Math.floor((t0 - o.t0) / step) - 1);
    const b = Math.min(o.columns, Math.ceil((t1 - o.t0) / step) + 1);
    const join = Math.max(1, Math.floor((b - a) / columns)); // stored columns per column
    const n = Math.max(0, Math.ceil((b - a) / join));
    const x = new Float64Array(n);
    const lo = signals.map(() => new Float32Array(n).fill(NaN));
    const hi = signals.map(() => new Float32Array(n).fill(NaN));
    for (let k = 0; k < n; ++k) {
      const c0 = a + k * join, c1 = Math.min(b, c0 + join);
      x[k] = o.t0 + ((c0 + c1) / 2) * step;
      signals.forEach((s, i) => {
        const row = this.columnOf.get(s);
        if (row === undefined) return;
        for (let c = c0; c < c1; ++c) {
          const low = o.min[row * o.columns + c], high = o.max[row * o.columns + c];
          if (low === low && !(low >= lo[i][k])) lo[i][k] = low;
          if (high === high && !(high <= hi[i][k])) hi[i][k] = high;
        }
      });
    }
    return { signals, x, lo, hi, exact: false };
  }

  async samples(signals: number[], t0: number, t1: number): Promise<Samples | null> {
    const r = this.record;
    if (!r) return null;
    const wide = r.signals.length;
    let a = lastNotAfter(r.times, t0);
    if (r.times[a] < t0) ++a;
    const b = lastNotAfter(r.times, t1) + 1;
    const column = signals.map((s) => this.columnOf.get(s) ?? -1);
    const n = Math.max(0, b - a);
    const values = new Float64Array(n * signals.length);
    for (let k = 0; k < n; ++k)
      column.forEach((c, i) => (values[k * signals.length + i] = c < 0 ? NaN : r.values[(a + k) * wide + c]));
    return { id: 0, more: false, signals: Uint32Array.from(signals), times: r.times.slice(a, a + n), values };
  }

  path(body: number, point: readonly number[]): Float64Array | null {
    const skip = Math.max(1, Math.ceil(this.times.length / 4000));
    const out: number[] = [];
    const v = new DataView(this.buffer);
    for (let i = 0; i < this.times.length; i += skip) {
      if (body >= v.getUint32(this.at[i] + 20, true)) continue;
      const p = new Float32Array(this.buffer, this.at[i] + 32 + 28 * body, 7);
      out.push(this.times[i], ...rotate(p, 0, point));
    }
    return Float64Array.from(out);
  }

  send(): void {}
}

/* ---- the program ---- */
interface Wish {
  key: string;
  message: Record<string, unknown>;
  answer(x: Overview | Samples | null): void;
}

export class SocketSource implements Source {
  readonly served = true;
  private socket: WebSocket | null = null;
  private handlers!: Handlers;
  private scene: Scene | null = null;
  private first = 0;
  private last = 0;
  private id = 0;
  private frameId = 0; // on its way
  private frameSince = 0;
  private frameWish: number | null = null;
  private wishes: Wish[] = [];
  private asked: (Wish & { id: number; since: number }) | null = null;
  private tries = 0;

  constructor(private url: string) {}

  open(handlers: Handlers): void {
    this.handlers = handlers;
    this.connect();
    setInterval(() => this.expire(), 1000);
  }

  private connect(): void {
    let socket: WebSocket;
    try {
      socket = new WebSocket(this.url, 'soa-view-1');
    } catch (e) {
      this.handlers.connection(false, String(e));
      return;
    }
    this.socket = socket;
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => {
      this.tries = 0;
      this.handlers.connection(true, '');
    };
    socket.onmessage = (e) => {
      try {
        if (typeof e.data === 'string') this.text(e.data);
        else if (e.data instanceof ArrayBuffer) this.bytes(e.data);
      } catch (error) {
        this.handlers.error(`a message could not be read: ${error instanceof Error ? error.message : String(error)}`);
      }
    };
    socket.onclose = (e) => {
      this.socket = null;
      this.frameId = 0;
      this.asked?.answer(null);
      this.asked = null;
      const wait = Math.min(5000, 300 * 2 ** this.tries++);
      this.handlers.connection(false, e.reason || '');
      setTimeout(() => this.connect(), wait);
    };
  }

  private expire(): void {
    const now = performance.now();
    if (this.frameId && now - this.frameSince > 4000) this.frameId = 0;
    if (this.asked && now - this.asked.since > 15000) {
      this.asked.answer(null);
      this.asked = null;
    }
    this.pump();
  }

  private text(data: string): void {
    const x = JSON.parse(data) as Record<string, unknown>;
    switch (x?.kind) {
      case 'scene':
        this.scene = readScene(x);
        this.first = this.scene.time.first;
        this.last = this.scene.time.last;
        this.handlers.scene(this.scene);
        break;
      case 'state': {
        const state = readState(x);
        this.first = state.first;
        this.last = state.last;
        this.handlers.state(state);
        break;
      }
      case 'events':
        this.handlers.events(typeof x.from === 'number' ? x.from : 0, readEvents(x.list));
        break;
      case 'summary':
        this.handlers.summary(readRows(x.summary), readNotes(x.notes));
        break;
      case 'error':
        this.frameId = 0; // whatever was asked is not answered any more
        this.asked?.answer(null);
        this.asked = null;
        this.handlers.error(typeof x.text === 'string' ? x.text : 'the program reports an error');
        break;
    }
    this.pump();
  }

  private bytes(buffer: ArrayBuffer): void {
    const kind = kindOf(new DataView(buffer));
    if (kind === KIND_FRAME) {
      const frame = readFrame(buffer);
      if (frame.id && frame.id === this.frameId) this.frameId = 0;
      this.handlers.frame(frame);
    } else if (kind === KIND_OVERVIEW || kind === KIND_SAMPLES) {
      const x = kind === KIND_OVERVIEW ? readOverview(buffer) : readSamples(buffer);
      if (this.asked && this.asked.id === x.id) {
        const asked = this.asked;
        this.asked = null;
        asked.answer(x);
      }
    }
    this.pump();
  }

  private put(message: object): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }
  private nextId(): number {
    this.id = this.id >= 0x7fffffff ? 1 : this.id + 1;
    return this.id;
  }

  private pump(): void {
    if (!this.scene) return;
    if (this.frameWish !== null && !this.frameId) {
      const id = this.nextId();
      if (this.put({ do: 'frame', id, t: this.frameWish })) {
        this.frameId = id;
        this.frameSince = performance.now();
        this.frameWish = null;
      }
    }
    if (!this.asked && this.wishes.length) {
      const id = this.nextId();
      if (this.put({ ...this.wishes[0].message, id })) this.asked = { ...this.wishes.shift()!, id, since: performance.now() };
    }
  }

  private ask<T extends Overview | Samples>(key: string, message: Record<string, unknown>): Promise<T | null> {
    return new Promise((resolve) => {
      const wish: Wish = { key, message, answer: (x) => resolve(x as T | null) };
      const old = this.wishes.findIndex((w) => w.key === key);
      if (old >= 0) {
        this.wishes[old].answer(null);
        this.wishes[old] = wish;
      } else this.wishes.push(wish);
      this.pump();
    });
  }

  wantFrame(t: number): void {
    this.frameWish = t;
    this.pump();
  }

  private spacing(): number {
    const time = this.scene?.time;
    if (!time) return 0.01;
    if (time.samples > 1 && time.last > time.first) return (time.last - time.first) / (time.samples - 1);
    return time.tick > 0 ? time.tick : 0.01;
  }
  stepTime(t: number, by: number): number {
    const step = this.spacing();
    return Math.max(this.first, Math.min(this.last, t + by * step + 1e-6 * step));
  }

  async curves(key: string, signals: number[], t0: number, t1: number, columns: number): Promise<Curves | null> {
    if (!signals.length || !(t1 > t0)) return null;
    const count = (t1 - t0) / this.spacing();
    if (count <= 2 * columns) {
      const margin = 2 * this.spacing(); // so that lines run on to the edges
      const sm = await this.ask<Samples>(key, { do: 'samples', signals, t0: t0 - margin, t1: t1 + margin });
      if (!sm || !sm.more) return sm && curvesOfSamples(sm);
    }
    const o = await this.ask<Overview>(key, { do: 'overview', signals, t0, t1, columns });
    return o && curvesOfOverview(o);
  }

  samples(signals: number[], t0: number, t1: number): Promise<Samples | null> {
    return this.ask<Samples>('samples', { do: 'samples', signals, t0, t1 });
  }

  path(): Float64Array | null {
    return null;
  }

  send(command: object): void {
    this.put(command);
  }
}

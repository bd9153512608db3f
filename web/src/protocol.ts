// What the page and the program say to each other (docs/view-protocol.md): types, and readers that take nothing for
// granted: what is missing gets a harmless value, what is wrong is left out, what cannot be used at all throws.

export type Vec3 = [number, number, number];
export type Place = [number, number, number, number, number, number, number]; // x y z, then w x y z

export interface Joint {
  name: string;
  type: string;
  axis: Vec3 | null;
  q: number;
  nq: number;
  v: number;
  nv: number;
  lower: number | null;
  upper: number | null;
  unit: string;
}
export interface Body {
  name: string;
  part: string;
  parent: number;
  place: Place;
  mass: number;
  com: Vec3;
  joint: Joint | null;
}
export interface Shape {
  name: string;
  group: string;
  body: number;
  place: Place;
  role: string;
  type: string;
  half: Vec3;
  radius: number;
  colour: Vec3 | null;
  vertices: Vec3[];
  faces: number[][];
}
export interface NamedFrame {
  name: string;
  body: number;
  place: Place;
}
export interface Constraint {
  name: string;
  joint: string; // type of the joint that closes the loop; '': not known
  a: number;
  b: number;
  placeA: Place | null; // in body a, z along the joint's axis
  placeB: Place | null;
}
export interface Signal {
  name: string;
  unit: string;
}
export interface Event {
  t: number;
  kind: string;
  text: string;
}
export interface Scene {
  title: string;
  text: string;
  source: string;
  live: boolean;
  bodies: Body[];
  shapes: Shape[];
  frames: NamedFrame[];
  constraints: Constraint[];
  signals: Signal[];
  phases: string[];
  time: { first: number; last: number; samples: number; tick: number };
  events: Event[];
  summary: [string, string][];
  notes: string[];
  scenario: string;
  q: number[];
}
export interface Frame {
  id: number;
  t: number;
  phase: number;
  places: Float32Array; // 7 per body
  com: Float32Array; // 9: centre of mass, momentum, angular momentum
  contacts: Float32Array; // 8 per contact
  lines: Float32Array; // 7 per line
}
export interface Overview {
  id: number;
  columns: number;
  t0: number;
  t1: number;
  signals: Uint32Array;
  min: Float32Array; // signal by signal
  max: Float32Array;
}
export interface Samples {
  id: number;
  more: boolean;
  signals: Uint32Array;
  times: Float64Array;
  values: Float64Array; // sample by sample
}
export interface State {
  live: boolean;
  playing: boolean;
  speed: number;
  t: number;
  first: number;
  last: number;
  phase: string;
  factor: number;
  ended: boolean;
}

type Json = Record<string, unknown>;
const isObject = (x: unknown): x is Json => typeof x === 'object' && x !== null && !Array.isArray(x);
const num = (x: unknown, otherwise = 0): number => (typeof x === 'number' && Number.isFinite(x) ? x : otherwise);
const str = (x: unknown, otherwise = ''): string => (typeof x === 'string' ? x : otherwise);
const list = (x: unknown): unknown[] => (Array.isArray(x) ? x : []);
const objects = (x: unknown): Json[] => list(x).filter(isObject);
const numbers = (x: unknown, n: number): number[] | null => {
  const values = list(x);
  return values.length >= n && values.slice(0, n).every((v) => typeof v === 'number' && Number.isFinite(v))
    ? (values.slice(0, n) as number[])
    : null;
};
const vec3 = (x: unknown): Vec3 => (numbers(x, 3) ?? [0, 0, 0]) as Vec3;
const place = (x: unknown): Place => {
  const p = numbers(x, 7);
  return (p && Math.hypot(p[3], p[4], p[5], p[6]) > 1e-9 ? p : [0, 0, 0, 1, 0, 0, 0]) as Place;
};
const optional = (x: unknown): number | null => (typeof x === 'number' && Number.isFinite(x) ? x : null);

function joint(x: unknown): Joint | null {
  if (!isObject(x)) return null;
  const axis = numbers(x.axis, 3) as Vec3 | null;
  return {
    name: str(x.name), type: str(x.type, 'fixed'), axis: axis && Math.hypot(...axis) > 1e-12 ? axis : null,
    q: num(x.q, -1), nq: num(x.nq), v: num(x.v, -1), nv: num(x.nv),
    lower: optional(x.lower), upper: optional(x.upper), unit: str(x.unit),
  };
}

export function readEvents(x: unknown): Event[] {
  return objects(x).map((e) => ({ t: num(e.t), kind: str(e.kind), text: str(e.text) }));
}

export function readRows(x: unknown): Scene['summary'] {
  return list(x).filter((r): r is unknown[] => Array.isArray(r) && r.length >= 2).map((r) => [String(r[0]), String(r[1])]);
}
export function readNotes(x: unknown): string[] {
  return list(x).filter((n): n is string => typeof n === 'string' && n !== '');
}

export function readScene(x: unknown): Scene {
  if (!isObject(x) || x.kind !== 'scene') throw new Error('this is not a scene');
  if (num(x.version, 1) !== 1) throw new Error(`scene of version ${String(x.version)}: this page reads version 1`);
  const bodies = objects(x.bodies).map((b, i): Body => ({
    name: str(b.name, i ? `body ${i}` : 'world'), part: str(b.part),
    parent: i && Number.isInteger(b.parent) && num(b.parent) >= 0 && num(b.parent) < i ? num(b.parent) : i ? 0 : -1,
    place: place(b.place), mass: num(b.mass), com: vec3(b.com), joint: i ? joint(b.joint) : null,
  }));
  const onBody = (o: Json) => Number.isInteger(o.body) && num(o.body) >= 0 && num(o.body) < bodies.length;
  const time = isObject(x.time) ? x.time : {};
  const first = num(time.first);
  return {
    title: str(x.title, 'run'), text: str(x.text), source: str(x.source), live: x.live === true, bodies,
    shapes: objects(x.shapes).filter(onBody).map((s): Shape => {
      const vertices = list(s.vertices).map((v) => numbers(v, 3)).filter((v): v is number[] => v !== null) as Vec3[];
      return {
        name: str(s.name), group: str(s.group), body: num(s.body), place: place(s.place), role: str(s.role, 'contact'),
        type: str(s.type), half: vec3(s.half), radius: Math.max(0, num(s.radius)), colour: numbers(s.colour, 3) as Vec3 | null,
        vertices,
        faces: list(s.faces).map((f) => list(f).filter((k): k is number => Number.isInteger(k) && num(k) >= 0 && num(k) < vertices.length))
          .filter((f) => f.length >= 3),
      };
    }),
    frames: objects(x.frames).filter(onBody).map((f) => ({ name: str(f.name), body: num(f.body), place: place(f.place) })),
    constraints: objects(x.constraints).map((c) => ({
      name: str(c.name), joint: str(c.joint), a: num(c.body_a, -1), b: num(c.body_b, -1),
      placeA: numbers(c.place_a, 7) && place(c.place_a), placeB: numbers(c.place_b, 7) && place(c.place_b),
    })),
    signals: objects(x.signals).map((s) => ({ name: str(s.name, '?'), unit: str(s.unit) })),
    phases: list(x.phases).map((p) => str(p, '?')),
    time: { first, last: Math.max(first, num(time.last, first)), samples: num(time.samples), tick: num(time.tick) },
    events: readEvents(x.events),
    summary: readRows(x.summary), notes: readNotes(x.notes),
    scenario: str(x.scenario), q: list(x.q).map((v) => num(v)),
  };
}

export function readState(x: Json): State {
  return {
    live: x.live === true, playing: x.playing === true, speed: num(x.speed, 1), t: num(x.t), first: num(x.first),
    last: num(x.last), phase: str(x.phase), factor: num(x.factor), ended: x.ended === true,
  };
}

/* ---- bytes ---- */
function floats(buffer: ArrayBuffer, at: number, count: number, end: number): Float32Array {
  if (at + 4 * count > end) throw new Error('message too short');
  return at % 4 === 0 ? new Float32Array(buffer, at, count) : new Float32Array(buffer.slice(at, at + 4 * count));
}
function doubles(buffer: ArrayBuffer, at: number, count: number, end: number): Float64Array {
  if (at + 8 * count > end) throw new Error('message too short');
  return at % 8 === 0 ? new Float64Array(buffer, at, count) : new Float64Array(buffer.slice(at, at + 8 * count));
}

export const KIND_FRAME = 1;
export const KIND_OVERVIEW = 2;
export const KIND_SAMPLES = 3;

export function kindOf(view: DataView, at = 0): number {
  return view.byteLength >= at + 4 ? view.getUint32(at, true) : 0;
}

export function readFrame(buffer: ArrayBuffer, at = 0, size = buffer.byteLength - at): Frame {
  if (size < 32) throw new Error('frame too short');
  const v = new DataView(buffer, at, size);
  const end = at + size;
  const bodies = v.getUint32(20, true), contacts = v.getUint32(24, true), lines = v.getUint32(28, true);
  if (32 + 4 * (7 * bodies + 9 + 8 * contacts + 7 * lines) > size) throw new Error('frame too short');
  let p = at + 32;
  const take = (count: number) => {
    const part = floats(buffer, p, count, end);
    p += 4 * count;
    return part;
  };
  return {
    id: v.getUint32(4, true), t: v.getFloat64(8, true), phase: v.getInt32(16, true),
    places: take(7 * bodies), com: take(9), contacts: take(8 * contacts), lines: take(7 * lines),
  };
}

export function readOverview(buffer: ArrayBuffer, at = 0, size = buffer.byteLength - at): Overview {
  if (size < 32) throw new Error('overview too short');
  const v = new DataView(buffer, at, size);
  const end = at + size;
  const n = v.getUint32(8, true), s = v.getUint32(12, true);
  const data = at + 32 + 4 * (s + (s & 1));
  if (data + 8 * s * n > end) throw new Error('overview too short');
  const signals = Uint32Array.from({ length: s }, (_, i) => v.getUint32(32 + 4 * i, true));
  return {
    id: v.getUint32(4, true), columns: n, t0: v.getFloat64(16, true), t1: v.getFloat64(24, true), signals,
    min: floats(buffer, data, s * n, end), max: floats(buffer, data + 4 * s * n, s * n, end),
  };
}

export function readSamples(buffer: ArrayBuffer, at = 0, size = buffer.byteLength - at): Samples {
  if (size < 24) throw new Error('samples too short');
  const v = new DataView(buffer, at, size);
  const end = at + size;
  const n = v.getUint32(8, true), s = v.getUint32(12, true);
  const data = at + 24 + 4 * (s + (s & 1));
  if (data + 8 * n * (s + 1) > end) throw new Error('samples too short');
  const signals = Uint32Array.from({ length: s }, (_, i) => v.getUint32(24 + 4 * i, true));
  return {
    id: v.getUint32(4, true), more: v.getUint32(16, true) !== 0, signals,
    times: doubles(buffer, data, n, end), values: doubles(buffer, data + 8 * n, n * s, end),
  };
}

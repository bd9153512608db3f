// Reads the JSON messages of docs/view-protocol.md.  Nothing is taken for granted: missing values
// get a harmless default, wrong ones are left out, and a message of no use at all throws.
import type {
  Body,
  Constraint,
  Event,
  Joint,
  NamedFrame,
  Place,
  Scene,
  Shape,
  State,
  Vec3,
} from './protocol';

type Json = Record<string, unknown>;

const isObject = (x: unknown): x is Json =>
  typeof x === 'object' && x !== null && !Array.isArray(x);
const isNumber = (x: unknown): x is number => typeof x === 'number' && Number.isFinite(x);
const num = (x: unknown, otherwise = 0): number => (isNumber(x) ? x : otherwise);
const str = (x: unknown, otherwise = ''): string => (typeof x === 'string' ? x : otherwise);
const list = (x: unknown): unknown[] => (Array.isArray(x) ? x : []);
const objects = (x: unknown): Json[] => list(x).filter(isObject);
const optional = (x: unknown): number | null => (isNumber(x) ? x : null);

/** The first `n` numbers of a list, or null if there are fewer. */
function numbers(x: unknown, n: number): number[] | null {
  const values = list(x).slice(0, n);
  return values.length === n && values.every(isNumber) ? values : null;
}
const vec3 = (x: unknown): Vec3 => (numbers(x, 3) ?? [0, 0, 0]) as Vec3;

function place(x: unknown): Place {
  const p = numbers(x, 7);
  const usable = p !== null && Math.hypot(p[3], p[4], p[5], p[6]) > 1e-9;
  return (usable ? p : [0, 0, 0, 1, 0, 0, 0]) as Place;
}

/** True for an index of a list with `count` entries. */
const isIndex = (x: unknown, count: number): x is number =>
  Number.isInteger(x) && num(x) >= 0 && num(x) < count;

function joint(x: unknown): Joint | null {
  if (!isObject(x)) return null;
  const axis = numbers(x.axis, 3) as Vec3 | null;
  return {
    name: str(x.name),
    type: str(x.type, 'fixed'),
    axis: axis && Math.hypot(...axis) > 1e-12 ? axis : null,
    q: num(x.q, -1),
    nq: num(x.nq),
    v: num(x.v, -1),
    nv: num(x.nv),
    lower: optional(x.lower),
    upper: optional(x.upper),
    unit: str(x.unit),
  };
}

/** Body 0 is the world: it has no parent and no joint. */
function body(x: Json, index: number): Body {
  const isWorld = index === 0;
  const parent = isIndex(x.parent, index) ? x.parent : 0;
  return {
    name: str(x.name, isWorld ? 'world' : `body ${index}`),
    part: str(x.part),
    parent: isWorld ? -1 : parent,
    place: place(x.place),
    mass: num(x.mass),
    com: vec3(x.com),
    joint: isWorld ? null : joint(x.joint),
  };
}

function shape(x: Json): Shape {
  const vertices = list(x.vertices)
    .map((v) => numbers(v, 3))
    .filter((v): v is Vec3 => v !== null);
  const corners = (face: unknown) =>
    list(face).filter((k): k is number => isIndex(k, vertices.length));
  return {
    name: str(x.name),
    group: str(x.group),
    body: num(x.body),
    place: place(x.place),
    role: str(x.role, 'contact'),
    type: str(x.type),
    half: vec3(x.half),
    radius: Math.max(0, num(x.radius)),
    colour: numbers(x.colour, 3) as Vec3 | null,
    vertices,
    faces: list(x.faces)
      .map(corners)
      .filter((face) => face.length >= 3),
  };
}

const namedFrame = (x: Json): NamedFrame => ({
  name: str(x.name),
  body: num(x.body),
  place: place(x.place),
});

const constraint = (x: Json): Constraint => ({
  name: str(x.name),
  joint: str(x.joint),
  a: num(x.body_a, -1),
  b: num(x.body_b, -1),
  placeA: numbers(x.place_a, 7) && place(x.place_a),
  placeB: numbers(x.place_b, 7) && place(x.place_b),
});

function timeSpan(x: unknown): Scene['time'] {
  const time = isObject(x) ? x : {};
  const first = num(time.first);
  return {
    first,
    last: Math.max(first, num(time.last, first)),
    samples: num(time.samples),
    tick: num(time.tick),
  };
}

export function readEvents(x: unknown): Event[] {
  return objects(x).map((e) => ({ t: num(e.t), kind: str(e.kind), text: str(e.text) }));
}

/** The rows of a summary: name and value. */
export function readRows(x: unknown): Scene['summary'] {
  return list(x)
    .filter((row): row is unknown[] => Array.isArray(row) && row.length >= 2)
    .map((row) => [String(row[0]), String(row[1])]);
}

export function readNotes(x: unknown): string[] {
  return list(x).filter((note): note is string => typeof note === 'string' && note !== '');
}

export function readScene(x: unknown): Scene {
  if (!isObject(x) || x.kind !== 'scene') throw new Error('this is not a scene');
  if (num(x.version, 1) !== 1)
    throw new Error(`scene of version ${String(x.version)}: this page reads version 1`);
  const bodies = objects(x.bodies).map(body);
  const onBody = (o: Json) => isIndex(o.body, bodies.length);
  return {
    title: str(x.title, 'run'),
    text: str(x.text),
    source: str(x.source),
    live: x.live === true,
    bodies,
    shapes: objects(x.shapes).filter(onBody).map(shape),
    frames: objects(x.frames).filter(onBody).map(namedFrame),
    constraints: objects(x.constraints).map(constraint),
    signals: objects(x.signals).map((s) => ({ name: str(s.name, '?'), unit: str(s.unit) })),
    phases: list(x.phases).map((p) => str(p, '?')),
    time: timeSpan(x.time),
    events: readEvents(x.events),
    summary: readRows(x.summary),
    notes: readNotes(x.notes),
    scenario: str(x.scenario),
    q: list(x.q).map((v) => num(v)),
  };
}

export function readState(x: Json): State {
  return {
    live: x.live === true,
    playing: x.playing === true,
    speed: num(x.speed, 1),
    t: num(x.t),
    first: num(x.first),
    last: num(x.last),
    phase: str(x.phase),
    factor: num(x.factor),
    ended: x.ended === true,
  };
}

// The types of what page and program say to each other (docs/view-protocol.md).  They are read by
// read-json.ts and read-binary.ts.

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

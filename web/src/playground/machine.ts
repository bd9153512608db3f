// A machine: a saved model opened in the WebAssembly core, and its scene for the 3-D view.
import type { Scene, Shape, Vec3 } from '../data/protocol';
import { readScene } from '../data/read-json';
import type { Core, Session } from './core.js';

const MOST_TIPS = 8;
const EARTH = [0, 0, -9.81];

/** A body as the core describes it. */
interface CoreBody {
  name: string;
  frame: number;
  parent: number;
  mass: number;
  com: Vec3;
  inertia: number[];
  joint: { type: string };
}

export interface Machine {
  session: Session;
  scene: Scene;
  tipNames: string[];
  /** Coordinates to which it is reset. */
  home: number[];
  /** True if a body is not connected to the world. */
  floats: boolean;
}

/** The solid box with the mass and inertia of a body. */
function boxOf(b: CoreBody, body: number): Shape[] {
  const [x, y, z] = b.inertia;
  const half = [y + z - x, z + x - y, x + y - z].map((s) =>
    Math.sqrt(Math.max(0, (1.5 * s) / b.mass)),
  ) as Vec3;
  if (!half.every((h) => h > 0)) return [];
  return [
    {
      name: b.name,
      group: b.name,
      body,
      place: [...b.com, 1, 0, 0, 0],
      role: 'contact',
      type: 'box',
      half,
      radius: 0,
      colour: null,
      vertices: [],
      faces: [],
    },
  ];
}

/** Bodies without children: their frames are the tips. */
function leavesOf(bodies: CoreBody[]): CoreBody[] {
  const hasChild = (i: number) => bodies.some((c, k) => k > i && c.parent === i);
  return bodies.filter((_, i) => i > 0 && !hasChild(i)).slice(0, MOST_TIPS);
}

/** Throws with the core's message if the bytes are not a good model. */
export function openMachine(core: Core, bytes: Uint8Array, q: number[]): Machine {
  const session = core.open(bytes);
  const bodies = session.scene.bodies as CoreBody[];
  const leaves = leavesOf(bodies);
  if (leaves.length) session.tips(leaves.map((b) => b.frame));
  const tipNames = session.scene.tips.map((f: number) => session.scene.frames[f].name);
  const scene = readScene(session.scene);
  scene.frames = []; // frames at the links' origins say nothing new
  const isFree = (b: CoreBody, i: number) => i > 0 && b.parent === 0 && b.joint.type === 'free';
  scene.shapes = bodies.flatMap((b, i) => (isFree(b, i) ? boxOf(b, i) : []));
  if (q.length === session.nq) session.set('q', q);
  const home = Array.from(session.vector('q'));
  return { session, scene, tipNames, home, floats: bodies.some(isFree) };
}

/** The gravity that was saved with the model. */
export const ownGravity = ({ session }: Machine): number[] => session.scene.gravity;

const isZero = (g: number[]): boolean => g.every((x) => x === 0);

/** True if a machine starts with gravity. */
export const startsWithGravity = (m: Machine): boolean => !m.floats && !isZero(ownGravity(m));

/** Switches gravity: the model's own, or the earth's if it has none. */
export function setGravity(machine: Machine, on: boolean): void {
  const own = ownGravity(machine);
  const down = isZero(own) ? EARTH : own;
  machine.session.gravity(on ? down : [0, 0, 0]);
}

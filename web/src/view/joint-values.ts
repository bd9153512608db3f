// The values of joints with one coordinate, from the poses of bodies.
import { Quaternion, Vector3 } from 'three';
import { hasPose } from '../data/pose';
import type { Joint, Scene } from '../data/protocol';

/** How far a joint may be past its limits, rad, before a whole turn is added or taken away. */
const BEYOND = 0.2;
const TURN = 2 * Math.PI;

const vectorAt = (p: ArrayLike<number>, k: number) => new Vector3(p[k], p[k + 1], p[k + 2]);
const turnAt = (p: ArrayLike<number>, k: number) =>
  new Quaternion(p[k + 4], p[k + 5], p[k + 6], p[k + 3]);

/** A pose gives an angle up to whole turns: this is the one within the limits, or else the one
 *  nearest to `near`. */
function unwrapped(angle: number, joint: Joint, near: number): number {
  let value = angle + TURN * Math.round((near - angle) / TURN);
  const { lower, upper } = joint;
  if (lower === null || upper === null) return value;
  while (value < lower - BEYOND && value + TURN <= upper + BEYOND) value += TURN;
  while (value > upper + BEYOND && value - TURN >= lower - BEYOND) value -= TURN;
  return value;
}

/** null where the joint has no such value. */
function jointValue(
  scene: Scene,
  poses: ArrayLike<number>,
  index: number,
  near: number,
): number | null {
  const body = scene.bodies[index];
  const joint = body?.joint;
  if (!joint || joint.nq !== 1 || !joint.axis || !hasPose(poses, index)) return null;
  const parent = turnAt(poses, 7 * body.parent);
  const atZero = parent.clone().multiply(turnAt(body.place, 0)); // the body's turn at zero
  const axis = new Vector3(...joint.axis).normalize();
  if (joint.type === 'prismatic') {
    const origin = vectorAt(body.place, 0).applyQuaternion(parent);
    origin.add(vectorAt(poses, 7 * body.parent));
    return vectorAt(poses, 7 * index)
      .sub(origin)
      .dot(axis.applyQuaternion(atZero));
  }
  if (joint.type !== 'revolute' && joint.type !== 'helical') return null;
  const turn = atZero.invert().multiply(turnAt(poses, 7 * index));
  const sine = turn.x * axis.x + turn.y * axis.y + turn.z * axis.z;
  return unwrapped(2 * Math.atan2(sine, turn.w), joint, near);
}

export const jointUnit = (joint: Joint): string =>
  joint.unit || (joint.type === 'prismatic' ? 'm' : 'rad');

/** Remembers the last value of every joint, so that angles run on beyond whole turns. */
export class JointValues {
  private readonly last: number[];

  constructor(private readonly scene: Scene) {
    this.last = scene.bodies.map(({ joint }) => (joint?.nq === 1 ? (scene.q[joint.q] ?? 0) : 0));
  }

  /** The value seen last, or at the beginning. */
  lastOf(body: number): number {
    return this.last[body] ?? 0;
  }

  /** The value in these poses; null if the joint has none. */
  at(poses: ArrayLike<number>, body: number): number | null {
    const value = jointValue(this.scene, poses, body, this.lastOf(body));
    if (value !== null) this.last[body] = value;
    return value;
  }
}

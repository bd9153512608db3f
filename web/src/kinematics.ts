// The value of a joint with one coordinate, from where its body and its parent stand.
import { Quaternion, Vector3 } from 'three';
import type { Body, Scene } from './protocol';

const vectorAt = (p: ArrayLike<number>, k: number) => new Vector3(p[k], p[k + 1], p[k + 2]);
const turnAt = (p: ArrayLike<number>, k: number) => new Quaternion(p[k + 4], p[k + 5], p[k + 6], p[k + 3]);

/** null where the joint has no such value.  Turns are known up to whole ones: the one within the limits, otherwise nearest `near`. */
export function jointValue(scene: Scene, places: ArrayLike<number>, index: number, near: number): number | null {
  const b: Body | undefined = scene.bodies[index];
  const j = b?.joint;
  if (!j || j.nq !== 1 || !j.axis || 7 * index + 7 > places.length) return null;
  const parent = turnAt(places, 7 * b.parent);
  const joint = parent.clone().multiply(turnAt(b.place, 0));
  const axis = new Vector3(...j.axis).normalize();
  if (j.type === 'prismatic') {
    const at = vectorAt(places, 7 * b.parent).add(vectorAt(b.place, 0).applyQuaternion(parent));
    return vectorAt(places, 7 * index).sub(at).dot(axis.applyQuaternion(joint));
  }
  if (j.type !== 'revolute' && j.type !== 'helical') return null;
  const turn = joint.invert().multiply(turnAt(places, 7 * index));
  const s = turn.x * axis.x + turn.y * axis.y + turn.z * axis.z;
  let angle = 2 * Math.atan2(s, turn.w);
  angle += 2 * Math.PI * Math.round((near - angle) / (2 * Math.PI));
  if (j.lower !== null && j.upper !== null) {
    while (angle < j.lower - 0.2 && angle + 2 * Math.PI <= j.upper + 0.2) angle += 2 * Math.PI;
    while (angle > j.upper + 0.2 && angle - 2 * Math.PI >= j.lower - 0.2) angle -= 2 * Math.PI;
  }
  return angle;
}

// Where a camera must stand to see everything.
import { type PerspectiveCamera, Vector3 } from 'three';
import { Z } from './shapes';

/** The nearest place, in a direction, from which all points are in sight, with the middle of what is seen in the middle: what to look
 *  at, and from how far.  `tall`: the view's height in pixels; buttons stand above, scales below. */
export function fit(points: Vector3[], direction: Vector3, start: Vector3, camera: PerspectiveCamera, tall: number): { centre: Vector3; distance: number } {
  const back = direction, right = new Vector3().crossVectors(Z, back).normalize(), up = new Vector3().crossVectors(back, right);
  const half = Math.tan((camera.fov * Math.PI) / 360);
  const ty = half * Math.max(0.5, 1 - 76 / tall), tx = 0.92 * half * camera.aspect;
  const centre = start.clone();
  let distance = 1e-3;
  for (let round = 0; ; ++round) {
    distance = 1e-3;
    for (const p of points) {
      const d = p.clone().sub(centre);
      distance = Math.max(distance, d.dot(back) + Math.abs(d.dot(right)) / tx, d.dot(back) + Math.abs(d.dot(up)) / ty);
    }
    if (round === 3) break;
    const seen = [Infinity, -Infinity, Infinity, -Infinity];
    for (const p of points) {
      const d = p.clone().sub(centre), depth = Math.max(1e-6, distance - d.dot(back));
      const x = d.dot(right) / depth, y = d.dot(up) / depth;
      seen[0] = Math.min(seen[0], x), seen[1] = Math.max(seen[1], x), seen[2] = Math.min(seen[2], y), seen[3] = Math.max(seen[3], y);
    }
    centre.addScaledVector(right, ((seen[0] + seen[1]) / 2) * distance).addScaledVector(up, ((seen[2] + seen[3]) / 2) * distance);
  }
  centre.addScaledVector(up, Math.min(0.2, 44 / tall) * half * distance);
  return { centre, distance };
}

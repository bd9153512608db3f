// Where the camera must be to see everything.
import { type PerspectiveCamera, Vector3 } from 'three';
import { Z } from './geometry';

/** Pixels that buttons take at the top and scales at the bottom of the view. */
const OCCUPIED = 76;
const BELOW_BUTTONS = 44;
/** The middle is corrected this often; then the picture is centred to a pixel or so. */
const ROUNDS = 3;

/** A camera's view: unit vectors, and tangents of half the angles it may use. */
interface Sight {
  back: Vector3;
  right: Vector3;
  up: Vector3;
  tanX: number;
  tanY: number;
}

/** Distance from which all points are in view. */
function distanceFor(points: Vector3[], centre: Vector3, s: Sight): number {
  let distance = 1e-3;
  for (const point of points) {
    const d = point.clone().sub(centre);
    const depth = d.dot(s.back);
    const forWidth = depth + Math.abs(d.dot(s.right)) / s.tanX;
    const forHeight = depth + Math.abs(d.dot(s.up)) / s.tanY;
    distance = Math.max(distance, forWidth, forHeight);
  }
  return distance;
}

/** Moves the centre to the middle of what is seen from this distance. */
function recentre(points: Vector3[], centre: Vector3, distance: number, s: Sight): void {
  const xs: number[] = [];
  const ys: number[] = [];
  for (const point of points) {
    const d = point.clone().sub(centre);
    const depth = Math.max(1e-6, distance - d.dot(s.back));
    xs.push(d.dot(s.right) / depth);
    ys.push(d.dot(s.up) / depth);
  }
  const middle = (values: number[]) =>
    (values.reduce((a, b) => Math.min(a, b)) + values.reduce((a, b) => Math.max(a, b))) / 2;
  centre.addScaledVector(s.right, middle(xs) * distance);
  centre.addScaledVector(s.up, middle(ys) * distance);
}

/** The nearest place from which all points are in view, seen along a direction: what to look at,
 *  and from what distance.  height: of the view, in pixels. */
export function fit(
  points: Vector3[],
  direction: Vector3,
  start: Vector3,
  camera: PerspectiveCamera,
  height: number,
): { centre: Vector3; distance: number } {
  const right = new Vector3().crossVectors(Z, direction).normalize();
  const up = new Vector3().crossVectors(direction, right);
  const half = Math.tan((camera.fov * Math.PI) / 360);
  const tanX = 0.92 * half * camera.aspect;
  const tanY = half * Math.max(0.5, 1 - OCCUPIED / height);
  const sight = { back: direction, right, up, tanX, tanY };
  const centre = start.clone();
  for (let round = 0; round < ROUNDS; ++round)
    recentre(points, centre, distanceFor(points, centre, sight), sight);
  const distance = distanceFor(points, centre, sight);
  centre.addScaledVector(up, Math.min(0.2, BELOW_BUTTONS / height) * half * distance);
  return { centre, distance };
}

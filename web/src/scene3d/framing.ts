// What the camera should see: the points that must be in view, and the best oblique direction.
import { type Box3, Matrix4, type Mesh, Raycaster, Vector3 } from 'three';
import type { Scene } from '../data/protocol';
import { type Bodies, diagonal } from './bodies';
import { Z } from './geometry';

/** Part of its reach that a machine is given room for, before it moves. */
const REACH = 0.7;
/** Limits of work for finding the best view: bodies times meshes, and vertices. */
const MOST_TESTS = 1000;
const MOST_VERTICES = 60000;

function cornersOf(box: Box3, matrix: Matrix4): Vector3[] {
  const corners: Vector3[] = [];
  for (const x of [box.min.x, box.max.x])
    for (const y of [box.min.y, box.max.y])
      for (const z of [box.min.z, box.max.z])
        corners.push(new Vector3(x, y, z).applyMatrix4(matrix));
  return corners;
}

/** Points around the base of a machine, as far out as its bodies can partly reach. */
function reachPoints(scene: Scene, bodies: Bodies): Vector3[] {
  const points: Vector3[] = [];
  const reach = scene.bodies.map(() => 0);
  const root = scene.bodies.map((_, i) => i);
  scene.bodies.forEach((b, i) => {
    if (!i || b.joint?.type === 'free') return;
    if (b.parent > 0) {
      root[i] = root[b.parent];
      reach[i] = reach[b.parent] + Math.hypot(b.place[0], b.place[1], b.place[2]);
    }
    const r = REACH * (reach[i] + diagonal(bodies.models[i].box) / 2);
    const base = new Vector3().setFromMatrixPosition(bodies.models[root[i]].group.matrix);
    for (const axis of [0, 1, 2])
      for (const by of [r, -r]) {
        const point = base.clone();
        points.push(point.setComponent(axis, point.getComponent(axis) + by));
      }
  });
  return points;
}

/** Everything that must be in view; more: other points, such as tips of arrows. */
export function pointsToFit(scene: Scene, bodies: Bodies, more: Vector3[]): Vector3[] {
  const bounds = bodies.bounds();
  const points: Vector3[] = [];
  for (const { index, box, group } of bodies.models) {
    if (!bodies.isVisible(index) || box.isEmpty()) continue;
    if (index > 0 || bounds.containsBox(box)) points.push(...cornersOf(box, group.matrix));
  }
  if (scene.source === 'model') points.push(...reachPoints(scene, bodies));
  points.push(...more);
  return points.length ? points : cornersOf(bounds, new Matrix4());
}

/** Eight oblique directions, those nearest to the usual one first. */
const obliqueDirections = (): Vector3[] =>
  [0, 1, 7, 2, 6, 3, 5, 4].map((k) =>
    new Vector3(1, -1.25, 0.8).applyAxisAngle(Z, (k * Math.PI) / 4),
  );

/** How many origins and centres of bodies are seen from a direction. */
function countSeen(bodies: Bodies, meshes: Mesh[], direction: Vector3): number {
  const ray = new Raycaster();
  const back = direction.clone().normalize();
  let seen = 0;
  for (const { index, box, group } of bodies.models.slice(1)) {
    if (box.isEmpty()) continue;
    const others = meshes.filter((mesh) => mesh.userData.body !== index);
    for (const point of [new Vector3(), box.getCenter(new Vector3())]) {
      ray.set(point.applyMatrix4(group.matrix), back);
      if (!ray.intersectObjects(others, false).length) ++seen;
    }
  }
  return seen;
}

/** The oblique direction from which the fewest bodies are hidden by others. */
export function bestOblique(bodies: Bodies): Vector3 {
  const directions = obliqueDirections();
  // skeletons hide little
  const meshes = bodies.models.slice(1).flatMap((m) => m.links.filter((o) => o.visible)) as Mesh[];
  const vertices = meshes.reduce((n, o) => n + o.geometry.getAttribute('position').count, 0);
  const isTooMuch = bodies.models.length * meshes.length > MOST_TESTS || vertices > MOST_VERTICES;
  if (!meshes.length || isTooMuch) return directions[0];
  let best = directions[0];
  let most = -1;
  for (const direction of directions) {
    const seen = countSeen(bodies, meshes, direction);
    if (seen <= most * 1.02) continue; // only if it is clearly better
    most = seen;
    best = direction;
  }
  return best;
}

// How thick bones and joints are drawn, found from the lengths of the model.
import type { Place, Scene } from '../data/protocol';

/** One side of a joint that closes a loop. */
export interface LoopEnd {
  body: number;
  place: Place;
  joint: string;
  /** The two sides are in one place: drawn slightly different, only one is seen. */
  scale: number;
}

export interface Proportions {
  /** Typical distance from joint to joint, m. */
  typical: number;
  /** Radius of a bone, m. */
  rod: number;
}

export function loopEnds(scene: Scene): LoopEnd[] {
  const ends: LoopEnd[] = [];
  for (const c of scene.constraints ?? []) {
    if (c.placeA) ends.push({ body: c.a, place: c.placeA, joint: c.joint, scale: 1 });
    if (c.placeB) ends.push({ body: c.b, place: c.placeB, joint: c.joint, scale: 0.97 });
  }
  return ends;
}

const distances = (places: Place[]): number[] =>
  places
    .map((p) => Math.hypot(p[0], p[1], p[2]))
    .filter((x) => x > 1e-6)
    .sort((a, b) => a - b);

/** Median distance between joints.  Where a machine is placed in the world says nothing about its
 *  links, so that counts only if there is nothing else. */
function typicalLength(scene: Scene, ends: LoopEnd[]): number {
  const { bodies } = scene;
  const within = distances([
    ...bodies.filter((b) => b.parent > 0).map((b) => b.place),
    ...ends.filter((c) => c.body > 0).map((c) => c.place),
  ]);
  const lengths = within.length ? within : distances(bodies.slice(1).map((b) => b.place));
  return lengths.length ? lengths[lengths.length >> 1] : 0.3;
}

export function proportionsOf(scene: Scene, ends: LoopEnd[]): Proportions {
  const typical = typicalLength(scene, ends);
  const radii = scene.shapes
    .filter((s) => s.body)
    .map((s) => Math.max(...s.half) + s.radius)
    .filter((x) => x > 0);
  const byLength = typical * (ends.length ? 0.05 : 0.065);
  const byShapes = radii.length ? Math.max(...radii) * 0.35 : 1;
  return { typical, rod: Math.min(byLength, byShapes) || 0.02 };
}

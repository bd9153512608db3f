// Lines between the nearest points of shapes that do not touch.
import { BufferGeometry, LineSegments, type Object3D, Vector3 } from 'three';
import { pointsGeometry } from './geometry';
import type { Materials } from './materials';

/** Numbers per line: both ends and the distance. */
const STRIDE = 7;
/** The shortest lines, at most this many, are drawn. */
const MOST = 12;
/** With more lines than this the layer is off until the user switches it on. */
const MANY = 6;

export class NearestLines {
  /** True once the user has switched the layer. */
  isChosen = false;
  private readonly lines: LineSegments;

  constructor(parent: Object3D, materials: Materials) {
    this.lines = new LineSegments(new BufferGeometry(), materials.nearest);
    this.lines.renderOrder = 16;
    this.lines.frustumCulled = false;
    this.lines.visible = false;
    parent.add(this.lines);
  }

  /** True if there are too many lines to show them without being asked. */
  areTooMany(lines: Float32Array): boolean {
    return !this.isChosen && lines.length > STRIDE * MANY;
  }

  show(on: boolean): void {
    this.lines.visible = on;
  }

  set(lines: Float32Array, on: boolean): void {
    const count = Math.floor(lines.length / STRIDE);
    const distance = (i: number) => lines[STRIDE * i + 6];
    const shortest = Array.from({ length: count }, (_, i) => i)
      .sort((a, b) => distance(a) - distance(b))
      .slice(0, MOST);
    const points = shortest.flatMap((i) => [...lines.subarray(STRIDE * i, STRIDE * i + 6)]);
    this.lines.geometry.dispose();
    this.lines.geometry = pointsGeometry(points);
    this.lines.visible = on && shortest.length > 0;
  }
}

/** The middle and the length of the shortest line; null if there is none. */
export function shortestLine(lines: Float32Array): { middle: Vector3; distance: number } | null {
  let best = -1;
  for (let k = 0; k + STRIDE <= lines.length; k += STRIDE)
    if (best < 0 || lines[k + 6] < lines[best + 6]) best = k;
  if (best < 0) return null;
  const [x0, y0, z0, x1, y1, z1, distance] = lines.subarray(best, best + STRIDE);
  return { middle: new Vector3((x0 + x1) / 2, (y0 + y1) / 2, (z0 + z1) / 2), distance };
}

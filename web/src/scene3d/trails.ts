// Trails: the paths of bodies' centres of mass.  The past is bright; what is still to come, in a
// record, is pale.
import { BufferGeometry, Line, LineBasicMaterial, type Object3D } from 'three';
import { hasPose, pointInWorld } from '../data/pose';
import { pointsGeometry } from './geometry';
import type { Moment } from './types';

type PosedMoment = Pick<Moment, 't' | 'places'>;

interface Trail {
  body: number;
  data: Float64Array; // t x y z per point, ordered by time
  count: number;
  past: Line;
  future: Line;
  complete: boolean; // the whole path was given
}

/** Points of a path that grows frame by frame; then every second one is dropped. */
const MOST_POINTS = 6000;

/** Index of the first point after a time. */
function firstAfter(trail: Trail, t: number): number {
  let low = 0;
  let high = trail.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (trail.data[4 * middle] <= t) low = middle + 1;
    else high = middle;
  }
  return low;
}

function dropEverySecond(trail: Trail): void {
  let kept = 0;
  for (let i = 0; i < trail.count; i += 2) {
    trail.data.copyWithin(4 * kept, 4 * i, 4 * i + 4);
    ++kept;
  }
  trail.count = kept;
}

function makeRoom(trail: Trail): void {
  if (4 * (trail.count + 1) <= trail.data.length) return;
  const more = new Float64Array(2 * trail.data.length);
  more.set(trail.data);
  trail.data = more;
}

function insert(trail: Trail, k: number, t: number, point: number[]): void {
  makeRoom(trail);
  trail.data.copyWithin(4 * (k + 1), 4 * k, 4 * trail.count);
  trail.data.set([t, ...point], 4 * k);
  ++trail.count;
}

/** Writes the points of a trail into its lines. */
function updateLines(trail: Trail): void {
  const points = new Float32Array(3 * trail.count);
  for (let i = 0; i < trail.count; ++i)
    points.set(trail.data.subarray(4 * i + 1, 4 * i + 4), 3 * i);
  const { position } = pointsGeometry(points).attributes;
  for (const line of [trail.past, trail.future]) {
    line.geometry.dispose();
    line.geometry = new BufferGeometry().setAttribute('position', position);
  }
}

export class Trails {
  private readonly all = new Map<number, Trail>();

  constructor(
    private readonly parent: Object3D,
    private readonly com: (body: number) => [number, number, number],
    private readonly colour: (body: number) => string,
  ) {}

  has(body: number): boolean {
    return this.all.has(body);
  }

  remove(body: number): void {
    const trail = this.all.get(body);
    if (!trail) return;
    this.parent.remove(trail.past, trail.future);
    this.all.delete(body);
  }

  /** path: t x y z of all its points, if they are known. */
  add(body: number, path: Float64Array | null, visible: boolean): void {
    this.remove(body);
    const trail: Trail = {
      body,
      data: path ?? new Float64Array(4 * 256),
      count: path ? path.length / 4 : 0,
      past: this.makeLine(body, 1, visible),
      future: this.makeLine(body, 0.25, visible),
      complete: path !== null,
    };
    this.all.set(body, trail);
    updateLines(trail);
  }

  private makeLine(body: number, opacity: number, visible: boolean): Line {
    const looks = { color: this.colour(body), depthTest: false, transparent: true, opacity };
    const line = new Line(new BufferGeometry(), new LineBasicMaterial(looks));
    line.frustumCulled = false;
    line.renderOrder = 12;
    line.visible = visible;
    this.parent.add(line);
    return line;
  }

  show(on: boolean): void {
    for (const trail of this.all.values()) {
      trail.past.visible = on;
      trail.future.visible = on;
    }
  }

  /** Forgets the past, for a run that begins again. */
  clear(): void {
    for (const trail of this.all.values()) {
      if (trail.complete) continue;
      trail.count = 0;
      updateLines(trail);
    }
  }

  extend(moment: PosedMoment): void {
    for (const trail of this.all.values())
      if (hasPose(moment.places, trail.body)) this.extendOne(trail, moment);
  }

  private extendOne(trail: Trail, { t, places }: PosedMoment): void {
    let k = firstAfter(trail, t);
    const isNew = k === 0 || trail.data[4 * (k - 1)] < t;
    if (!trail.complete && isNew) {
      if (trail.count >= MOST_POINTS) {
        dropEverySecond(trail);
        k = Math.min(trail.count, k >> 1);
      }
      insert(trail, k, t, pointInWorld(places, 7 * trail.body, this.com(trail.body)));
      ++k;
      updateLines(trail);
    }
    trail.past.geometry.setDrawRange(0, k);
    trail.future.geometry.setDrawRange(Math.max(0, k - 1), Math.max(0, trail.count - k + 1));
  }
}

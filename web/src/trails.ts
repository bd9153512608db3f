// Trails: the paths of bodies' centres of mass, what is past bright, what is to come (in a record) pale.
import { BufferAttribute, BufferGeometry, Line, LineBasicMaterial, type Object3D } from 'three';
import type { Frame } from './protocol';
import { rotate } from './source';

interface Trail {
  body: number;
  data: Float64Array; // t x y z, by time
  count: number;
  past: Line;
  future: Line;
  complete: boolean; // the whole path was given
}
const MOST = 6000; // points of a path that is found on the way; then every second goes

export class Trails {
  private all = new Map<number, Trail>();
  constructor(private parent: Object3D, private com: (body: number) => [number, number, number], private colour: (body: number) => string) {}

  has(body: number): boolean {
    return this.all.has(body);
  }
  /** path: t x y z of all its points, if they are known. */
  set(body: number, on: boolean, path: Float64Array | null, visible: boolean): void {
    const old = this.all.get(body);
    if (old) {
      this.parent.remove(old.past, old.future);
      this.all.delete(body);
    }
    if (!on) return;
    const line = (opacity: number) => {
      const m = new Line(new BufferGeometry(), new LineBasicMaterial({ color: this.colour(body), depthTest: false, transparent: true, opacity }));
      m.frustumCulled = false;
      m.renderOrder = 12;
      m.visible = visible;
      this.parent.add(m);
      return m;
    };
    const t: Trail = { body, data: path ?? new Float64Array(4 * 256), count: path ? path.length / 4 : 0, past: line(1), future: line(0.25), complete: path !== null };
    this.all.set(body, t);
    this.fill(t);
  }
  show(on: boolean): void {
    this.all.forEach((t) => (t.past.visible = t.future.visible = on));
  }
  /** A run that began again has no past. */
  clear(): void {
    for (const t of this.all.values()) if (!t.complete) (t.count = 0), this.fill(t);
  }
  extend(pose: Pick<Frame, 't' | 'places'>): void {
    for (const t of this.all.values()) this.extendOne(t, pose);
  }

  private fill(t: Trail): void {
    const points = new Float32Array(3 * t.count);
    for (let i = 0; i < t.count; ++i) points.set([t.data[4 * i + 1], t.data[4 * i + 2], t.data[4 * i + 3]], 3 * i);
    const attribute = new BufferAttribute(points, 3);
    for (const m of [t.past, t.future]) {
      m.geometry.dispose();
      m.geometry = new BufferGeometry().setAttribute('position', attribute);
    }
  }
  private extendOne(t: Trail, pose: Pick<Frame, 't' | 'places'>): void {
    if (7 * t.body + 7 > pose.places.length) return;
    let k = 0, end = t.count; // the first point after this time
    while (k < end) {
      const m = (k + end) >> 1;
      if (t.data[4 * m] <= pose.t) k = m + 1;
      else end = m;
    }
    if (!t.complete && (k === 0 || t.data[4 * (k - 1)] < pose.t)) {
      if (t.count >= MOST) {
        let n = 0;
        for (let i = 0; i < t.count; i += 2) t.data.copyWithin(4 * n++, 4 * i, 4 * i + 4);
        t.count = n;
        k = Math.min(n, k >> 1);
      }
      if (4 * (t.count + 1) > t.data.length) {
        const more = new Float64Array(2 * t.data.length);
        more.set(t.data);
        t.data = more;
      }
      t.data.copyWithin(4 * (k + 1), 4 * k, 4 * t.count);
      t.data.set([pose.t, ...rotate(pose.places, 7 * t.body, this.com(t.body))], 4 * k);
      ++t.count, ++k;
      this.fill(t);
    }
    t.past.geometry.setDrawRange(0, k);
    t.future.geometry.setDrawRange(Math.max(0, k - 1), Math.max(0, t.count - k + 1));
  }
}

// Arrows from body to body: the direction in which a recursion runs.
import { type Object3D, Vector3 } from 'three';
import { hasPose } from '../data/pose';
import { Arrows } from './arrows';
import type { Materials } from './materials';
import type { Scale } from './types';

export class Flow {
  private readonly arrows: Arrows;
  private pairs: [number, number][] = [];

  constructor(
    parent: Object3D,
    private readonly materials: Materials,
    private readonly scale: Scale,
  ) {
    this.arrows = new Arrows(materials.flat.flow, 24);
    parent.add(this.arrows.group);
  }

  set(pairs: [number, number][], colour: string): void {
    this.pairs = pairs;
    this.materials.flat.flow.color.set(colour);
  }

  draw(poses: ArrayLike<number>): void {
    const origin = (body: number) =>
      new Vector3(poses[7 * body], poses[7 * body + 1], poses[7 * body + 2]);
    this.arrows.begin(this.pairs.length);
    for (const [from, to] of this.pairs) {
      if (!hasPose(poses, Math.max(from, to))) continue;
      const start = origin(from);
      const by = origin(to).sub(start);
      if (by.length() <= 0.01 * this.scale.size) continue;
      start.addScaledVector(by, 0.08); // a little space at both ends
      this.arrows.add(start, by.multiplyScalar(0.84), 0.007 * this.scale.size);
    }
    this.arrows.end();
  }
}

// Centre of mass, and arrows for momentum and angular momentum.
import { Mesh, type Object3D, SphereGeometry, Vector3 } from 'three';
import { roundDown } from '../shared/numbers';
import { Arrows } from './arrows';
import type { Materials } from './materials';
import type { Layers, Scale } from './types';

/** A reference is 1, 2 or 5 times a power of ten.  It is kept while the largest value is near it,
 *  so that arrows do not change their scale all the time. */
function updatedReference(old: number, value: number): number {
  if (!(value > 1e-9)) return old;
  const isNear = old > 0 && value <= 2.6 * old && value >= 0.3 * old;
  return isNear ? old : roundDown(value);
}

export class Momentum {
  /** Momentum (N s) and angular momentum (N m s) that are drawn `referenceLength` long. */
  readonly references = [0, 0];
  private readonly arrows: Arrows[];
  private readonly com: Mesh;
  private isKnown = false;

  constructor(
    parent: Object3D,
    materials: Materials,
    private readonly scale: Scale,
  ) {
    this.arrows = [new Arrows(materials.flat.momentum, 18), new Arrows(materials.flat.angular, 18)];
    this.com = new Mesh(new SphereGeometry(1, 20, 14), materials.flat.com);
    this.com.renderOrder = 17;
    this.com.frustumCulled = false;
    this.com.visible = false;
    parent.add(this.com, ...this.arrows.map((a) => a.group));
  }

  get referenceLength(): number {
    return this.scale.size / 6;
  }

  show(layers: Layers): void {
    this.com.visible = layers.com && this.isKnown;
    for (const arrows of this.arrows) arrows.group.visible = layers.momentum;
  }

  /** com: centre of mass, momentum, angular momentum. */
  set(com: Float32Array, layers: Layers): void {
    if (com.length < 9) return;
    this.isKnown = true;
    const at = new Vector3(com[0], com[1], com[2]);
    this.com.position.copy(at);
    this.com.scale.setScalar(0.011 * this.scale.size);
    this.com.visible = layers.com;
    this.arrows.forEach((arrows, k) => {
      const value = new Vector3(com[3 + 3 * k], com[4 + 3 * k], com[5 + 3 * k]);
      this.references[k] = updatedReference(this.references[k], value.length());
      arrows.begin(1);
      if (this.references[k]) {
        const arrow = value.multiplyScalar(this.referenceLength / this.references[k]);
        arrows.add(at, arrow, 0.004 * this.scale.size);
      }
      arrows.end();
    });
  }
}

// Marks on bodies: axes of named frames and of body frames, and the axes of joints.
import { CylinderGeometry, Mesh, Vector3 } from 'three';
import type { Scene } from '../data/protocol';
import type { BodyModel } from './body-model';
import { axesGeometry, placed, pointed, upright } from './geometry';
import type { Materials } from './materials';
import type { Proportions } from './proportions';
import type { Layers } from './types';

export class Marks {
  private readonly frames: Mesh[] = [];
  private readonly bodyFrames: Mesh[] = [];
  private readonly jointAxes: Mesh[] = [];

  constructor(scene: Scene, models: BodyModel[], proportions: Proportions, materials: Materials) {
    const { rod, typical } = proportions;
    const length = Math.max(typical * 0.4, 4 * rod);
    const axes = axesGeometry(length);
    for (const f of scene.frames) {
      const mark = new Mesh(axes, materials.coloured);
      placed(mark, f.place);
      models[f.body].group.add(mark);
      this.frames.push(mark);
    }
    for (const { index, group } of models) {
      const mark = new Mesh(axes, materials.coloured);
      mark.scale.setScalar(index ? 0.7 : 1);
      group.add(mark);
      this.bodyFrames.push(mark);
      const axis = scene.bodies[index].joint?.axis;
      if (!axis) continue;
      const rodGeometry = upright(new CylinderGeometry(0.2 * rod, 0.2 * rod, 2 * length, 8));
      const direction = new Vector3(...axis).normalize();
      const joint = new Mesh(pointed(rodGeometry, direction), materials.flat.joint);
      group.add(joint);
      this.jointAxes.push(joint);
    }
  }

  show(layers: Layers): void {
    for (const mark of this.frames) mark.visible = layers.frames;
    for (const mark of this.bodyFrames) mark.visible = layers.bodyframes;
    for (const mark of this.jointAxes) mark.visible = layers.axes;
  }
}

// All bodies of the 3-D view: built from the scene, moved by frames, shown and hidden.
import { Box3, Mesh, type Object3D, Quaternion, Vector3 } from 'three';
import type { Scene } from '../data/protocol';
import type { ThemeName } from '../shared/colours';
import { type BodyModel, emptyModel } from './body-model';
import { addLinks } from './links';
import { Marks } from './marks';
import type { Materials, Solid } from './materials';
import { loopEnds, proportionsOf } from './proportions';
import { SkeletonBuilder } from './skeleton';
import type { Layers } from './types';

/** Added to the lightness of every other body along a chain. */
const SHADE = 0.035;
const ONE = new Vector3(1, 1, 1);

/** The diagonal of a box. */
export const diagonal = (box: Box3): number => box.getSize(new Vector3()).length();

export class Bodies {
  readonly models: BodyModel[];
  /** A length to start with, before the first frame. */
  readonly firstSize: number;
  private readonly hidden = new Set<number>();
  private readonly marks: Marks;

  constructor(
    scene: Scene,
    private readonly materials: Materials,
    parent: Object3D,
  ) {
    const ends = loopEnds(scene);
    const proportions = proportionsOf(scene, ends);
    const skeletons = new SkeletonBuilder(scene, ends, proportions, materials);
    const depth: number[] = [];
    this.models = scene.bodies.map((body, i) => {
      depth[i] = i ? depth[body.parent] + 1 : 0;
      const shade = depth[i] % 2 ? -SHADE : SHADE;
      const shapes = scene.shapes.filter((s) => s.body === i);
      const model = emptyModel(i);
      addLinks(model, shapes, shade, materials);
      if (i) skeletons.build(model, shapes, shade);
      else if (!shapes.length) skeletons.buildWorld(model);
      parent.add(model.group);
      return model;
    });
    this.marks = new Marks(scene, this.models, proportions, materials);
    this.firstSize = Math.max(proportions.typical * 3, 10 * proportions.rod);
  }

  get groups(): Object3D[] {
    return this.models.map((m) => m.group);
  }

  /** True if the scene brings its own level ground. */
  get hasGround(): boolean {
    return this.models.some((m) => m.grounds.length > 0);
  }

  /** Returns the number of bodies that were moved. */
  setPoses(poses: ArrayLike<number>): number {
    const count = Math.min(this.models.length, poses.length / 7);
    const at = new Vector3();
    const turn = new Quaternion();
    for (let i = 0; i < count; ++i) {
      const k = 7 * i;
      at.set(poses[k], poses[k + 1], poses[k + 2]);
      turn.set(poses[k + 4], poses[k + 5], poses[k + 6], poses[k + 3]);
      const { group } = this.models[i];
      group.matrix.compose(at, turn, ONE);
      group.matrixWorldNeedsUpdate = true;
    }
    return count;
  }

  show(layers: Layers): void {
    for (const model of this.models) {
      model.group.visible = !this.hidden.has(model.index);
      for (const link of model.links) link.visible = layers.links;
      for (const shape of model.collision) shape.visible = layers.collision;
      for (const { mesh, always } of model.skeleton)
        mesh.visible = layers.skeleton || (layers.links && (always || !model.hasLinks));
      for (const grid of model.grounds) grid.visible = layers.grid;
    }
    this.marks.show(layers);
  }

  setVisible(body: number, on: boolean): void {
    if (on) this.hidden.delete(body);
    else this.hidden.add(body);
  }
  isVisible(body: number): boolean {
    return !this.hidden.has(body);
  }

  /** Lets one body glow. */
  highlight(selected: number | null, theme: ThemeName): void {
    for (const { index, group } of this.models)
      for (const mesh of group.children) {
        if (!(mesh instanceof Mesh) || mesh.userData.body === undefined) continue;
        mesh.userData.plain ??= mesh.material;
        const plain = mesh.userData.plain as Solid;
        const isLit = index > 0 && index === selected;
        mesh.material = isLit ? this.materials.glow(plain, theme) : plain;
      }
  }

  /** The visible bodies' box.  What is fixed to the world counts too, unless it is as wide as
   *  ground. */
  bounds(): Box3 {
    const all = new Box3();
    for (const { index, box, group } of this.models.slice(1))
      if (!this.hidden.has(index) && !box.isEmpty())
        all.union(box.clone().applyMatrix4(group.matrix));
    const world = this.models[0]?.box;
    if (world && !world.isEmpty() && !this.hidden.has(0))
      if (all.isEmpty() || diagonal(world) < 1.5 * diagonal(all)) all.union(world);
    if (all.isEmpty()) all.set(new Vector3(-0.5, -0.5, 0), new Vector3(0.5, 0.5, 1));
    return all;
  }
}

// Skeletons: bones from a body's joint to whatever is fixed to the body, and a mark for each joint.
import {
  BoxGeometry,
  type BufferGeometry,
  CylinderGeometry,
  Mesh,
  Object3D,
  SphereGeometry,
  Vector3,
} from 'three';
import type { Scene, Shape } from '../data/protocol';
import type { BodyModel } from './body-model';
import { originOf, placed, pointed, upright, Z } from './geometry';
import { needsBone } from './links';
import { JOINT_COLOUR, type Materials } from './materials';
import type { LoopEnd, Proportions } from './proportions';

/** What a joint looks like, its axis along z. */
function jointGeometry(type: string, rod: number): BufferGeometry {
  switch (type) {
    case 'prismatic':
      return new BoxGeometry(2.4 * rod, 2.4 * rod, 3 * rod);
    case 'revolute':
    case 'helical':
    case 'cylindrical':
      return upright(new CylinderGeometry(1.4 * rod, 1.4 * rod, 3 * rod, 28));
    default:
      return new SphereGeometry(1.6 * rod, 24, 16);
  }
}

export class SkeletonBuilder {
  private readonly rod: number;

  constructor(
    private readonly scene: Scene,
    private readonly ends: LoopEnd[],
    proportions: Proportions,
    private readonly materials: Materials,
  ) {
    this.rod = proportions.rod;
  }

  /** Bones of a body other than the world. */
  build(model: BodyModel, shapes: Shape[], shade: number): void {
    const { bodies, frames } = this.scene;
    const body = bodies[model.index];
    const bone = (to: Vector3, thick: number, isJoint = false) =>
      this.addBone(model, to, thick, isJoint, shade);
    const children = bodies.filter((c, k) => k > model.index && c.parent === model.index);
    for (const child of children) bone(originOf(child.place), this.rod, true);
    if (!children.length)
      for (const frame of frames)
        if (frame.body === model.index) bone(originOf(frame.place), 0.8 * this.rod);
    for (const s of shapes) if (needsBone(s)) bone(originOf(s.place), 0.45 * this.rod);
    for (const end of this.ends) {
      if (end.body !== model.index) continue;
      bone(originOf(end.place), this.rod, true);
      this.addLoopJoint(model, end);
    }
    bone(new Vector3(...body.com), 0.55 * this.rod);
    this.addJoint(model, shapes.length > 0, shade);
    model.box.expandByPoint(new Vector3());
  }

  /** A world without shapes: its box holds the places where machines are mounted. */
  buildWorld(model: BodyModel): void {
    const { bodies } = this.scene;
    for (const b of bodies.slice(1))
      if (b.parent === 0 && b.joint && b.joint.type !== 'free')
        model.box.expandByPoint(originOf(b.place));
    for (const end of this.ends) if (end.body === 0) model.box.expandByPoint(originOf(end.place));
  }

  private add(
    model: BodyModel,
    geometry: BufferGeometry,
    colour: string,
    shade: number,
    always = false,
  ): void {
    const mesh = new Mesh(geometry, this.materials.solid(colour, shade));
    mesh.userData.body = model.index;
    model.skeleton.push({ mesh, always });
    model.group.add(mesh);
  }

  /** Shapes may be few, or their files missing: a joint that none of them reaches is connected to
   *  its body by a bone that is always shown. */
  private addBone(
    model: BodyModel,
    to: Vector3,
    thick: number,
    isJoint: boolean,
    shade: number,
  ): void {
    const length = to.length();
    model.box.expandByPoint(to);
    if (length < 1.2 * thick) return;
    const isFar = model.linkBoxes.every((box) => box.distanceToPoint(to) > 0.1 * length);
    const geometry = upright(new CylinderGeometry(0.72 * thick, thick, length, 18));
    geometry.translate(0, 0, length / 2);
    const bone = pointed(geometry, to.clone().divideScalar(length));
    const colour = this.materials.partColour(model.index);
    this.add(model, bone, colour, shade, isJoint && isFar);
  }

  private isBridged(model: BodyModel): boolean {
    return model.skeleton.some((bone) => bone.always);
  }

  private addLoopJoint(model: BodyModel, end: LoopEnd): void {
    if (end.joint === 'fixed') return;
    const at = placed(new Object3D(), end.place);
    at.scale.setScalar(end.scale);
    at.updateMatrix();
    const geometry = jointGeometry(end.joint, this.rod).applyMatrix4(at.matrix);
    this.add(model, geometry, JOINT_COLOUR, 0, this.isBridged(model));
  }

  private addJoint(model: BodyModel, hasShapes: boolean, shade: number): void {
    const joint = this.scene.bodies[model.index].joint;
    if (joint && joint.type !== 'free' && joint.type !== 'fixed') {
      const axis = joint.axis ? new Vector3(...joint.axis).normalize() : Z;
      const geometry = pointed(jointGeometry(joint.type, this.rod), axis);
      this.add(model, geometry, JOINT_COLOUR, 0, this.isBridged(model));
    } else if (!hasShapes) {
      const ball = new SphereGeometry(1.6 * this.rod, 24, 16);
      this.add(model, ball, this.materials.partColour(model.index), shade);
    }
  }
}

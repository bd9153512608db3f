// Contacts: a dot at each point and an arrow for each force.
import { InstancedMesh, Matrix4, type Object3D, SphereGeometry, Vector3 } from 'three';
import { Arrows } from './arrows';
import type { Materials } from './materials';
import type { Scale } from './types';

/** Numbers per contact: point, force, and two that are not drawn. */
const STRIDE = 8;

export class Contacts {
  /** The force that is drawn a fifth of the view long, N. */
  reference = 0;
  private readonly forces: Arrows;
  private dots: InstancedMesh;

  constructor(
    private readonly parent: Object3D,
    private readonly materials: Materials,
    private readonly scale: Scale,
  ) {
    this.forces = new Arrows(materials.flat.force, 20);
    this.dots = this.makeDots(64);
    parent.add(this.forces.group);
  }

  private makeDots(room: number): InstancedMesh {
    const dots = new InstancedMesh(
      new SphereGeometry(1, 14, 10),
      this.materials.flat.contact,
      room,
    );
    dots.frustumCulled = false;
    dots.renderOrder = 21;
    dots.count = 0;
    this.parent.add(dots);
    return dots;
  }

  private makeRoom(count: number): void {
    if (count <= this.dots.instanceMatrix.count) return;
    const { visible } = this.dots;
    this.parent.remove(this.dots);
    this.dots.dispose();
    this.dots = this.makeDots(2 * count);
    this.dots.visible = visible;
  }

  show(on: boolean): void {
    this.forces.group.visible = on;
    this.dots.visible = on;
  }

  get count(): number {
    return this.dots.count;
  }

  /** Metres per newton. */
  get metresPerNewton(): number {
    return this.reference > 1e-9 ? this.scale.extent / 5 / this.reference : 0;
  }

  set(contacts: Float32Array): void {
    const count = Math.floor(contacts.length / STRIDE);
    this.makeRoom(count);
    this.updateReference(contacts);
    const radius = 0.006 * this.scale.size;
    const matrix = new Matrix4();
    this.forces.begin(count);
    for (let i = 0; i < count; ++i) {
      const { point, force } = contactAt(contacts, i);
      this.dots.setMatrixAt(i, matrix.makeScale(radius, radius, radius).setPosition(point));
      const arrow = force.multiplyScalar(this.metresPerNewton);
      this.forces.add(point, arrow, 0.0032 * this.scale.size);
    }
    this.forces.end();
    this.dots.count = count;
    this.dots.instanceMatrix.needsUpdate = true;
  }

  /** The largest force so far sets the scale.  After an impact much larger than what follows, the
   *  scale is chosen again. */
  private updateReference(contacts: Float32Array): void {
    let largest = 0;
    for (let k = 0; k + STRIDE <= contacts.length; k += STRIDE)
      largest = Math.max(
        largest,
        Math.hypot(contacts[k + 3], contacts[k + 4], contacts[k + 5]) || 0,
      );
    const isSmall = largest > 1e-9 && largest < 0.1 * this.reference;
    if (largest > this.reference || isSmall) this.reference = largest;
  }

  /** The tips of all force arrows. */
  tips(contacts: Float32Array): Vector3[] {
    const all: Vector3[] = [];
    for (let i = 0; STRIDE * (i + 1) <= contacts.length; ++i) {
      const { point, force } = contactAt(contacts, i);
      const tip = point.addScaledVector(force, this.metresPerNewton);
      if (Number.isFinite(tip.lengthSq())) all.push(tip);
    }
    return all;
  }
}

function contactAt(contacts: Float32Array, i: number): { point: Vector3; force: Vector3 } {
  const [x, y, z, fx, fy, fz] = contacts.subarray(STRIDE * i, STRIDE * i + 6);
  return { point: new Vector3(x, y, z), force: new Vector3(fx, fy, fz) };
}

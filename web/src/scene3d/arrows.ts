// Arrows, as many as are set, drawn by two instanced meshes.
import {
  ConeGeometry,
  CylinderGeometry,
  Group,
  InstancedMesh,
  type Material,
  Matrix4,
  Quaternion,
  Vector3,
} from 'three';
import { upright, Z } from './geometry';

/** Size of the head, in thicknesses of the shaft. */
const HEAD_LENGTH = 8;
const HEAD_RADIUS = 2.8;

export class Arrows {
  readonly group = new Group();
  private shafts!: InstancedMesh;
  private heads!: InstancedMesh;
  private room = 0;
  private count = 0;

  constructor(
    private readonly material: Material,
    private readonly order: number,
  ) {
    this.grow(16);
  }

  private grow(room: number): void {
    this.room = room;
    this.group.clear();
    this.shafts?.dispose();
    this.heads?.dispose();
    const shaft = upright(new CylinderGeometry(1, 1, 1, 10)).translate(0, 0, 0.5);
    const head = upright(new ConeGeometry(1, 1, 14)).translate(0, 0, 0.5);
    this.shafts = new InstancedMesh(shaft, this.material, room);
    this.heads = new InstancedMesh(head, this.material, room);
    for (const mesh of [this.shafts, this.heads]) {
      mesh.frustumCulled = false;
      mesh.renderOrder = this.order;
      this.group.add(mesh);
    }
  }

  /** Starts a new set of at most `count` arrows. */
  begin(count: number): void {
    if (count > this.room) this.grow(2 * count);
    this.count = 0;
  }

  add(from: Vector3, by: Vector3, thickness: number): void {
    const length = by.length();
    if (!(length > 1e-9)) return;
    const turn = new Quaternion().setFromUnitVectors(Z, by.clone().divideScalar(length));
    const tip = Math.min(HEAD_LENGTH * thickness, 0.6 * length);
    const shaftSize = new Vector3(thickness, thickness, length - tip);
    this.shafts.setMatrixAt(this.count, new Matrix4().compose(from, turn, shaftSize));
    const headAt = from.clone().addScaledVector(by, (length - tip) / length);
    const headSize = new Vector3(HEAD_RADIUS * thickness, HEAD_RADIUS * thickness, tip);
    this.heads.setMatrixAt(this.count, new Matrix4().compose(headAt, turn, headSize));
    ++this.count;
  }

  end(): void {
    for (const mesh of [this.shafts, this.heads]) {
      mesh.count = this.count;
      mesh.instanceMatrix.needsUpdate = true;
    }
  }
}

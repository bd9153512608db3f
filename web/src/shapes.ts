// Things to draw: the geometry of shapes and of frames, arrows.
import {
  BoxGeometry, BufferAttribute, BufferGeometry, CapsuleGeometry, Color, ConeGeometry, CylinderGeometry, Group, InstancedMesh, Material, Matrix4,
  Object3D, Quaternion, SphereGeometry, Vector3,
} from 'three';
import { mergeGeometries } from 'three/examples/jsm/utils/BufferGeometryUtils.js';
import type { Place, Shape } from './protocol';
import { axisColours } from './theme';

export const Z = new Vector3(0, 0, 1);
export const placed = (o: Object3D, p: Place): Object3D => {
  o.position.set(p[0], p[1], p[2]);
  o.quaternion.set(p[4], p[5], p[6], p[3]).normalize();
  return o;
};
export const upright = (g: BufferGeometry): BufferGeometry => g.rotateX(Math.PI / 2); // three's y to our z

function polygons(s: Shape): BufferGeometry {
  const corners: number[] = [];
  for (const f of s.faces)
    for (let k = 2; k < f.length; ++k) for (const i of [f[0], f[k - 1], f[k]]) corners.push(...s.vertices[i]);
  const g = new BufferGeometry();
  g.setAttribute('position', new BufferAttribute(Float32Array.from(corners), 3));
  g.computeVertexNormals();
  return g;
}
export function geometryOf(s: Shape): BufferGeometry | null {
  const r = Math.max(s.radius, 1e-6);
  switch (s.type) {
    case 'box': return new BoxGeometry(2 * s.half[0], 2 * s.half[1], 2 * s.half[2]);
    case 'sphere': return upright(new SphereGeometry(r, 32, 20));
    case 'capsule': return upright(new CapsuleGeometry(r, 2 * s.half[2], 8, 24));
    case 'cylinder': return upright(new CylinderGeometry(r, r, 2 * s.half[2], 36));
    case 'hull':
    case 'mesh': return s.faces.length ? polygons(s) : null;
    default: return null;
  }
}

/** The axes of a frame, x y z in their colours. */
export function axesGeometry(length: number): BufferGeometry {
  const parts = [new Vector3(1, 0, 0), new Vector3(0, 1, 0), Z].map((d, k) => {
    const g = mergeGeometries([
      upright(new CylinderGeometry(0.025 * length, 0.025 * length, 0.85 * length, 8)).translate(0, 0, 0.425 * length),
      upright(new ConeGeometry(0.07 * length, 0.2 * length, 12)).translate(0, 0, 0.9 * length),
    ]).applyQuaternion(new Quaternion().setFromUnitVectors(Z, d));
    const n = g.getAttribute('position').count, c = new Color(axisColours[k]);
    const colours = new Float32Array(3 * n);
    for (let i = 0; i < n; ++i) c.toArray(colours, 3 * i);
    return g.setAttribute('color', new BufferAttribute(colours, 3));
  });
  return mergeGeometries(parts);
}

/** Arrows drawn by two instanced meshes; as many as are set. */
export class Arrows {
  readonly group = new Group();
  private shaft!: InstancedMesh;
  private head!: InstancedMesh;
  private room = 0;
  private count = 0;
  constructor(private material: Material, private order: number) {
    this.grow(16);
  }
  private grow(room: number): void {
    this.room = room;
    this.group.clear();
    this.shaft?.dispose();
    this.head?.dispose();
    this.shaft = new InstancedMesh(upright(new CylinderGeometry(1, 1, 1, 10)).translate(0, 0, 0.5), this.material, room);
    this.head = new InstancedMesh(upright(new ConeGeometry(1, 1, 14)).translate(0, 0, 0.5), this.material, room);
    for (const m of [this.shaft, this.head]) {
      m.frustumCulled = false;
      m.renderOrder = this.order;
      this.group.add(m);
    }
  }
  begin(count: number): void {
    if (count > this.room) this.grow(2 * count);
    this.count = 0;
  }
  add(from: Vector3, by: Vector3, thick: number): void {
    const length = by.length();
    if (!(length > 1e-9)) return;
    const q = new Quaternion().setFromUnitVectors(Z, by.clone().divideScalar(length));
    const tip = Math.min(8 * thick, 0.6 * length);
    const m = new Matrix4();
    this.shaft.setMatrixAt(this.count, m.compose(from, q, new Vector3(thick, thick, length - tip)));
    const at = from.clone().addScaledVector(by, (length - tip) / length);
    this.head.setMatrixAt(this.count++, m.compose(at, q, new Vector3(2.8 * thick, 2.8 * thick, tip)));
  }
  end(): void {
    this.shaft.count = this.head.count = this.count;
    this.shaft.instanceMatrix.needsUpdate = this.head.instanceMatrix.needsUpdate = true;
  }
}

// The geometry of shapes and of coordinate axes.
import {
  BoxGeometry,
  BufferAttribute,
  BufferGeometry,
  CapsuleGeometry,
  Color,
  ConeGeometry,
  CylinderGeometry,
  type Object3D,
  Quaternion,
  SphereGeometry,
  Vector3,
} from 'three';
import { mergeGeometries } from 'three/examples/jsm/utils/BufferGeometryUtils.js';
import type { Place, Shape } from '../data/protocol';
import { axisColours } from '../shared/colours';

export const Z = new Vector3(0, 0, 1);

/** Moves an object to a pose. */
export function placed(object: Object3D, pose: Place): Object3D {
  object.position.set(pose[0], pose[1], pose[2]);
  object.quaternion.set(pose[4], pose[5], pose[6], pose[3]).normalize();
  return object;
}

/** three.js builds along y; here z is up. */
export const upright = (g: BufferGeometry): BufferGeometry => g.rotateX(Math.PI / 2);

/** Turns a geometry that points along z. */
export const pointed = (g: BufferGeometry, direction: Vector3): BufferGeometry =>
  g.applyQuaternion(new Quaternion().setFromUnitVectors(Z, direction));

/** The first three numbers of a pose. */
export const originOf = (pose: Place): Vector3 => new Vector3(pose[0], pose[1], pose[2]);

/** Line segments or a triangle soup from coordinates in a row. */
export const pointsGeometry = (coordinates: ArrayLike<number>): BufferGeometry =>
  new BufferGeometry().setAttribute(
    'position',
    new BufferAttribute(Float32Array.from(coordinates), 3),
  );

/** Flat faces, each split into triangles around its first corner. */
function facesGeometry(s: Shape): BufferGeometry {
  const corners: number[] = [];
  for (const face of s.faces)
    for (let k = 2; k < face.length; ++k)
      for (const i of [face[0], face[k - 1], face[k]]) corners.push(...s.vertices[i]);
  const geometry = pointsGeometry(corners);
  geometry.computeVertexNormals();
  return geometry;
}

/** null: nothing to draw. */
export function geometryOf(s: Shape): BufferGeometry | null {
  const radius = Math.max(s.radius, 1e-6);
  const length = 2 * s.half[2];
  switch (s.type) {
    case 'box':
      return new BoxGeometry(2 * s.half[0], 2 * s.half[1], length);
    case 'sphere':
      return upright(new SphereGeometry(radius, 32, 20));
    case 'capsule':
      return upright(new CapsuleGeometry(radius, length, 8, 24));
    case 'cylinder':
      return upright(new CylinderGeometry(radius, radius, length, 36));
    case 'hull':
    case 'mesh':
      return s.faces.length ? facesGeometry(s) : null;
    default:
      return null;
  }
}

function axisArrow(length: number, direction: Vector3, colour: string): BufferGeometry {
  const shaft = upright(new CylinderGeometry(0.025 * length, 0.025 * length, 0.85 * length, 8));
  const head = upright(new ConeGeometry(0.07 * length, 0.2 * length, 12));
  shaft.translate(0, 0, 0.425 * length);
  head.translate(0, 0, 0.9 * length);
  const arrow = pointed(mergeGeometries([shaft, head]), direction);
  const count = arrow.getAttribute('position').count;
  const colours = new Float32Array(3 * count);
  for (let i = 0; i < count; ++i) new Color(colour).toArray(colours, 3 * i);
  return arrow.setAttribute('color', new BufferAttribute(colours, 3));
}

/** The axes of a frame, x y z in their colours. */
export function axesGeometry(length: number): BufferGeometry {
  const directions = [new Vector3(1, 0, 0), new Vector3(0, 1, 0), Z];
  return mergeGeometries(directions.map((d, k) => axisArrow(length, d, axisColours[k])));
}

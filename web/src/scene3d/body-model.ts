// One body in the 3-D view: a group that moves, with the body's links, contact shapes and bones.
import { Box3, Group, type Mesh, type Object3D } from 'three';

export interface BodyModel {
  index: number;
  group: Group;
  /** What the body looks like. */
  links: Object3D[];
  /** Contact shapes of a body that has other shapes for its looks. */
  collision: Object3D[];
  /** Bones and joints. */
  skeleton: Bone[];
  /** Grids drawn on level ground plates. */
  grounds: Object3D[];
  /** False: the bones are shown, because the links alone do not show the body. */
  hasLinks: boolean;
  /** In the body's frame. */
  box: Box3;
  /** Boxes of the links, in the body's frame. */
  linkBoxes: Box3[];
}

export interface Bone {
  mesh: Mesh;
  /** Shown with the links, because it bridges a gap between them. */
  always: boolean;
}

export function emptyModel(index: number): BodyModel {
  const group = new Group();
  group.matrixAutoUpdate = false;
  group.userData.body = index;
  return {
    index,
    group,
    links: [],
    collision: [],
    skeleton: [],
    grounds: [],
    hasLinks: false,
    box: new Box3(),
    linkBoxes: [],
  };
}

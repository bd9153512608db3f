// Links: the shapes of a body as meshes.
import {
  Color,
  EdgesGeometry,
  type BufferGeometry,
  LineSegments,
  Mesh,
  PlaneGeometry,
} from 'three';
import type { Shape } from '../data/protocol';
import { roundDown } from '../shared/numbers';
import type { BodyModel } from './body-model';
import { geometryOf, placed, pointsGeometry } from './geometry';
import type { Materials } from './materials';

/** Meshes with more vertices get no edge lines: finding them would take too long. */
const MOST_EDGE_VERTICES = 15000;

export const isVisual = (s: Shape): boolean => s.role === 'visual';

const distance = (s: Shape): number => Math.hypot(s.place[0], s.place[1], s.place[2]);

/** Colour channels may be given from 0 to 1 or from 0 to 255. */
function shapeColour(colour: [number, number, number]): string {
  const [r, g, b] = colour.map((c) => (c > 1 ? c / 255 : c));
  return `#${new Color(r, g, b).getHexString()}`;
}

/** A wide thin box on the world is how a half-space is sent. */
const isPlate = (s: Shape): boolean =>
  s.type === 'box' && s.half[2] < 0.02 * Math.min(s.half[0], s.half[1]);

/** Lines on a plate, at round distances. */
function plateGrid(s: Shape): BufferGeometry {
  const [a, b, top] = s.half;
  const step = roundDown(Math.max(a, b) / 8);
  const lines: number[] = [];
  for (let k = -Math.floor(a / step); k * step <= a; ++k)
    lines.push(k * step, -b, top, k * step, b, top);
  for (let k = -Math.floor(b / step); k * step <= b; ++k)
    lines.push(-a, k * step, top, a, k * step, top);
  return pointsGeometry(lines);
}

function addPlate(model: BodyModel, s: Shape, materials: Materials): void {
  const isLevel = Math.abs(1 - 2 * (s.place[4] ** 2 + s.place[5] ** 2)) > 0.5; // not a wall
  const geometry = new PlaneGeometry(2 * s.half[0], 2 * s.half[1]).translate(0, 0, s.half[2]);
  const plate = new Mesh(geometry, isLevel ? materials.ground : materials.wall);
  placed(plate, s.place);
  plate.userData.body = model.index;
  if (isLevel) {
    const grid = new LineSegments(plateGrid(s), materials.plateLines);
    plate.add(grid);
    model.grounds.push(grid);
  }
  model.links.push(plate);
  model.group.add(plate);
}

function addEdges(mesh: Mesh, s: Shape, materials: Materials): void {
  const isRound = s.type === 'sphere' || s.type === 'capsule';
  if (isRound || mesh.geometry.getAttribute('position').count >= MOST_EDGE_VERTICES) return;
  const angle = s.type === 'mesh' ? 40 : 25; // degrees: flatter edges are not drawn
  mesh.add(new LineSegments(new EdgesGeometry(mesh.geometry, angle), materials.edges));
}

/** Adds the shapes of a body; `shade` tells neighbouring bodies of one part apart. */
export function addLinks(
  model: BodyModel,
  shapes: Shape[],
  shade: number,
  materials: Materials,
): void {
  const hasVisuals = shapes.some(isVisual);
  for (const s of shapes) {
    const geometry = geometryOf(s);
    if (!geometry) continue;
    if (model.index === 0 && isPlate(s)) {
      addPlate(model, s, materials);
      continue;
    }
    const material = s.colour
      ? materials.solid(shapeColour(s.colour), 0)
      : materials.solid(materials.partColour(model.index), shade);
    const mesh = new Mesh(geometry, material);
    placed(mesh, s.place);
    mesh.userData.body = model.index;
    addEdges(mesh, s, materials);
    model.group.add(mesh);
    geometry.computeBoundingBox();
    mesh.updateMatrix();
    const box = geometry.boundingBox!.clone().applyMatrix4(mesh.matrix);
    model.box.union(box);
    if (hasVisuals && !isVisual(s)) model.collision.push(mesh);
    else {
      model.links.push(mesh);
      model.linkBoxes.push(box);
    }
  }
  model.hasLinks = model.links.length > 0 && !areApart(model, shapes);
}

/** True if all shapes are away from the body's origin, for example only finger tips: without bones
 *  they would float in the air. */
function areApart(model: BodyModel, shapes: Shape[]): boolean {
  if (model.index === 0 || shapes.some(isVisual)) return false;
  return shapes.every((s) => {
    const thinnest = Math.min(...s.half.map((h) => h || Infinity));
    const far = distance(s) > 0.9 * (thinnest + s.radius);
    return far && distance(s) > Math.max(s.half[2], s.radius);
  });
}

/** True if a shape is so far out that a bone should lead to it. */
export const needsBone = (s: Shape): boolean =>
  distance(s) > 0.5 * (Math.max(...s.half) + s.radius);

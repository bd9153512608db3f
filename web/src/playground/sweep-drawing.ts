// Sweeps drawn as small trees: base on the left, arrows in the direction of the sweep.
import type { Body } from '../data/protocol';

export interface SweepStep {
  from: number;
  to: number;
  /** Steps of one rank are made at the same time. */
  rank: number;
}

/** Distance of every body from the base, in joints. */
function depths(bodies: Body[]): number[] {
  const depth: number[] = [];
  bodies.forEach((b, i) => {
    depth[i] = i ? depth[b.parent] + 1 : 0;
  });
  return depth;
}

/** Pairs of bodies in the order in which a sweep visits them. */
export function sweepSteps(bodies: Body[], inward: boolean): SweepStep[] {
  const depth = depths(bodies);
  const deepest = Math.max(...depth);
  const step = ({ parent }: Body, i: number): SweepStep =>
    inward
      ? { from: i, to: parent, rank: deepest - depth[i] }
      : { from: parent, to: i, rank: depth[i] - 1 };
  return bodies.map(step).slice(1);
}

/** A row for every body: leaves below one another, parents in the middle of their children. */
function treeRows(bodies: Body[]): { row: number[]; count: number } {
  const children: number[][] = bodies.map(() => []);
  bodies.forEach((b, i) => {
    if (i) children[b.parent].push(i);
  });
  const row: number[] = [];
  let count = 0;
  const place = (i: number): void => {
    const own = children[i];
    if (!own.length) {
      row[i] = count++;
      return;
    }
    own.forEach(place);
    row[i] = (row[own[0]] + row[own[own.length - 1]]) / 2;
  };
  place(0);
  return { row, count };
}

function svg(
  tag: string,
  attributes: Record<string, string | number>,
  ...children: (SVGElement | string)[]
): SVGElement {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

type Point = [number, number];

/** An arrow between two marks; gap: their radius; head: length of the arrow's head. */
function arrow([x0, y0]: Point, [x1, y1]: Point, gap: number, head: number): SVGElement[] {
  const length = Math.hypot(x1 - x0, y1 - y0);
  const ux = (x1 - x0) / length;
  const uy = (y1 - y0) / length;
  const tip: Point = [x1 - ux * (gap + 1.5), y1 - uy * (gap + 1.5)];
  const foot: Point = [tip[0] - ux * head, tip[1] - uy * head];
  const half = head * 0.5;
  const line = {
    x1: x0 + ux * gap,
    y1: y0 + uy * gap,
    x2: tip[0] - ux * head * 0.8,
    y2: tip[1] - uy * head * 0.8,
  };
  const left = `${foot[0] - uy * half} ${foot[1] + ux * half}`;
  const right = `${foot[0] + uy * half} ${foot[1] - ux * half}`;
  const d = `M${tip.join(' ')}L${left}L${right}z`;
  return [svg('line', line), svg('path', { class: 'head', d })];
}

/** A circle for a body, a rectangle for the base. */
function mark(isBase: boolean, [x, y]: Point, r: number, name: string): SVGElement {
  const title = svg('title', {}, name);
  if (!isBase) return svg('circle', { cx: x, cy: y, r }, title);
  return svg('rect', { x: x - r, y: y - r - 2, width: 2 * r, height: 2 * r + 4 }, title);
}

export function drawSweep(bodies: Body[], inward: boolean): SVGElement {
  const depth = depths(bodies);
  const { row, count } = treeRows(bodies);
  const deepest = Math.max(1, ...depth);
  const dx = Math.min(44, 330 / deepest);
  const dy = count > 8 ? 11 : 16;
  const r = Math.min(4.5, dx / 4.5);
  const at = (i: number): Point => [12 + depth[i] * dx, 10 + row[i] * dy];
  const width = 24 + deepest * dx;
  const height = 20 + (count - 1) * dy;
  const arrows = sweepSteps(bodies, inward).flatMap(({ from, to }) =>
    arrow(at(from), at(to), r, Math.min(6, dx / 3)),
  );
  const marks = bodies.map((b, i) => mark(i === 0, at(i), r, b.name));
  return svg(
    'svg',
    {
      viewBox: `0 0 ${width} ${height}`,
      class: `sweep ${inward ? 'inward' : 'outward'}`,
      role: 'img',
      width,
      height,
      'aria-label': inward ? 'from the tips to the base' : 'from the base to the tips',
    },
    ...arrows,
    ...marks,
  );
}

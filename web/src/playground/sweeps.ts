// A plan's recursions: read from the text that the planner prints, drawn as arrows along the tree.
import { el } from '../shared/dom';
import type { Body } from '../data/protocol';

export interface Sweep {
  inward: boolean; // from the tips to the base
  lines: string[];
}
export interface Explained {
  notes: string[];
  sweeps: Sweep[];
  result: string;
}

/** "for k = ..." opens a sweep, an empty line ends it. */
export function readExplained(text: string): Explained {
  const all: Explained = { notes: [], sweeps: [], result: '' };
  let now: Sweep | null = null;
  for (const line of text.split('\n')) {
    const loop = /^for k = .*\((tips to base|base to tips)\)/.exec(line);
    if (loop) all.sweeps.push((now = { inward: loop[1] === 'tips to base', lines: [] }));
    else if (!line.trim()) now = null;
    else if (line.startsWith('result:')) all.result = line.slice(7).trim();
    else if (now) now.lines.push(line.replace(/^ {4}/, ''));
    else all.notes.push(line);
  }
  return all;
}

/** Pairs of bodies in the order in which a sweep comes to them; those of one rank have the same number. */
export function steps(
  bodies: Body[],
  inward: boolean,
): { from: number; to: number; rank: number }[] {
  const depth = bodies.map(() => 0);
  bodies.forEach((b, i) => i && (depth[i] = depth[b.parent] + 1));
  const most = Math.max(...depth);
  return bodies.flatMap((b, i) =>
    i
      ? [
          inward
            ? { from: i, to: b.parent, rank: most - depth[i] }
            : { from: b.parent, to: i, rank: depth[i] - 1 },
        ]
      : [],
  );
}

const ns = 'http://www.w3.org/2000/svg';
function svg(
  tag: string,
  attributes: Record<string, string | number>,
  ...children: (SVGElement | string)[]
): SVGElement {
  const e = document.createElementNS(ns, tag);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, String(value));
  e.append(...children);
  return e;
}

/** The tree from left to right, base first, one line of text high per branch; arrows run the way of the sweep. */
export function drawSweep(bodies: Body[], inward: boolean): SVGElement {
  const depth = bodies.map(() => 0),
    row = bodies.map(() => 0);
  const children = bodies.map(() => [] as number[]);
  bodies.forEach((b, i) => i && ((depth[i] = depth[b.parent] + 1), children[b.parent].push(i)));
  let rows = 0;
  const place = (i: number): void => {
    if (!children[i].length) row[i] = rows++;
    else {
      children[i].forEach(place);
      row[i] = (row[children[i][0]] + row[children[i][children[i].length - 1]]) / 2;
    }
  };
  place(0);
  const most = Math.max(1, ...depth),
    dx = Math.min(44, 330 / most),
    dy = rows > 8 ? 11 : 16,
    r = Math.min(4.5, dx / 4.5);
  const x = (i: number) => 12 + depth[i] * dx,
    y = (i: number) => 10 + row[i] * dy;
  const picture = svg('svg', {
    viewBox: `0 0 ${24 + most * dx} ${20 + (rows - 1) * dy}`,
    class: `sweep ${inward ? 'inward' : 'outward'}`,
    role: 'img',
    width: 24 + most * dx,
    height: 20 + (rows - 1) * dy,
    'aria-label': inward ? 'from the tips to the base' : 'from the base to the tips',
  });
  bodies.forEach((b, i) => {
    if (!i) return;
    const [a, z] = inward ? [i, b.parent] : [b.parent, i];
    const length = Math.hypot(x(z) - x(a), y(z) - y(a)),
      ux = (x(z) - x(a)) / length,
      uy = (y(z) - y(a)) / length;
    const ex = x(z) - ux * (r + 1.5),
      ey = y(z) - uy * (r + 1.5),
      h = Math.min(6, dx / 3);
    picture.append(
      svg('line', {
        x1: x(a) + ux * r,
        y1: y(a) + uy * r,
        x2: ex - ux * h * 0.8,
        y2: ey - uy * h * 0.8,
      }),
      svg('path', {
        class: 'head',
        d: `M${ex} ${ey}L${ex - ux * h - uy * h * 0.5} ${ey - uy * h + ux * h * 0.5}L${ex - ux * h + uy * h * 0.5} ${ey - uy * h - ux * h * 0.5}z`,
      }),
    );
  });
  bodies.forEach((b, i) => {
    const mark = i
      ? svg('circle', { cx: x(i), cy: y(i), r })
      : svg('rect', { x: x(0) - r, y: y(0) - r - 2, width: 2 * r, height: 2 * r + 4 });
    mark.append(svg('title', {}, b.name));
    picture.append(mark);
  });
  return picture;
}

/** A line of a recursion: "z2(k) = z1(k) + ..." and, far to the right, a remark. */
export function recursionLine(line: string): HTMLElement {
  const [, left = line, right = '', note = ''] = /^(\S+)\s+= (.*?)(?: {4,}(.*))?$/.exec(line) ?? [];
  return el(
    'div',
    { class: 'recline' },
    el('span', { class: 'recleft' }, left),
    el('span', {}, right ? `= ${right}` : ''),
    note ? el('span', { class: 'recnote muted' }, note) : null,
  );
}

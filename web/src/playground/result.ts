// A result as people read it: a bar and a number for each component of a vector, a picture of a matrix.
import { el } from '../shared/dom';
import type { Body } from '../data/protocol';
import { pretty } from '../shared/numbers';
import { theme } from '../shared/theme';

const six = ['x turn', 'y turn', 'z turn', 'x', 'y', 'z']; // angular part first, moments or turning
const planar = ['x', 'y', 'angle'];

/** Names of the components of a space, with the group that each belongs to. */
export function components(
  space: string,
  bodies: Body[],
  tips: string[],
): { group: string; name: string }[] {
  if (space === 'one') return [{ group: '', name: '' }];
  if (space === 'base') return six.map((name) => ({ group: 'world', name }));
  if (space === 'tip') return tips.flatMap((group) => six.map((name) => ({ group, name })));
  if (space === 'link' || space === 'edge')
    return bodies.slice(1).flatMap((b) => six.map((name) => ({ group: b.name, name })));
  return bodies.flatMap((b) => {
    const j = b.joint;
    if (!j || !j.nv) return [];
    if (j.nv === 1) return [{ group: '', name: j.name }];
    const names =
      j.type === 'free'
        ? six
        : j.type === 'spherical'
          ? six.slice(0, 3)
          : j.type === 'planar'
            ? planar
            : ['first', 'second'];
    return names.slice(0, j.nv).map((name) => ({ group: j.name, name }));
  });
}

/** Bars about a common zero; the rows stay, only numbers change. */
export class Bars {
  readonly host = el('div', { class: 'bars' });
  private rows: { bar: HTMLElement; out: HTMLElement }[] = [];
  private scale = 0;
  constructor(names: { group: string; name: string }[]) {
    let group = '';
    for (const n of names) {
      if (n.group !== group && n.group) this.host.append(el('div', { class: 'bargroup' }, n.group));
      group = n.group;
      const bar = el('i'),
        out = el('output', {});
      this.host.append(
        el('span', { class: 'barname', title: n.group ? `${n.group} ${n.name}` : n.name }, n.name),
        el('span', { class: 'bar' }, bar),
        out,
      );
      this.rows.push({ bar, out });
    }
  }
  set(values: ArrayLike<number>): void {
    let most = 0;
    for (let i = 0; i < values.length; ++i) most = Math.max(most, Math.abs(values[i]));
    if (most > this.scale || most < 0.2 * this.scale) this.scale = most; // no flicker of all bars with the largest
    this.rows.forEach(({ bar, out }, i) => {
      const share = this.scale > 0 ? Math.min(1, Math.abs(values[i]) / this.scale) : 0;
      bar.style.width = `${(50 * share).toFixed(2)}%`;
      bar.style.left = values[i] < 0 ? `${(50 - 50 * share).toFixed(2)}%` : '50%';
      bar.className = values[i] < 0 ? 'minus' : '';
      const text = Math.abs(values[i]) < 1e-13 * Math.max(1, most) ? '0' : pretty(values[i]);
      if (out.textContent !== text) out.textContent = text;
    });
  }
}

/** Orange above zero, blue below, the ground at zero: told apart with any kind of colour vision. */
function shade(x: number): [number, number, number] {
  const dark = theme() === 'dark';
  const zero = dark ? [29, 35, 45] : [255, 255, 255],
    top = x < 0 ? (dark ? [86, 180, 233] : [0, 114, 178]) : dark ? [240, 160, 20] : [213, 94, 0];
  const u = Math.min(1, Math.abs(x)) ** 0.45; // small entries show too
  return zero.map((z, k) => Math.round(z + (top[k] - z) * u)) as [number, number, number];
}

export class MatrixView {
  readonly host = el('div', { class: 'matrix' });
  private canvas = el('canvas', { role: 'img' });
  private about = el('output', { class: 'matrixabout muted' });
  private cells: HTMLElement[] = [];
  private values: Float64Array = new Float64Array();
  constructor(
    private rows: number,
    private columns: number,
    private rowNames: string[],
    private columnNames: string[],
  ) {
    if (columns <= 8 && rows <= 24) {
      const table = el('table', { class: 'numbers' });
      for (let r = 0; r < rows; ++r) {
        const tr = el('tr');
        for (let c = 0; c < columns; ++c) {
          const td = el('td', { title: `${rowNames[r]}, ${columnNames[c]}` });
          this.cells.push(td);
          tr.append(td);
        }
        table.append(tr);
      }
      this.host.append(table);
    } else {
      this.canvas.width = columns;
      this.canvas.height = rows;
      this.canvas.style.aspectRatio = `${columns} / ${rows}`;
      this.canvas.style.maxWidth = `min(100%, ${Math.max(260, Math.min(520, 9 * columns))}px)`;
      this.canvas.setAttribute('aria-label', `matrix of ${rows} by ${columns}`);
      this.canvas.addEventListener('pointermove', (e) => {
        const box = this.canvas.getBoundingClientRect();
        const r = Math.floor(((e.clientY - box.top) / box.height) * rows),
          c = Math.floor(((e.clientX - box.left) / box.width) * columns);
        if (r >= 0 && c >= 0 && r < rows && c < columns)
          this.about.textContent = `${this.rowNames[r]}, ${this.columnNames[c]}: ${pretty(this.values[r * columns + c])}`;
      });
      this.canvas.addEventListener('pointerleave', () => this.summary());
      this.host.append(this.canvas, this.about);
    }
  }
  set(values: Float64Array): void {
    this.values = values;
    this.draw();
    if (!this.cells.length && !this.canvas.matches(':hover')) this.summary();
  }
  private summary(): void {
    let zeros = 0;
    const most = this.values.reduce((a, x) => Math.max(a, Math.abs(x)), 0);
    for (const x of this.values) if (Math.abs(x) <= 1e-13 * most) ++zeros;
    this.about.textContent = `${this.rows} × ${this.columns}, ${zeros} of ${this.values.length} zero, largest ${pretty(most)}`;
  }
  draw(): void {
    if (!this.values.length) return;
    const most = this.values.reduce((a, x) => Math.max(a, Math.abs(x)), 0) || 1;
    if (this.cells.length) {
      this.cells.forEach((td, i) => {
        const x = this.values[i],
          u = x / most,
          c = shade(u);
        td.textContent = Math.abs(u) < 1e-13 ? '0' : pretty(x);
        td.style.background = `rgb(${c.join(' ')})`;
        td.style.color = 0.3 * c[0] + 0.59 * c[1] + 0.11 * c[2] > 140 ? '#10141a' : '#f4f6f8';
      });
      return;
    }
    const pen = this.canvas.getContext('2d');
    if (!pen) return;
    const image = pen.createImageData(this.columns, this.rows);
    this.values.forEach((x, i) => image.data.set([...shade(x / most), 255], 4 * i));
    pen.putImageData(image, 0, 0);
  }
}

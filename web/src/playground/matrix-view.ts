// A matrix: a table of numbers if it is small, a picture otherwise.
import { el } from '../shared/dom';
import { pretty } from '../shared/numbers';
import { theme } from '../shared/theme';
import { ROUNDING } from './bars';

type Rgb = [number, number, number];

/** Orange above zero, blue below, the background at zero. */
const shades: Record<'dark' | 'light', { zero: Rgb; above: Rgb; below: Rgb }> = {
  dark: { zero: [29, 35, 45], above: [240, 160, 20], below: [86, 180, 233] },
  light: { zero: [255, 255, 255], above: [213, 94, 0], below: [0, 114, 178] },
};
/** Largest size of a table. */
const MOST_COLUMNS = 8;
const MOST_ROWS = 24;

/** x: from -1 to 1. */
function shade(x: number): Rgb {
  const { zero, above, below } = shades[theme()];
  const full = x < 0 ? below : above;
  const u = Math.min(1, Math.abs(x)) ** 0.45; // small entries show too
  return zero.map((z, k) => Math.round(z + (full[k] - z) * u)) as Rgb;
}

const isBright = ([r, g, b]: Rgb): boolean => 0.3 * r + 0.59 * g + 0.11 * b > 140;

export class MatrixView {
  readonly host = el('div', { class: 'matrix' });
  private readonly canvas = el('canvas', { role: 'img' });
  private readonly about = el('output', { class: 'matrixabout muted' });
  private readonly cells: HTMLElement[] = [];
  private readonly rows: number;
  private readonly columns: number;
  private values: Float64Array = new Float64Array();

  constructor(
    private readonly rowNames: string[],
    private readonly columnNames: string[],
  ) {
    this.rows = rowNames.length;
    this.columns = columnNames.length;
    if (this.columns <= MOST_COLUMNS && this.rows <= MOST_ROWS) this.makeTable();
    else this.makePicture();
  }

  private makeTable(): void {
    const table = el('table', { class: 'numbers' });
    for (const rowName of this.rowNames) {
      const cells = this.columnNames.map((name) => el('td', { title: `${rowName}, ${name}` }));
      this.cells.push(...cells);
      table.append(el('tr', {}, ...cells));
    }
    this.host.append(table);
  }

  private makePicture(): void {
    const { canvas, rows, columns } = this;
    canvas.width = columns;
    canvas.height = rows;
    canvas.style.aspectRatio = `${columns} / ${rows}`;
    const widest = Math.max(260, Math.min(520, 9 * columns));
    canvas.style.maxWidth = `min(100%, ${widest}px)`;
    canvas.setAttribute('aria-label', `matrix of ${rows} by ${columns}`);
    canvas.addEventListener('pointermove', (e) => this.showEntry(e));
    canvas.addEventListener('pointerleave', () => this.showSummary());
    this.host.append(canvas, this.about);
  }

  private showEntry(e: PointerEvent): void {
    const box = this.canvas.getBoundingClientRect();
    const r = Math.floor(((e.clientY - box.top) / box.height) * this.rows);
    const c = Math.floor(((e.clientX - box.left) / box.width) * this.columns);
    if (r < 0 || c < 0 || r >= this.rows || c >= this.columns) return;
    const value = pretty(this.values[r * this.columns + c]);
    this.about.textContent = `${this.rowNames[r]}, ${this.columnNames[c]}: ${value}`;
  }

  private get largest(): number {
    return this.values.reduce((a, x) => Math.max(a, Math.abs(x)), 0);
  }

  private showSummary(): void {
    const { rows, columns, largest, values } = this;
    const zeros = values.filter((x) => Math.abs(x) <= ROUNDING * largest).length;
    const count = `${zeros} of ${values.length} zero`;
    this.about.textContent = `${rows} × ${columns}, ${count}, largest ${pretty(largest)}`;
  }

  set(values: Float64Array): void {
    this.values = values;
    this.draw();
    if (!this.cells.length && !this.canvas.matches(':hover')) this.showSummary();
  }

  draw(): void {
    if (!this.values.length) return;
    const scale = this.largest || 1;
    if (this.cells.length) this.drawCells(scale);
    else this.drawPicture(scale);
  }

  private drawCells(scale: number): void {
    this.cells.forEach((cell, i) => {
      const share = this.values[i] / scale;
      const colour = shade(share);
      cell.textContent = Math.abs(share) < ROUNDING ? '0' : pretty(this.values[i]);
      cell.style.background = `rgb(${colour.join(' ')})`;
      cell.style.color = isBright(colour) ? '#10141a' : '#f4f6f8';
    });
  }

  private drawPicture(scale: number): void {
    const pen = this.canvas.getContext('2d');
    if (!pen) return;
    const image = pen.createImageData(this.columns, this.rows);
    this.values.forEach((x, i) => image.data.set([...shade(x / scale), 255], 4 * i));
    pen.putImageData(image, 0, 0);
  }
}

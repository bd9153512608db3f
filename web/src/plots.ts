// Plots under one another, with one stretch of time and one cursor for all: the cursor is where the run is, clicking or
// dragging moves it.  Curves are asked for again at the width and stretch shown, so that an hour costs what a second does.
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { el, fileName, icon, iconButton, save } from './dom';
import type { Samples, Signal } from './protocol';
import { lastNotAfter, type Curves } from './source';
import { css, palette, pretty, theme } from './theme';

export interface PhaseBand {
  t0: number;
  t1: number;
  phase: number;
}
export interface PlotData {
  title: string;
  signals: Signal[];
  curves(key: string, signals: number[], t0: number, t1: number, columns: number): Promise<Curves | null>;
  samples(signals: number[], t0: number, t1: number): Promise<Samples | null>;
  whole(): [number, number];
  seek(t: number): void;
  zoomed(range: [number, number] | null): void;
  phases(): PhaseBand[];
  phaseColour(phase: number): string;
}

const HEIGHT = 158;

/** What to show first, by what there is. */
export function defaultPanels(signals: Signal[]): number[][] {
  const find = (pattern: RegExp, most = 6) => signals.map((s, i) => ({ s, i })).filter(({ s }) => pattern.test(s.name)).slice(0, most).map(({ i }) => i);
  const errors = find(/^object\..*error/), internal = find(/^object\.(?!.*error)/);
  const pressure = find(/^contact\..*\.pressure$/), tau = find(/^tau\./), energy = find(/^energy\./), momentum = find(/^momentum\./);
  const loops = find(/^(constraint|loop)/), q = find(/^q\.(?!.*\.(x|y|z|qw|qx|qy|qz)$)/);
  const bodies = find(/^q\..*\.(x|y|z)$/);
  const panels = [[...pressure, ...internal].slice(0, 6), errors, q.length ? q : bodies, tau, energy, loops, momentum].filter((p) => p.length);
  return panels.length ? panels.slice(0, 5) : signals.length ? [signals.slice(0, 4).map((_, i) => i)] : [];
}

class Panel {
  readonly root: HTMLElement;
  private chips: HTMLElement;
  private box: HTMLElement;
  private cursor: HTMLElement;
  private plot: uPlot | null = null;
  private data: Curves | null = null;
  private shownRange: [number, number] = [0, 1];
  private values: HTMLElement[] = [];
  private busy = false;
  private again = false;

  constructor(private owner: Plots, readonly key: string, public signals: number[]) {
    this.chips = el('div', { class: 'chips' });
    this.box = el('div', { class: 'plotbox', style: `height:${HEIGHT}px` });
    this.cursor = el('div', { class: 'plotcursor' });
    this.root = el('section', { class: 'panel', 'aria-label': 'plot' },
      el('div', { class: 'panelhead' }, this.chips,
        el('div', { class: 'panelbuttons' },
          iconButton('plus', 'choose signals', () => owner.choose(this)),
          this.saver(),
          iconButton('close', 'remove this plot', () => owner.remove(this)))),
      this.box);
    this.drawChips();
  }

  private saver(): HTMLElement {
    const pop = el('details', { class: 'pop savepop' }, el('summary', { class: 'icon', title: 'save this plot', 'aria-label': 'save this plot' }, icon('save')),
      el('div', { class: 'popbody' },
        el('button', { type: 'button', class: 'small', click: () => (pop.open = false, void this.png()) }, 'Picture (PNG)'),
        el('button', { type: 'button', class: 'small', click: () => (pop.open = false, void this.csv()) }, 'Values (CSV)')));
    return pop;
  }

  colour(k: number): string {
    const colours = palette[theme()];
    return colours[k % colours.length];
  }

  drawChips(): void {
    this.values = [];
    this.chips.replaceChildren(...this.signals.map((s, k) => {
      const signal = this.owner.data.signals[s];
      const value = el('b', {}, '–');
      this.values.push(value);
      return el('span', { class: 'chip', title: signal.name }, el('i', { style: `background:${this.colour(k)}` }),
        el('span', { class: 'chipname' }, signal.name), value, signal.unit ? ` ${signal.unit}` : '');
    }), ...(this.signals.length ? [] : [el('span', { class: 'muted' }, 'no signal chosen')]));
  }

  width(): number {
    return Math.max(120, Math.floor(this.box.clientWidth));
  }

  /** Asks for the curves of the stretch shown; one request at a time. */
  async refresh(): Promise<void> {
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    do {
      this.again = false;
      const [t0, t1] = this.owner.range();
      const signals = this.signals.slice();
      const c = signals.length ? await this.owner.data.curves(this.key, signals, t0, t1, Math.min(4096, Math.max(100, this.width() - 60))) : null;
      if (c && signals.join() === this.signals.join()) {
        this.data = c;
        this.shownRange = [t0, t1];
        this.draw();
      } else if (!signals.length) {
        this.plot?.destroy();
        this.plot = null;
      }
    } while (this.again);
    this.busy = false;
  }

  private columns(c: Curves): uPlot.AlignedData {
    const nulls = (v: ArrayLike<number>) => Array.from(v, (y) => (Number.isFinite(y) ? y : null));
    const out: (number | null)[][] = [];
    c.signals.forEach((_, i) => {
      const lo = nulls(c.lo[i]);
      out.push(lo, c.exact ? lo : nulls(c.hi[i]));
    });
    return [Array.from(c.x), ...out] as uPlot.AlignedData;
  }

  private made = '';
  draw(): void {
    const c = this.data;
    if (!c) return;
    const units = [...new Set(c.signals.map((s) => this.owner.data.signals[s]?.unit ?? ''))];
    const key = `${theme()}|${c.signals.join()}`;
    if (this.plot && this.made === key) {
      this.plot.setData(this.columns(c), true);
      this.place();
      return;
    }
    this.made = key;
    this.plot?.destroy();
    const grid = { stroke: css('--grid'), width: 1 };
    const font = '11px system-ui, sans-serif';
    const scaleOf = (s: number) => `y${Math.min(units.indexOf(this.owner.data.signals[s]?.unit ?? ''), 7)}`;
    const scales: uPlot.Scales = { x: { time: false, auto: false, range: () => this.shownRange } };
    units.forEach((_, i) => (scales[`y${i}`] = { range: (_u, min, max) => {
      if (!(min <= max)) return [-1, 1];
      const pad = max > min ? 0.08 * (max - min) : Math.abs(min) * 0.1 || 1;
      return [min - pad, max + pad];
    } }));
    const axes: uPlot.Axis[] = [{ stroke: css('--muted'), grid, ticks: { ...grid, size: 4 }, font, size: 24, gap: 3, space: 60 }];
    units.slice(0, 2).forEach((unit, i) => axes.push({
      scale: `y${i}`, side: i ? 1 : 3, stroke: css('--muted'), grid: i ? { show: false } : grid, ticks: { ...grid, size: 4 }, font, size: 52, gap: 3, space: 26,
      label: unit || undefined, labelSize: unit ? 14 : 0, labelFont: font, labelGap: 0,
      values: (_u, splits) => splits.map((v) => (v === null ? '' : Math.abs(v) >= 1e5 || (v !== 0 && Math.abs(v) < 1e-3) ? v.toExponential(1) : String(+v.toPrecision(6)))),
    }));
    const series: uPlot.Series[] = [{}];
    c.signals.forEach((s, i) => {
      const stroke = this.colour(i);
      for (const end of ['lo', 'hi']) series.push({ label: `${s} ${end}`, scale: scaleOf(s), stroke, width: 1.5, dash: i >= 8 ? [6, 4] : undefined, points: { show: false }, spanGaps: false });
    });
    const bands: uPlot.Band[] = c.signals.map((_, i) => ({ series: [2 * i + 2, 2 * i + 1], fill: `${this.colour(i)}44` }));
    this.plot = new uPlot({
      width: this.width(), height: HEIGHT, scales, axes, series, bands, legend: { show: false }, cursor: { show: false }, padding: [8, units.length > 1 ? 0 : 10, 0, 0],
      hooks: { drawClear: [(u) => this.drawPhases(u)] },
    }, this.columns(c), this.box);
    this.plot.over.append(this.cursor);
    this.listen(this.plot.over);
    this.place();
  }

  private drawPhases(u: uPlot): void {
    const { ctx } = u;
    ctx.save();
    ctx.globalAlpha = theme() === 'dark' ? 0.13 : 0.1;
    for (const b of this.owner.data.phases()) {
      const a = Math.max(b.t0, this.shownRange[0]), e = Math.min(b.t1, this.shownRange[1]);
      if (!(e > a)) continue;
      ctx.fillStyle = this.owner.data.phaseColour(b.phase);
      const x0 = u.valToPos(a, 'x', true), x1 = u.valToPos(e, 'x', true);
      ctx.fillRect(x0, u.bbox.top, x1 - x0, u.bbox.height);
    }
    ctx.restore();
  }

  resize(): void {
    const w = this.width();
    if (this.plot && this.plot.width !== w) this.plot.setSize({ width: w, height: HEIGHT });
    this.place();
  }

  /** The cursor and the values at it; costs no drawing. */
  place(withValues = true): void {
    const t = this.owner.time;
    if (this.plot) {
      const x = this.plot.valToPos(t, 'x');
      this.cursor.style.transform = `translateX(${x.toFixed(1)}px)`;
      const out = !(x >= -1 && x <= this.plot.bbox.width / uPlot.pxRatio + 1);
      if (this.cursor.hidden !== out) this.cursor.hidden = out;
    }
    if (!withValues) return;
    const c = this.data;
    if (!c || !c.x.length || c.signals.join() !== this.signals.join()) return;
    let i = lastNotAfter(c.x, t);
    if (!c.exact && i + 1 < c.x.length && c.x[i + 1] - t < t - c.x[i]) ++i;
    this.values.forEach((v, k) => {
      const lo = c.lo[k][i], hi = c.hi[k][i];
      const one = lo === hi || Math.abs(hi - lo) < 2e-3 * Math.max(Math.abs(lo), Math.abs(hi));
      const text = lo !== lo ? '–' : one ? pretty(lo) : `≈ ${pretty(Number(((lo + hi) / 2).toPrecision(3))).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '')}`;
      if (v.textContent === text) return;
      v.textContent = text;
      v.title = lo === lo && !one ? `between ${pretty(lo)} and ${pretty(hi)} here` : '';
    });
  }

  private listen(over: HTMLElement): void {
    let from: { t: number; zoom: boolean; x: number } | null = null;
    const at = (e: PointerEvent | WheelEvent | MouseEvent) => {
      const r = over.getBoundingClientRect();
      const x = Math.max(0, Math.min(r.width, e.clientX - r.left));
      return { x, t: this.plot ? this.plot.posToVal(x, 'x') : 0 };
    };
    over.addEventListener('pointerdown', (e) => {
      if (e.button !== 0) return;
      over.setPointerCapture(e.pointerId);
      const { x, t } = at(e);
      from = { t, x, zoom: e.shiftKey || this.owner.zoomTool };
      if (!from.zoom) this.owner.data.seek(t);
    });
    over.addEventListener('pointermove', (e) => {
      if (!from) return;
      const { x, t } = at(e);
      if (!from.zoom) return this.owner.data.seek(t);
      this.plot?.setSelect({ left: Math.min(x, from.x), width: Math.abs(x - from.x), top: 0, height: over.clientHeight }, false);
    });
    const end = (e: PointerEvent) => {
      if (from?.zoom) {
        const { x, t } = at(e);
        this.plot?.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        if (e.type === 'pointerup' && Math.abs(x - from.x) > 4) this.owner.setRange([Math.min(t, from.t), Math.max(t, from.t)]);
      }
      from = null;
    };
    over.addEventListener('pointerup', end);
    over.addEventListener('pointercancel', end);
    over.addEventListener('dblclick', () => this.owner.setRange(null));
    over.addEventListener('wheel', (e) => {
      if (!e.ctrlKey && !e.metaKey) return; // plain wheels scroll the list
      e.preventDefault();
      this.owner.zoomBy(Math.exp(Math.max(-1, Math.min(1, e.deltaY * 0.004))), at(e).t);
    }, { passive: false });
  }

  title(): string {
    return this.signals.map((s) => this.owner.data.signals[s].name).join(', ');
  }

  private async png(): Promise<void> {
    if (!this.plot) return;
    const from = this.plot.ctx.canvas, k = from.width / this.plot.width;
    const rows = Math.max(1, this.signals.length);
    const head = Math.round((18 * rows + 10) * k);
    const canvas = el('canvas', { width: from.width, height: from.height + head });
    const g = canvas.getContext('2d')!;
    g.fillStyle = css('--panel');
    g.fillRect(0, 0, canvas.width, canvas.height);
    g.font = `${12 * k}px system-ui, sans-serif`;
    g.textBaseline = 'middle';
    this.signals.forEach((s, i) => {
      const signal = this.owner.data.signals[s], y = (14 + 18 * i) * k;
      g.fillStyle = this.colour(i);
      g.fillRect(12 * k, y - 2 * k, 18 * k, 4 * k);
      g.fillStyle = css('--text');
      g.fillText(`${signal.name}${signal.unit ? ` [${signal.unit}]` : ''}`, 36 * k, y);
    });
    g.drawImage(from, 0, head);
    const blob = await new Promise<Blob | null>((r) => canvas.toBlob(r, 'image/png'));
    if (blob) save(blob, `${fileName(this.owner.data.title)}-plot.png`);
  }

  private async csv(): Promise<void> {
    const [t0, t1] = this.owner.range();
    const text = await csvOf(this.owner.data, this.signals, t0, t1, this.data);
    if (text) save(new Blob([text], { type: 'text/csv' }), `${fileName(this.owner.data.title)}-plot.csv`);
  }
}

const field = (x: string) => (/[",\n\r]/.test(x) ? `"${x.replace(/"/g, '""')}"` : x);
const number = (x: number) => (Number.isFinite(x) ? String(x) : 'nan');

/** Samples where they can be had whole, otherwise the smallest and largest values shown. */
export async function csvOf(data: PlotData, signals: number[], t0: number, t1: number, shown: Curves | null): Promise<string | null> {
  const name = (s: number, end = '') => field(`${data.signals[s].name}${end}${data.signals[s].unit ? ` [${data.signals[s].unit}]` : ''}`);
  const sm = await data.samples(signals, t0, t1);
  const lines: string[] = [];
  if (sm && !sm.more && sm.times.length) {
    lines.push(['t [s]', ...signals.map((s) => name(s))].join());
    sm.times.forEach((t, k) => lines.push([number(t), ...signals.map((_, i) => number(sm.values[k * signals.length + i]))].join()));
  } else if (shown) {
    lines.push(['t [s]', ...signals.flatMap((s) => [name(s, ' min'), name(s, ' max')])].join());
    shown.x.forEach((t, k) => {
      if (t >= t0 && t <= t1) lines.push([number(t), ...signals.flatMap((_, i) => [number(shown.lo[i][k]), number(shown.hi[i][k])])].join());
    });
  } else return null;
  return lines.join('\n') + '\n';
}

export class Plots {
  time = 0;
  zoomTool = false;
  private panels: Panel[] = [];
  private zoom: [number, number] | null = null;
  private list: HTMLElement;
  private next = 0;
  private resetButton: HTMLButtonElement;
  private zoomButton: HTMLButtonElement;
  private dialog: HTMLDialogElement | null = null;

  constructor(host: HTMLElement, readonly data: PlotData) {
    this.list = el('div', { class: 'panels' });
    this.resetButton = el('button', { type: 'button', class: 'small', disabled: true, title: 'show the whole time (double click)', click: () => this.setRange(null) }, 'Whole time');
    this.zoomButton = el('button', { type: 'button', class: 'small', 'aria-pressed': 'false', title: 'drag in a plot zooms (or hold Shift)', click: () => {
      this.zoomTool = !this.zoomTool;
      this.zoomButton.setAttribute('aria-pressed', String(this.zoomTool));
    } }, 'Drag to zoom');
    host.append(
      el('div', { class: 'plotbar' },
        el('button', { type: 'button', class: 'small', click: () => this.choose(this.add([])) }, '+ Plot'), this.zoomButton,
        el('button', { type: 'button', class: 'small', title: 'zoom in', 'aria-label': 'zoom in', click: () => this.zoomBy(0.5, this.time) }, '+'),
        el('button', { type: 'button', class: 'small', title: 'zoom out', 'aria-label': 'zoom out', click: () => this.zoomBy(2, this.time) }, '−'),
        this.resetButton),
      this.list);
    if (data.signals.length) defaultPanels(data.signals).forEach((p) => this.add(p));
    else this.list.append(el('p', { class: 'muted pad' }, 'This run has no signals.'));
    let wide = 0;
    new ResizeObserver(() => {
      if (!this.list.clientWidth) return;
      this.panels.forEach((p) => p.resize());
      if (Math.abs(this.list.clientWidth - wide) > 40) this.refresh();
      wide = this.list.clientWidth;
    }).observe(this.list);
  }

  range(): [number, number] {
    const [a, b] = this.zoom ?? this.data.whole();
    return b > a ? [a, b] : [a, a + 1];
  }
  setRange(range: [number, number] | null): void {
    const [a, b] = this.data.whole();
    if (range) {
      const least = Math.max(1e-6, 1e-9 * Math.abs(b));
      let [x, y] = [Math.max(a, range[0]), Math.min(b, range[1])];
      if (!(y - x >= least)) return;
      if (x <= a && y >= b) range = null;
      else range = [x, y];
    }
    this.zoom = range;
    this.resetButton.disabled = !range;
    this.data.zoomed(range);
    this.refresh();
  }
  zoomBy(factor: number, about: number): void {
    const [a, b] = this.range();
    const t = Math.max(a, Math.min(b, about));
    this.setRange([t - (t - a) * factor, t + (b - t) * factor]);
  }
  /** Where the run is now. */
  setTime(t: number): void {
    this.time = t;
    if (this.zoom && this.visible) { // the cursor never leaves the stretch shown
      const [a, b] = this.zoom;
      if (t < a || t > b) {
        const [w0, w1] = this.data.whole();
        const width = b - a, from = Math.max(w0, Math.min(w1 - width, t < a ? t - 0.1 * width : t - 0.9 * width));
        if (width < w1 - w0) this.setRange([from, from + width]);
      }
    }
    if (!this.visible) return;
    // values make the page lay out text: fifteen times a second is enough for reading
    const now = performance.now(), values = now - this.lastValues > 66;
    if (values) this.lastValues = now;
    window.clearTimeout(this.later);
    if (!values) this.later = window.setTimeout(() => this.panels.forEach((p) => p.place()), 70);
    this.panels.forEach((p) => p.place(values));
  }
  private lastValues = 0;
  private later = 0;
  private visible = true;
  /** Hidden plots ask for nothing. */
  setVisible(on: boolean): void {
    this.visible = on;
    if (on) this.refresh();
  }
  refresh(): void {
    if (!this.visible) return;
    this.panels.forEach((p) => void p.refresh());
  }
  redraw(): void {
    this.panels.forEach((p) => (p.drawChips(), p.draw()));
  }
  add(signals: number[]): Panel {
    const p = new Panel(this, `plot${this.next++}`, signals);
    this.panels.push(p);
    this.list.append(p.root);
    void p.refresh();
    return p;
  }
  remove(p: Panel): void {
    this.panels = this.panels.filter((x) => x !== p);
    p.root.remove();
  }

  /** A list of all signals, by group, with a search box. */
  choose(panel: Panel): void {
    this.dialog?.remove();
    const most = 16;
    const groups = new Map<string, number[]>();
    this.data.signals.forEach((s, i) => {
      const words = s.name.split('.');
      const group = words[0] === 'sensor' && words.length > 2 ? `${words[0]}.${words[1]}` : words.length > 1 ? words[0] : 'other';
      groups.set(group, [...(groups.get(group) ?? []), i]);
    });
    const names: Record<string, string> = { q: 'joint positions (q.)', v: 'rates (v.)', tau: 'torques (tau.)', contact: 'contacts', energy: 'energies', momentum: 'momentum',
      constraint: 'constraints', loop: 'loops', control: 'control', object: 'object', sensor: 'sensors' };
    const body = el('div', { class: 'signals' });
    const rows: { name: string; row: HTMLElement; group: HTMLDetailsElement }[] = [];
    const note = el('p', { class: 'muted' }, '');
    for (const [group, list] of groups) {
      const details = el('details', { open: list.length <= 12 || list.some((i) => panel.signals.includes(i)) }, el('summary', {}, `${names[group] ?? group} `, el('span', { class: 'muted' }, String(list.length))));
      for (const i of list) {
        const s = this.data.signals[i];
        const box = el('input', { type: 'checkbox', change: () => {
          if (box.checked && panel.signals.length >= most) {
            box.checked = false;
            note.textContent = `At most ${most} signals in one plot.`;
            return;
          }
          panel.signals = box.checked ? [...panel.signals, i] : panel.signals.filter((k) => k !== i);
          panel.drawChips();
          void panel.refresh();
        } });
        box.checked = panel.signals.includes(i);
        const row = el('label', {}, box, ` ${s.name}`, el('span', { class: 'muted' }, s.unit ? ` ${s.unit}` : ''));
        rows.push({ name: s.name.toLowerCase(), row, group: details });
        details.append(row);
      }
      body.append(details);
    }
    const search = el('input', { type: 'search', placeholder: 'search, for example joint1', 'aria-label': 'search signals', input: () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const shown = new Set<HTMLDetailsElement>();
      for (const r of rows) {
        r.row.hidden = !words.every((w) => r.name.includes(w));
        if (!r.row.hidden) shown.add(r.group);
      }
      for (const d of body.querySelectorAll('details')) {
        d.hidden = !shown.has(d);
        if (words.length && shown.has(d)) d.open = true;
      }
    } });
    const dialog = el('dialog', { class: 'chooser', 'aria-label': 'choose signals' },
      el('form', { method: 'dialog', class: 'dialoghead' }, el('h2', {}, 'Signals'), el('button', { type: 'submit', class: 'primary' }, 'Done')), search, note, body);
    dialog.addEventListener('close', () => dialog.remove());
    dialog.addEventListener('click', (e) => e.target === dialog && dialog.close());
    this.dialog = dialog;
    document.body.append(dialog);
    dialog.showModal();
    search.focus();
  }
}

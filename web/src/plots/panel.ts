// One plot: its curves, the values at the cursor, and buttons.
import uPlot from 'uplot';
import type { Curves } from '../data/source';
import { el, fileName, save, setText, smallButton } from '../shared/dom';
import { icon, iconButton } from '../shared/icons';
import { clamp, lastNotAfter } from '../shared/numbers';
import { paletteColour, theme } from '../shared/theme';
import { csvOf } from './csv';
import { PLOT_HEIGHT, plotColumns, plotOptions } from './options';
import { listenToPointer } from './panel-pointer';
import { plotPicture } from './picture';
import type { PanelOwner, TimeRange } from './types';
import { valueAt } from './value';

export interface PanelButtons {
  choose(panel: Panel): void;
  remove(panel: Panel): void;
}

export class Panel {
  readonly root: HTMLElement;
  private readonly chips = el('div', { class: 'chips' });
  private readonly box = el('div', { class: 'plotbox', style: `height:${PLOT_HEIGHT}px` });
  private readonly cursor = el('div', { class: 'plotcursor' });
  private values: HTMLElement[] = [];
  private plot: uPlot | null = null;
  private plotKey = ''; // what the plot was made for
  private curves: Curves | null = null;
  private shown: TimeRange = [0, 1];
  private isBusy = false;
  private isStale = false; // something changed while it was busy

  constructor(
    private readonly owner: PanelOwner,
    private readonly key: string,
    private signals: number[],
    buttons: PanelButtons,
  ) {
    const group = el(
      'div',
      { class: 'panelbuttons' },
      iconButton('plus', 'choose signals', () => buttons.choose(this)),
      this.makeSaveMenu(),
      iconButton('close', 'remove this plot', () => buttons.remove(this)),
    );
    const head = el('div', { class: 'panelhead' }, this.chips, group);
    this.root = el('section', { class: 'panel', 'aria-label': 'plot' }, head, this.box);
    this.drawChips();
  }

  private makeSaveMenu(): HTMLElement {
    const label = 'save this plot';
    const entry = (text: string, run: () => Promise<void>) =>
      smallButton(text, () => {
        menu.open = false;
        void run();
      });
    const menu = el(
      'details',
      { class: 'pop savepop' },
      el('summary', { class: 'icon', title: label, 'aria-label': label }, icon('save')),
      el(
        'div',
        { class: 'popbody' },
        entry('Picture (PNG)', () => this.savePicture()),
        entry('Values (CSV)', () => this.saveValues()),
      ),
    );
    return menu;
  }

  get chosen(): readonly number[] {
    return this.signals;
  }
  choose(signals: number[]): void {
    this.signals = signals;
    this.drawChips();
    void this.refresh();
  }

  private drawChips(): void {
    this.values = this.signals.map(() => el('b', {}, '–'));
    const chips = this.signals.map((s, k) => {
      const { name, unit } = this.owner.data.signals[s];
      return el(
        'span',
        { class: 'chip', title: name },
        el('i', { style: `background:${paletteColour(k)}` }),
        el('span', { class: 'chipname' }, name),
        this.values[k],
        unit ? ` ${unit}` : '',
      );
    });
    const none = el('span', { class: 'muted' }, 'no signal chosen');
    this.chips.replaceChildren(...(chips.length ? chips : [none]));
  }

  private get width(): number {
    return Math.max(120, Math.floor(this.box.clientWidth));
  }

  /** Requests the curves of the range shown, one request at a time. */
  async refresh(): Promise<void> {
    this.isStale = true;
    if (this.isBusy) return;
    this.isBusy = true;
    while (this.isStale) {
      this.isStale = false;
      await this.load();
    }
    this.isBusy = false;
  }

  private async load(): Promise<void> {
    const range = this.owner.range();
    const signals = this.signals.slice();
    if (!signals.length) {
      this.plot?.destroy();
      this.plot = null;
      return;
    }
    const columns = clamp(this.width - 60, 100, 4096);
    const curves = await this.owner.data.curves(this.key, signals, ...range, columns);
    if (!curves || signals.join() !== this.signals.join()) return;
    this.curves = curves;
    this.shown = range;
    this.draw();
  }

  /** Draws everything again, for another theme. */
  redraw(): void {
    this.drawChips();
    this.draw();
  }

  private draw(): void {
    if (!this.curves) return;
    const key = `${theme()}|${this.curves.signals.join()}`;
    if (this.plot && this.plotKey === key) this.plot.setData(plotColumns(this.curves), true);
    else this.makePlot(this.curves);
    this.plotKey = key;
    this.showTime();
  }

  private makePlot(curves: Curves): void {
    this.plot?.destroy();
    const { signals } = this.owner.data;
    const options = plotOptions(
      curves,
      signals,
      this.width,
      () => this.shown,
      (u) => this.drawPhases(u),
    );
    const plot = new uPlot(options, plotColumns(curves), this.box);
    plot.over.append(this.cursor);
    listenToPointer(plot.over, this.owner, {
      timeAt: (x) => plot.posToVal(x, 'x'),
      mark: (left, width, height) => plot.setSelect({ left, width, top: 0, height }, false),
    });
    this.plot = plot;
  }

  private drawPhases(u: uPlot): void {
    const { ctx } = u;
    ctx.save();
    ctx.globalAlpha = theme() === 'dark' ? 0.13 : 0.1;
    for (const band of this.owner.data.phases()) {
      const t0 = Math.max(band.t0, this.shown[0]);
      const t1 = Math.min(band.t1, this.shown[1]);
      if (!(t1 > t0)) continue;
      ctx.fillStyle = this.owner.data.phaseColour(band.phase);
      const x0 = u.valToPos(t0, 'x', true);
      const x1 = u.valToPos(t1, 'x', true);
      ctx.fillRect(x0, u.bbox.top, x1 - x0, u.bbox.height);
    }
    ctx.restore();
  }

  resize(): void {
    const { width } = this;
    if (this.plot && this.plot.width !== width) this.plot.setSize({ width, height: PLOT_HEIGHT });
    this.showTime();
  }

  /** Moves the cursor and, if wanted, writes the values at it; nothing is drawn again. */
  showTime(withValues = true): void {
    this.placeCursor();
    if (withValues) this.showValues();
  }

  private placeCursor(): void {
    if (!this.plot) return;
    const x = this.plot.valToPos(this.owner.time, 'x');
    this.cursor.style.transform = `translateX(${x.toFixed(1)}px)`;
    const isOutside = !(x >= -1 && x <= this.plot.bbox.width / uPlot.pxRatio + 1);
    if (this.cursor.hidden !== isOutside) this.cursor.hidden = isOutside;
  }

  private showValues(): void {
    const { curves } = this;
    if (!curves?.x.length || curves.signals.join() !== this.signals.join()) return;
    const t = this.owner.time;
    let i = lastNotAfter(curves.x, t);
    const isNextNearer = i + 1 < curves.x.length && curves.x[i + 1] - t < t - curves.x[i];
    if (!curves.exact && isNextNearer) ++i;
    this.values.forEach((element, k) => {
      const { text, title } = valueAt(curves.lo[k][i], curves.hi[k][i]);
      if (element.textContent === text) return;
      setText(element, text);
      element.title = title;
    });
  }

  private async savePicture(): Promise<void> {
    if (!this.plot) return;
    const { canvas } = this.plot.ctx;
    const signals = this.signals.map((s) => this.owner.data.signals[s]);
    const blob = await plotPicture(canvas, canvas.width / this.plot.width, signals);
    if (blob) save(blob, `${fileName(this.owner.data.title)}-plot.png`);
  }

  private async saveValues(): Promise<void> {
    const { data } = this.owner;
    const text = await csvOf(data, this.signals, this.owner.range(), this.curves);
    if (text) save(new Blob([text], { type: 'text/csv' }), `${fileName(data.title)}-plot.csv`);
  }
}

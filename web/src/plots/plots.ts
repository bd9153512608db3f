// Plots below one another, with one time range and one cursor for all.  The cursor is at the time
// shown; a click or drag moves it.  Curves are requested for the width and range shown, so an hour
// costs as much as a second.
import 'uplot/dist/uPlot.min.css';
import { el, smallButton } from '../shared/dom';
import { clamp } from '../shared/numbers';
import { defaultPanels } from './default-panels';
import { Panel } from './panel';
import { chooseSignals } from './signal-chooser';
import type { PanelOwner, PlotData, TimeRange } from './types';

/** ms between two updates of the values: laying out text costs time, and nobody reads faster. */
const VALUES_EVERY = 66;
/** Pixels: after a larger change of the width, curves are requested again. */
const OTHER_WIDTH = 40;

export class Plots implements PanelOwner {
  time = 0;
  zoomTool = false;
  private panels: Panel[] = [];
  private zoom: TimeRange | null = null;
  private nextKey = 0;
  private isVisible = true;
  private lastValues = 0;
  private laterValues = 0;
  private dialog: HTMLDialogElement | null = null;
  private readonly list = el('div', { class: 'panels' });
  private readonly wholeButton = smallButton('Whole time', () => this.setRange(null), {
    disabled: true,
    title: 'show the whole time (double click)',
  });
  private readonly zoomButton = smallButton('Drag to zoom', () => this.toggleZoomTool(), {
    'aria-pressed': 'false',
    title: 'dragging in a plot zooms (or hold Shift)',
  });

  constructor(
    host: HTMLElement,
    readonly data: PlotData,
  ) {
    host.append(this.makeBar(), this.list);
    if (data.signals.length) for (const panel of defaultPanels(data.signals)) this.add(panel);
    else this.list.append(el('p', { class: 'muted pad' }, 'This run has no signals.'));
    this.watchWidth();
  }

  private makeBar(): HTMLElement {
    const zoomButton = (text: string, name: string, factor: number) =>
      smallButton(text, () => this.zoomBy(factor, this.time), { title: name, 'aria-label': name });
    return el(
      'div',
      { class: 'plotbar' },
      smallButton('+ Plot', () => this.choose(this.add([]))),
      this.zoomButton,
      zoomButton('+', 'zoom in', 0.5),
      zoomButton('−', 'zoom out', 2),
      this.wholeButton,
    );
  }

  private watchWidth(): void {
    let width = 0;
    const watch = new ResizeObserver(() => {
      const now = this.list.clientWidth;
      if (!now) return;
      for (const panel of this.panels) panel.resize();
      if (Math.abs(now - width) > OTHER_WIDTH) this.refresh();
      width = now;
    });
    watch.observe(this.list);
  }

  private toggleZoomTool(): void {
    this.zoomTool = !this.zoomTool;
    this.zoomButton.setAttribute('aria-pressed', String(this.zoomTool));
  }

  /* ---- time ---- */

  range(): TimeRange {
    const [a, b] = this.zoom ?? this.data.whole();
    return b > a ? [a, b] : [a, a + 1];
  }

  /** null: the whole time. */
  setRange(range: TimeRange | null): void {
    let zoom: TimeRange | null = null;
    if (range) {
      const [first, last] = this.data.whole();
      zoom = [Math.max(first, range[0]), Math.min(last, range[1])];
      const shortest = Math.max(1e-6, 1e-9 * Math.abs(last));
      if (!(zoom[1] - zoom[0] >= shortest)) return;
      if (zoom[0] <= first && zoom[1] >= last) zoom = null;
    }
    this.zoom = zoom;
    this.wholeButton.disabled = zoom === null;
    this.data.zoomed(zoom);
    this.refresh();
  }

  zoomBy(factor: number, about: number): void {
    const [a, b] = this.range();
    const t = clamp(about, a, b);
    this.setRange([t - (t - a) * factor, t + (b - t) * factor]);
  }

  /** Moves the cursor of all plots. */
  setTime(t: number): void {
    this.time = t;
    if (!this.isVisible) return;
    this.keepCursorInRange();
    const now = performance.now();
    const withValues = now - this.lastValues > VALUES_EVERY;
    window.clearTimeout(this.laterValues);
    if (withValues) this.lastValues = now;
    else this.laterValues = window.setTimeout(() => this.showTime(true), VALUES_EVERY + 4);
    this.showTime(withValues);
  }

  private showTime(withValues: boolean): void {
    for (const panel of this.panels) panel.showTime(withValues);
  }

  /** A zoomed range moves along when the cursor leaves it. */
  private keepCursorInRange(): void {
    if (!this.zoom) return;
    const [a, b] = this.zoom;
    if (this.time >= a && this.time <= b) return;
    const [first, last] = this.data.whole();
    const width = b - a;
    if (width >= last - first) return;
    const wanted = this.time - (this.time < a ? 0.1 : 0.9) * width;
    const from = Math.max(first, Math.min(last - width, wanted));
    this.setRange([from, from + width]);
  }

  /* ---- panels ---- */

  /** Hidden plots request nothing. */
  setVisible(on: boolean): void {
    this.isVisible = on;
    if (on) this.refresh();
  }

  refresh(): void {
    if (!this.isVisible) return;
    for (const panel of this.panels) void panel.refresh();
  }

  redraw(): void {
    for (const panel of this.panels) panel.redraw();
  }

  private add(signals: number[]): Panel {
    const panel = new Panel(this, `plot${this.nextKey++}`, signals, {
      choose: (p) => this.choose(p),
      remove: (p) => this.remove(p),
    });
    this.panels.push(panel);
    this.list.append(panel.root);
    void panel.refresh();
    return panel;
  }

  private remove(panel: Panel): void {
    this.panels = this.panels.filter((p) => p !== panel);
    panel.root.remove();
  }

  private choose(panel: Panel): void {
    this.dialog?.remove();
    this.dialog = chooseSignals(panel, this.data.signals);
  }
}

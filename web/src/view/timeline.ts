// The time line: phases as bands, events as ticks, the range that the plots show, and a mark at the
// time shown.  The mark is a separate element, so that moving it draws nothing again.
import type { Event } from '../data/protocol';
import type { PhaseBand, TimeRange } from '../plots/types';
import { el } from '../shared/dom';
import { clamp } from '../shared/numbers';
import { drawTimeline, MARGIN } from './timeline-drawing';

/** Pixels: events this near to the pointer are listed. */
const NEAR = 5;
const MOST_LISTED = 4;

/** The look of phases. */
export interface PhaseLook {
  colour(phase: number): string;
  name(phase: number): string;
}

export class Timeline {
  bands: PhaseBand[] = [];
  events: Event[] = [];
  range: TimeRange | null = null;
  first = 0;
  last = 1;
  private readonly canvas = el('canvas', { class: 'lineground' });
  private readonly mark = el('div', { class: 'linemark' });
  private readonly tip = el('div', { class: 'linetip', hidden: true });
  private span: TimeRange = [NaN, NaN];
  private time = 0;
  private width = 2 * MARGIN;
  private isQueued = false;

  constructor(
    private readonly host: HTMLElement,
    readonly phases: PhaseLook,
    private readonly seek: (t: number) => void,
  ) {
    host.append(this.canvas, this.mark, this.tip);
    host.tabIndex = 0;
    host.setAttribute('role', 'slider');
    host.setAttribute('aria-label', 'time');
    this.listen();
    new ResizeObserver(() => this.draw()).observe(host);
  }

  private listen(): void {
    const { host } = this;
    let isDown = false;
    const up = () => {
      isDown = false;
    };
    host.addEventListener('pointerdown', (e) => {
      if (e.button !== 0) return;
      isDown = true;
      host.setPointerCapture(e.pointerId);
      this.seek(this.timeAt(e));
    });
    host.addEventListener('pointermove', (e) => {
      if (isDown) this.seek(this.timeAt(e));
      this.showTip(e);
    });
    host.addEventListener('pointerup', up);
    host.addEventListener('pointercancel', up);
    host.addEventListener('pointerleave', () => {
      this.tip.hidden = true;
    });
  }

  private timeAt(e: PointerEvent): number {
    const box = this.host.getBoundingClientRect();
    const width = Math.max(1, box.width - 2 * MARGIN);
    const share = clamp((e.clientX - box.left - MARGIN) / width, 0, 1);
    return this.first + share * (this.last - this.first);
  }

  /** Where a time is, in pixels from the left. */
  x(t: number): number {
    if (!(this.last > this.first)) return MARGIN;
    const share = (t - this.first) / (this.last - this.first);
    return MARGIN + share * (this.width - 2 * MARGIN);
  }

  setSpan(first: number, last: number): void {
    if (first === this.span[0] && last === this.span[1]) return;
    this.span = [first, last];
    this.first = first;
    this.last = last > first + 1e-6 ? last : first + 1; // a run that has not begun: one second
    this.host.setAttribute('aria-valuemin', first.toFixed(3));
    this.host.setAttribute('aria-valuemax', last.toFixed(3));
    this.invalidate();
    this.setTime(this.time);
  }

  setTime(t: number): void {
    this.time = t;
    this.mark.style.transform = `translateX(${this.x(t).toFixed(1)}px)`;
    this.host.setAttribute('aria-valuenow', t.toFixed(3));
    this.host.setAttribute('aria-valuetext', `${t.toFixed(3)} s`);
  }

  setPhases(bands: PhaseBand[]): void {
    this.bands = bands;
    this.invalidate();
  }
  setEvents(events: Event[]): void {
    this.events = events;
    this.invalidate();
  }
  setRange(range: TimeRange | null): void {
    this.range = range;
    this.invalidate();
  }

  invalidate(): void {
    if (this.isQueued) return;
    this.isQueued = true;
    requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    this.isQueued = false;
    const width = this.host.clientWidth;
    const height = this.host.clientHeight;
    const ratio = window.devicePixelRatio || 1;
    if (!width || !height) return;
    this.width = width;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const pen = this.canvas.getContext('2d');
    if (!pen) return;
    pen.scale(ratio, ratio);
    drawTimeline(pen, this, width, height);
    this.setTime(this.time);
  }

  /** The events near the pointer, or the time and phase there. */
  private tipLines(x: number, t: number): string[] {
    const near = this.events.filter((e) => Math.abs(this.x(e.t) - x) < NEAR);
    if (near.length)
      return near.slice(0, MOST_LISTED).map((e) => `${e.t.toFixed(3)} s  ${e.kind}: ${e.text}`);
    const band = this.bands.find((b) => t >= b.t0 && t < b.t1);
    return [`${t.toFixed(3)} s${band ? `  ${this.phases.name(band.phase)}` : ''}`];
  }

  private showTip(e: PointerEvent): void {
    const box = this.host.getBoundingClientRect();
    const x = e.clientX - box.left;
    const lines = this.tipLines(x, this.timeAt(e));
    this.tip.replaceChildren(...lines.map((line) => el('div', {}, line)));
    this.tip.hidden = false;
    const half = this.tip.offsetWidth / 2;
    this.tip.style.left = `${Math.max(half + 2, Math.min(box.width - half - 2, x))}px`;
  }
}

// The time line: phases as bands, events as ticks, the stretch that the plots show, and the place where the run is.
// The ground is drawn when it changes; the moving mark is an element of its own.
import { el } from './dom';
import type { PhaseBand } from './plots';
import type { Event } from './protocol';
import { css, palette, theme } from './theme';

export interface TimelineHooks {
  seek(t: number): void;
  step(by: number, big: boolean): void;
  ends(last: boolean): void;
}

export const eventColour = (kind: string): string => {
  const c = palette[theme()];
  return kind === 'phase' ? css('--text') : kind === 'touch' ? c[5 % c.length] : kind === 'release' || kind === 'part' ? c[4] : c[1];
};

export class Timeline {
  private canvas = el('canvas', { class: 'lineground' });
  private mark = el('div', { class: 'linemark' });
  private tip = el('div', { class: 'linetip', hidden: true });
  private first = 0;
  private last = 1;
  private given = [NaN, NaN];
  private time = 0;
  private range: [number, number] | null = null;
  private bands: PhaseBand[] = [];
  private events: Event[] = [];
  private phases: string[] = [];
  private queued = false;
  private wide = 16;
  colour: (phase: number) => string = () => '#888888';

  constructor(private host: HTMLElement, private hooks: TimelineHooks) {
    host.append(this.canvas, this.mark, this.tip);
    host.tabIndex = 0;
    host.setAttribute('role', 'slider');
    host.setAttribute('aria-label', 'time');
    let down = false;
    host.addEventListener('pointerdown', (e) => {
      if (e.button !== 0) return;
      down = true;
      host.setPointerCapture(e.pointerId);
      this.hooks.seek(this.at(e));
    });
    host.addEventListener('pointermove', (e) => {
      if (down) this.hooks.seek(this.at(e));
      this.showTip(e);
    });
    const up = () => (down = false);
    host.addEventListener('pointerup', up);
    host.addEventListener('pointercancel', up);
    host.addEventListener('pointerleave', () => (this.tip.hidden = true));
    new ResizeObserver(() => this.draw()).observe(host);
  }

  private at(e: PointerEvent): number {
    const r = this.host.getBoundingClientRect();
    const u = Math.max(0, Math.min(1, (e.clientX - r.left - 8) / Math.max(1, r.width - 16)));
    return this.first + u * (this.last - this.first);
  }
  private x(t: number): number {
    const w = this.wide - 16;
    return 8 + (this.last > this.first ? ((t - this.first) / (this.last - this.first)) * w : 0);
  }

  setSpan(first: number, last: number): void {
    if (first === this.given[0] && last === this.given[1]) return;
    this.given = [first, last];
    this.first = first;
    this.last = last > first + 1e-6 ? last : first + 1; // a run that has not begun: an empty second
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
  setPhases(bands: PhaseBand[], names: string[]): void {
    this.bands = bands;
    this.phases = names;
    this.invalidate();
  }
  setEvents(events: Event[]): void {
    this.events = events;
    this.invalidate();
  }
  setRange(range: [number, number] | null): void {
    this.range = range;
    this.invalidate();
  }
  invalidate(): void {
    if (this.queued) return;
    this.queued = true;
    requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    this.queued = false;
    const w = this.host.clientWidth, h = this.host.clientHeight, k = window.devicePixelRatio || 1;
    if (!w || !h) return;
    this.wide = w;
    this.canvas.width = Math.round(w * k);
    this.canvas.height = Math.round(h * k);
    const g = this.canvas.getContext('2d');
    if (!g) return;
    g.scale(k, k);
    const top = 9, tall = h - top - 17;
    g.fillStyle = css('--track');
    g.fillRect(8, top, w - 16, tall);
    g.font = '11px system-ui, sans-serif';
    g.textBaseline = 'middle';
    for (const b of this.bands) {
      const x0 = this.x(Math.max(b.t0, this.first)), x1 = this.x(Math.min(b.t1, this.last));
      if (!(x1 > x0)) continue;
      g.globalAlpha = theme() === 'dark' ? 0.42 : 0.34;
      g.fillStyle = this.colour(b.phase);
      g.fillRect(x0, top, Math.max(1, x1 - x0), tall);
      g.globalAlpha = 1;
      g.fillStyle = this.colour(b.phase);
      g.fillRect(x0, top + tall - 3, Math.max(1, x1 - x0), 3);
      const name = this.phases[b.phase] ?? `phase ${b.phase}`;
      if (g.measureText(name).width < x1 - x0 - 8) {
        g.fillStyle = css('--text');
        g.fillText(name, x0 + 5, top + tall / 2 - 1);
      }
    }
    const seen = new Map<number, string>(); // one tick a pixel
    for (const e of this.events) {
      const x = Math.round(this.x(e.t));
      if (!seen.has(x) || e.kind === 'phase') seen.set(x, e.kind);
    }
    for (const [x, kind] of seen) {
      g.fillStyle = eventColour(kind);
      g.fillRect(x - 0.75, 1, 1.5, 7);
    }
    if (this.range) {
      g.strokeStyle = css('--accent');
      g.lineWidth = 2;
      g.strokeRect(this.x(this.range[0]), top - 1, Math.max(2, this.x(this.range[1]) - this.x(this.range[0])), tall + 2);
    }
    g.fillStyle = css('--muted');
    const span = this.last - this.first;
    const raw = span / Math.max(2, w / 90), p = 10 ** Math.floor(Math.log10(raw || 1));
    const step = [1, 2, 5, 10].map((f) => f * p).find((s) => s >= raw) ?? p;
    g.textBaseline = 'alphabetic';
    for (let t = Math.ceil(this.first / step) * step, n = 0; t <= this.last + 1e-9 * span && n < 100; t += step, ++n) {
      const x = this.x(t), text = `${+t.toFixed(Math.max(0, -Math.floor(Math.log10(step))))} s`;
      g.fillRect(x - 0.5, top + tall, 1, 4);
      const width = g.measureText(text).width;
      g.fillText(text, Math.max(2, Math.min(w - width - 2, x - width / 2)), h - 2);
    }
    this.setTime(this.time);
  }

  private showTip(e: PointerEvent): void {
    const r = this.host.getBoundingClientRect(), x = e.clientX - r.left;
    const t = this.at(e);
    const near = this.events.filter((v) => Math.abs(this.x(v.t) - x) < 5).slice(0, 4);
    const band = this.bands.find((b) => t >= b.t0 && t < b.t1);
    const lines = near.length ? near.map((v) => `${v.t.toFixed(3)} s  ${v.kind}: ${v.text}`)
      : [`${t.toFixed(3)} s${band ? `  ${this.phases[band.phase] ?? `phase ${band.phase}`}` : ''}`];
    this.tip.replaceChildren(...lines.map((l) => el('div', {}, l)));
    this.tip.hidden = false;
    const half = this.tip.offsetWidth / 2;
    this.tip.style.left = `${Math.max(half + 2, Math.min(r.width - half - 2, x))}px`;
  }
}

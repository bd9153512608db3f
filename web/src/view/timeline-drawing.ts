// The picture of the time line.
import { css, paletteColour, theme } from '../shared/theme';
import type { Timeline } from './timeline';

type Pen = CanvasRenderingContext2D;

/** Pixels left and right of the line. */
export const MARGIN = 8;
/** Pixels: the track is below the ticks of events and above the times. */
const TOP = 9;
const BOTTOM = 17;
const LABEL_EVERY = 90;

export function eventColour(kind: string): string {
  switch (kind) {
    case 'phase':
      return css('--text');
    case 'touch':
      return paletteColour(5);
    case 'release':
    case 'part':
      return paletteColour(4);
    default:
      return paletteColour(1);
  }
}

function drawPhases(pen: Pen, line: Timeline, height: number): void {
  pen.font = '11px system-ui, sans-serif';
  pen.textBaseline = 'middle';
  for (const band of line.bands) {
    const x0 = line.x(Math.max(band.t0, line.first));
    const x1 = line.x(Math.min(band.t1, line.last));
    if (!(x1 > x0)) continue;
    const width = Math.max(1, x1 - x0);
    pen.globalAlpha = theme() === 'dark' ? 0.42 : 0.34;
    pen.fillStyle = line.phases.colour(band.phase);
    pen.fillRect(x0, TOP, width, height);
    pen.globalAlpha = 1;
    pen.fillRect(x0, TOP + height - 3, width, 3);
    const name = line.phases.name(band.phase);
    if (pen.measureText(name).width >= x1 - x0 - 8) continue;
    pen.fillStyle = css('--text');
    pen.fillText(name, x0 + 5, TOP + height / 2 - 1);
  }
}

/** One tick per pixel; changes of phase win. */
function drawEvents(pen: Pen, line: Timeline): void {
  const ticks = new Map<number, string>();
  for (const event of line.events) {
    const x = Math.round(line.x(event.t));
    if (!ticks.has(x) || event.kind === 'phase') ticks.set(x, event.kind);
  }
  for (const [x, kind] of ticks) {
    pen.fillStyle = eventColour(kind);
    pen.fillRect(x - 0.75, 1, 1.5, 7);
  }
}

function drawRange(pen: Pen, line: Timeline, height: number): void {
  if (!line.range) return;
  const x0 = line.x(line.range[0]);
  const x1 = line.x(line.range[1]);
  pen.strokeStyle = css('--accent');
  pen.lineWidth = 2;
  pen.strokeRect(x0, TOP - 1, Math.max(2, x1 - x0), height + 2);
}

/** Times at round distances. */
function drawTimes(pen: Pen, line: Timeline, width: number, height: number): void {
  const span = line.last - line.first;
  const least = span / Math.max(2, width / LABEL_EVERY);
  const power = 10 ** Math.floor(Math.log10(least || 1));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= least) ?? power;
  const decimals = Math.max(0, -Math.floor(Math.log10(step)));
  pen.fillStyle = css('--muted');
  pen.textBaseline = 'alphabetic';
  let t = Math.ceil(line.first / step) * step;
  for (let n = 0; t <= line.last + 1e-9 * span && n < 100; ++n) {
    const x = line.x(t);
    const text = `${+t.toFixed(decimals)} s`;
    const textWidth = pen.measureText(text).width;
    pen.fillRect(x - 0.5, height - BOTTOM, 1, 4);
    const left = Math.max(2, Math.min(width - textWidth - 2, x - textWidth / 2));
    pen.fillText(text, left, height - 2);
    t += step;
  }
}

export function drawTimeline(pen: Pen, line: Timeline, width: number, height: number): void {
  const track = height - TOP - BOTTOM;
  pen.fillStyle = css('--track');
  pen.fillRect(MARGIN, TOP, width - 2 * MARGIN, track);
  drawPhases(pen, line, track);
  drawEvents(pen, line);
  drawRange(pen, line, track);
  drawTimes(pen, line, width, height);
}

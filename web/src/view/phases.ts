// Phases of a controller: found from its signal, shown as bands and as a badge.
import type { Event, Frame, Scene } from '../data/protocol';
import type { Curves, Source } from '../data/source';
import type { PhaseBand } from '../plots/types';
import { byId, setText } from '../shared/dom';
import { paletteColour } from '../shared/theme';

const COLUMNS = 1000;
/** s: a frame this near to the time shown says which phase it is. */
const NEAR = 0.5;

/** Bands from the smallest and largest phase in each column. */
function bandsOf(curves: Curves, first: number, last: number): PhaseBand[] {
  const bands: PhaseBand[] = [];
  const add = (value: number, k: number) => {
    const phase = Math.round(value);
    if (!Number.isFinite(value) || phase < 0) return;
    const t = curves.x[k];
    const current = bands[bands.length - 1];
    if (current) current.t1 = t;
    if (current?.phase !== phase) bands.push({ t0: k ? t : first, t1: t, phase });
  };
  for (let k = 0; k < curves.x.length; ++k) {
    const lo = curves.lo[0][k];
    const hi = curves.hi[0][k];
    add(lo, k);
    if (lo !== hi) add(hi, k);
  }
  if (bands.length) bands[bands.length - 1].t1 = last;
  return bands;
}

/** Columns are coarse; an event near the beginning of a band gives its exact time. */
function sharpen(bands: PhaseBand[], events: Event[], within: number): void {
  bands.forEach((band, i) => {
    const event = events.find((e) => e.kind === 'phase' && Math.abs(e.t - band.t0) < within);
    if (!event) return;
    if (i > 0) bands[i - 1].t1 = event.t;
    band.t0 = event.t;
  });
}

export class Phases {
  bands: PhaseBand[] = [];
  private readonly signal: number;

  constructor(
    private readonly source: Source,
    private readonly scene: Scene,
  ) {
    this.signal = scene.signals.findIndex((s) => s.name === 'control.phase');
  }

  colour = (phase: number): string => paletteColour(phase);

  name(phase: number): string {
    return this.scene.phases[phase] ?? `phase ${phase}`;
  }

  clear(): void {
    this.bands = [];
  }

  /** Reads the phases of a time span; true if they were found. */
  async find(first: number, last: number, events: Event[]): Promise<boolean> {
    if (this.signal < 0 || !(last > first)) return false;
    const curves = await this.source.curves('phases', [this.signal], first, last, COLUMNS);
    if (!curves) return false;
    const column = (last - first) / Math.max(1, curves.x.length - 1);
    this.bands = bandsOf(curves, first, last);
    sharpen(this.bands, events, 1.5 * column);
    return true;
  }

  private at(t: number, frame: Frame | null): number {
    if (!this.scene.phases.length) return -1;
    if (frame && frame.phase >= 0 && Math.abs(frame.t - t) < NEAR) return frame.phase;
    const band = this.bands.find((b) => t >= b.t0 && t < b.t1) ?? this.bands[this.bands.length - 1];
    return band ? band.phase : -1;
  }

  /** The name of the phase at a time, in the page's head. */
  showBadge(t: number, frame: Frame | null): void {
    const badge = byId('phase');
    const phase = this.at(t, frame);
    badge.hidden = phase < 0;
    if (phase < 0) return;
    setText(badge, this.name(phase));
    badge.style.borderColor = this.colour(phase);
  }
}

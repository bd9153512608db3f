// Plays the sweeps of a plan on the machine: arrows from body to body.
import type { Body } from '../data/protocol';
import type { Scene3D } from '../scene3d/scene3d';
import { clamp } from '../shared/numbers';
import { css, reducedMotion } from '../shared/theme';
import { sweepSteps } from './sweep-drawing';
import type { Sweep } from './explained';

/** ms: for all steps of a sweep; shortest and longest step; pause at the end. */
const WHOLE = 1600;
const SHORTEST = 90;
const LONGEST = 300;
const PAUSE = 600;

export class SweepPlayer {
  private sweeps: Sweep[] = [];
  private playing: { list: number[]; at: number; since: number; repeats: boolean } | null = null;

  constructor(
    private readonly bodies: () => Body[],
    private readonly view: () => Scene3D | null,
    private readonly wake: () => void,
  ) {}

  get isPlaying(): boolean {
    return this.playing !== null;
  }
  /** True if pictures are needed one after the other. */
  get isMoving(): boolean {
    return this.playing !== null && (this.playing.repeats || !reducedMotion());
  }

  setSweeps(sweeps: Sweep[]): void {
    this.sweeps = sweeps;
    this.stop();
  }

  /** All sweeps, one after the other. */
  playAll(): void {
    this.start(
      this.sweeps.map((_, k) => k),
      false,
    );
  }

  /** One sweep again and again, until it is chosen again. */
  toggle(k: number): void {
    if (this.playing?.repeats && this.playing.list[0] === k) this.stop();
    else this.start([k], true);
  }

  private start(list: number[], repeats: boolean): void {
    this.playing = { list, at: 0, since: performance.now(), repeats };
    this.wake();
  }

  stop(): void {
    this.playing = null;
    this.markButton(-1);
    this.view()?.setFlow([], css('--accent'));
  }

  private markButton(k: number): void {
    for (const button of document.querySelectorAll<HTMLElement>('.sweepbutton'))
      button.setAttribute('aria-pressed', String(Number(button.dataset.sweep) === k));
  }

  draw(now: number): void {
    const { playing } = this;
    const view = this.view();
    if (!playing || !view) return;
    const k = playing.list[playing.at];
    const sweep = this.sweeps[k];
    if (!sweep) {
      this.stop();
      return;
    }
    const steps = sweepSteps(this.bodies(), sweep.inward);
    const ranks = Math.max(...steps.map((s) => s.rank)) + 1;
    const each = clamp(WHOLE / ranks, SHORTEST, LONGEST);
    const done = reducedMotion() ? ranks : (now - playing.since) / each;
    const pairs = steps.filter((s) => s.rank <= done).map((s): [number, number] => [s.from, s.to]);
    this.markButton(k);
    view.setFlow(pairs, css(sweep.inward ? '--inward' : '--outward'));
    const isStill = reducedMotion() && playing.repeats;
    if (done > ranks + PAUSE / each && !isStill) this.next(now);
  }

  private next(now: number): void {
    const { playing } = this;
    if (!playing) return;
    playing.since = now;
    if (playing.repeats) return;
    ++playing.at;
    if (playing.at >= playing.list.length) this.stop();
  }
}

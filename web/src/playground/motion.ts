// The motion of the machine: free, pulled by the pointer, or at rest.
import { errorText, toast } from '../shared/dom';
import { clamp } from '../shared/numbers';
import type { Session } from './core.js';

/** s: one step of the integration. */
const STEP = 1e-3;
/** s: after a longer pause between two pictures the motion does not catch up. */
const LONGEST = 0.05;
/** Rate at which speeds decay while a paused machine is pulled: it comes along without swinging. */
const PULL_DECAY = 12;

export class Motion {
  t = 0;
  isRunning = false;
  isPulling = false;

  constructor(
    private readonly session: Session,
    private readonly losses: () => number,
    private readonly stopped: () => void,
  ) {}

  get isMoving(): boolean {
    return this.isRunning || this.isPulling;
  }

  /** Moves on by a time; false if that failed and everything was stopped. */
  advance(seconds: number): void {
    if (!this.isMoving) return;
    const count = Math.max(1, Math.round(clamp(seconds, 0, LONGEST) / STEP));
    try {
      if (this.isRunning) {
        this.session.move(STEP, count, this.losses(), false);
        this.t += count * STEP;
      } else this.session.move(STEP, count, PULL_DECAY, true);
    } catch (e) {
      this.stop();
      this.stopped();
      toast(`${errorText(e)}: stopped`);
    }
  }

  private stop(): void {
    this.session.vector('v').fill(0);
    this.session.release();
    this.isRunning = false;
    this.isPulling = false;
  }

  pull(body: number, at: ArrayLike<number>, to: ArrayLike<number>): void {
    try {
      this.session.pull(body, at, to);
      this.isPulling = true;
    } catch (e) {
      toast(errorText(e));
    }
  }

  release(): void {
    this.session.release();
    if (this.isPulling && !this.isRunning) this.session.vector('v').fill(0);
    this.isPulling = false;
  }

  reset(home: number[]): void {
    this.stop();
    this.session.set('q', home);
    this.t = 0;
  }
}

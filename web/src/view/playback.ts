// Playback: which time is shown, and what moves it.  A record is played by the page's own clock.  A
// live run moves by itself; the page follows it, or looks back into what was recorded so far.
import type { Event, State } from '../data/protocol';
import type { Source } from '../data/source';
import { clamp } from '../shared/numbers';

/** Speed of a record at the setting "fastest". */
const FASTEST = 10;
/** s: after a longer pause between two pictures, playback does not jump. */
const LONGEST_STEP = 0.25;

export interface PlaybackListener {
  timeChanged(): void;
  /** Playing, following or the speed changed. */
  modeChanged(): void;
}

export class Playback {
  t: number;
  speed = 1;
  /** True if the newest frame of a live run is shown. */
  following: boolean;
  /** True once the user chose a time or started playback. */
  isTouched = false;
  /** What the program said last. */
  state: State | null = null;
  private playing = false; // by the page's own clock

  constructor(
    private readonly source: Source,
    readonly live: boolean,
    public first: number,
    public last: number,
    private readonly listener: PlaybackListener,
  ) {
    this.t = first;
    this.following = live;
  }

  /** True if commands go to a live run. */
  get isDirect(): boolean {
    return this.live && this.following;
  }
  get isRunning(): boolean {
    return this.isDirect ? (this.state?.playing ?? false) : this.playing;
  }

  /** byUser: a live run is no longer followed. */
  seek(t: number, byUser = false): void {
    if (byUser) this.isTouched = true;
    this.t = clamp(t, this.first, this.last);
    if (byUser && this.isDirect) {
      this.following = false;
      this.playing = false;
      this.listener.modeChanged();
    }
    this.source.wantFrame(this.t);
    this.listener.timeChanged();
  }

  /** Shows the newest frame of a live run, and those that follow. */
  goLive(): void {
    this.following = true;
    this.playing = false;
    this.t = this.last;
    this.source.wantFrame(this.last);
    this.listener.modeChanged();
    this.listener.timeChanged();
  }

  toggle(): void {
    this.isTouched = true;
    if (this.isDirect) {
      this.source.send({ do: this.isRunning ? 'pause' : 'play' });
      return;
    }
    this.playing = !this.playing;
    if (this.playing) this.play();
    this.listener.modeChanged();
  }

  private play(): void {
    if (this.t >= this.last - 1e-9) this.t = this.first;
    let before = performance.now();
    const go = (now: number) => {
      if (!this.playing) return;
      const passed = clamp((now - before) / 1000, 0, LONGEST_STEP) * (this.speed || FASTEST);
      before = now;
      if (this.t + passed >= this.last) {
        this.playing = false;
        this.seek(this.last);
        this.listener.modeChanged();
        return;
      }
      this.seek(this.t + passed);
      requestAnimationFrame(go);
    };
    requestAnimationFrame(go);
  }

  step(by: number): void {
    this.isTouched = true;
    if (!this.isDirect) {
      this.playing = false;
      this.seek(this.source.stepTime(this.t, by), true);
      this.listener.modeChanged();
    } else if (by > 0) this.source.send({ do: 'step', count: by });
    else this.seek(this.source.stepTime(this.last, by), true);
  }

  /** To the next event (by > 0), or to the one before. */
  seekEvent(events: Event[], by: number): void {
    const next = events.find((e) => e.t > this.t + 1e-6);
    const before = events.filter((e) => e.t < this.t - 1e-6).pop();
    const event = by > 0 ? next : before;
    if (event) this.seek(event.t, true);
  }

  toBeginning(): void {
    this.isTouched = true;
    this.playing = false;
    this.seek(this.first, true);
    this.listener.modeChanged();
  }

  toEnd(): void {
    this.isTouched = true;
    if (this.live) {
      this.goLive();
      return;
    }
    this.playing = false;
    this.seek(this.last, true);
    this.listener.modeChanged();
  }

  /** Begins a live run again. */
  reset(): void {
    if (!this.live) return;
    this.following = true;
    this.source.send({ do: 'reset' });
    this.listener.modeChanged();
  }

  /** tell: the program should run at this speed. */
  setSpeed(speed: number, tell: boolean): void {
    this.speed = speed;
    if (tell && this.live) this.source.send({ do: 'speed', value: speed });
    this.listener.modeChanged();
  }

  /** A frame that arrived at `t`: true if it should be shown. */
  accepts(frame: { id: number; t: number }, hasFrame: boolean): boolean {
    if (!this.source.served || !this.live) return true;
    const isPushed = frame.id === 0; // sent by the run itself, not requested
    if (isPushed && !this.following) return false;
    const isOutdated = !isPushed && this.following && hasFrame && this.state?.playing;
    if (isOutdated) return false;
    if (this.following) this.t = frame.t;
    return true;
  }

  /** True if the program's state says that the run began again. */
  isBegunAgain(state: State): boolean {
    if (!this.state) return false;
    return state.last < this.state.last - 1e-9 || state.t < this.state.t - 1e-9;
  }

  /** The run began again, and its record may end before the time shown. */
  takeState(state: State): void {
    this.state = state;
    if (this.isDirect && state.t < this.t) this.t = state.t;
  }

  /** The program is gone. */
  disconnect(): void {
    if (!this.live || !this.state) return;
    this.state.playing = false;
    this.listener.modeChanged();
  }
}

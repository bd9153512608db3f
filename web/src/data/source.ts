// Where a run comes from.  A report holds everything in the page (ReportSource); otherwise the
// program is at the other end of a WebSocket (SocketSource).
import type { Event, Frame, Samples, Scene, State } from './protocol';

/** Values of signals over a time span, in columns. */
export interface Curves {
  signals: number[];
  x: Float64Array;
  /** Per signal: smallest and largest value in each column; the same list for exact samples. */
  lo: (Float64Array | Float32Array)[];
  hi: (Float64Array | Float32Array)[];
  /** True if the columns are the recorded samples themselves. */
  exact: boolean;
}

/** What the page does with what arrives. */
export interface Handlers {
  scene(scene: Scene): void;
  frame(frame: Frame): void;
  state(state: State): void;
  events(from: number, list: Event[]): void;
  summary(rows: Scene['summary'], notes: string[]): void;
  connection(up: boolean, why: string): void;
  error(text: string): void;
}

export interface Source {
  /** True if a program serves the run. */
  readonly served: boolean;
  open(handlers: Handlers): void;
  /** Requests the frame at `t`; it arrives at handlers.frame.  Only the newest request counts. */
  wantFrame(t: number): void;
  /** The time of the recorded frame `by` frames away from `t`. */
  stepTime(t: number, by: number): number;
  /** Curves in about `columns` columns; null if a newer request with the same key replaced this
   *  one, or if there was no answer. */
  curves(
    key: string,
    signals: number[],
    t0: number,
    t1: number,
    columns: number,
  ): Promise<Curves | null>;
  /** Recorded values; null where only overviews exist. */
  samples(signals: number[], t0: number, t1: number): Promise<Samples | null>;
  /** The path of a point of a body over the run (t, x, y, z ...); null if it is not at hand. */
  path(body: number, point: readonly number[]): Float64Array | null;
  send(command: object): void;
}

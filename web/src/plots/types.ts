// What plots need from the page, and what they share.
import type { Samples, Signal } from '../data/protocol';
import type { Curves } from '../data/source';

/** A stretch of time in one phase of a controller. */
export interface PhaseBand {
  t0: number;
  t1: number;
  phase: number;
}

export type TimeRange = [number, number];

export interface PlotData {
  title: string;
  signals: Signal[];
  curves(
    key: string,
    signals: number[],
    t0: number,
    t1: number,
    columns: number,
  ): Promise<Curves | null>;
  samples(signals: number[], t0: number, t1: number): Promise<Samples | null>;
  /** First and last time of the run. */
  whole(): TimeRange;
  seek(t: number): void;
  zoomed(range: TimeRange | null): void;
  phases(): PhaseBand[];
  phaseColour(phase: number): string;
}

/** What a panel needs from the list of plots that it belongs to. */
export interface PanelOwner {
  readonly data: PlotData;
  readonly time: number;
  /** True if dragging zooms. */
  readonly zoomTool: boolean;
  range(): TimeRange;
  setRange(range: TimeRange | null): void;
  zoomBy(factor: number, about: number): void;
}

// What the parts of the 3-D view share.
import type { Frame } from '../data/protocol';

export type Layer =
  | 'links'
  | 'collision'
  | 'skeleton'
  | 'frames'
  | 'bodyframes'
  | 'axes'
  | 'contacts'
  | 'nearest'
  | 'com'
  | 'momentum'
  | 'trails'
  | 'grid';
export type Layers = Record<Layer, boolean>;

/** What is shown at first. */
export const firstLayers = (): Layers => ({
  links: true,
  collision: false,
  skeleton: false,
  frames: false,
  bodyframes: false,
  axes: false,
  contacts: true,
  nearest: true,
  com: false,
  momentum: false,
  trails: true,
  grid: true,
});

/** Views of the camera, in the order of the keys 1 to 5. */
export const presets = ['iso', 'front', 'side', 'top', 'fit'] as const;
export type Preset = (typeof presets)[number];

/** What a frame says about one moment. */
export type Moment = Pick<Frame, 't' | 'places' | 'com' | 'contacts' | 'lines'>;

export type Point = [number, number, number];

/** What the page does when the user works in the view. */
export interface Hooks {
  select(body: number | null): void;
  /** True if bodies may be pulled now. */
  pullable(): boolean;
  /** at: the point held, in the body; to: where it is pulled, in the world. */
  pull(body: number, at: Point, to: Point): void;
  release(): void;
  /** The view itself switched a layer. */
  layer?(layer: Layer, on: boolean): void;
}

/** Lengths that arrows, dots and grid are measured by. */
export interface Scale {
  /** Diagonal of the model when the first frame came. */
  size: number;
  /** Diagonal of everything in view when the camera was placed. */
  extent: number;
}

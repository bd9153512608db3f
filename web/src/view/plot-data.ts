// What the plots need from the page.
import type { Scene } from '../data/protocol';
import type { Source } from '../data/source';
import type { PlotData, TimeRange } from '../plots/types';
import type { Phases } from './phases';
import type { Playback } from './playback';

export function plotData(
  source: Source,
  scene: Scene,
  playback: Playback,
  phases: Phases,
  zoomed: (range: TimeRange | null) => void,
): PlotData {
  return {
    title: scene.title,
    signals: scene.signals,
    curves: (key, signals, t0, t1, columns) => source.curves(key, signals, t0, t1, columns),
    samples: (signals, t0, t1) => source.samples(signals, t0, t1),
    whole: () => {
      const { first, last } = playback;
      return [first, last > first ? last : first + 1];
    },
    seek: (t) => playback.seek(t, true),
    zoomed,
    phases: () => phases.bands,
    phaseColour: phases.colour,
  };
}

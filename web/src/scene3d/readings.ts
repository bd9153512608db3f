// What the captions of the 3-D view say: scales of what is drawn, and the smallest distance.
import { sceneColours } from '../shared/colours';
import { roundDown } from '../shared/numbers';
import { theme } from '../shared/theme';
import { type Caption, distanceText, type ScaleBar } from './captions';
import { shortestLine } from './nearest';
import type { Overlays } from './overlays';
import type { Layers } from './types';

/** One bar for each kind of arrow in view, and one for the grid. */
export function scaleBars(overlays: Overlays, layers: Layers): ScaleBar[] {
  const { contacts, momentum, grid } = overlays;
  const colours = sceneColours[theme()];
  const bars: ScaleBar[] = [];
  const add = (colour: string, length: number, value: number, unit: string) =>
    bars.push({ colour, length, value, unit });
  if (layers.contacts && contacts.count && contacts.reference) {
    const force = roundDown(contacts.reference);
    add(colours.force, force * contacts.metresPerNewton, force, 'N');
  }
  if (layers.momentum) {
    const [linear, angular] = momentum.references;
    if (linear) add(colours.momentum, momentum.referenceLength, linear, 'N s');
    if (angular) add(colours.angular, momentum.referenceLength, angular, 'N m s');
  }
  if (layers.grid && grid.isVisible) add(colours.gridStrong, grid.step, grid.step, 'm');
  return bars;
}

export function distanceCaption(lines: Float32Array): Caption | null {
  const shortest = shortestLine(lines);
  return shortest && { at: shortest.middle, text: distanceText(shortest.distance) };
}

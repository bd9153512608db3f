// Which plots are shown first, depending on the signals of the run.
import type { Signal } from '../data/protocol';

const MOST_PANELS = 5;
const MOST_SIGNALS = 6;

export function defaultPanels(signals: Signal[]): number[][] {
  const find = (pattern: RegExp): number[] => {
    const found = signals.map((_, i) => i).filter((i) => pattern.test(signals[i].name));
    return found.slice(0, MOST_SIGNALS);
  };
  const pressures = find(/^contact\..*\.pressure$/);
  const internalForces = find(/^object\.(?!.*error)/);
  const joints = find(/^q\.(?!.*\.(x|y|z|qw|qx|qy|qz)$)/);
  const panels = [
    [...pressures, ...internalForces].slice(0, MOST_SIGNALS),
    find(/^object\..*error/),
    joints.length ? joints : find(/^q\..*\.(x|y|z)$/),
    find(/^tau\./),
    find(/^energy\./),
    find(/^(constraint|loop)/),
    find(/^momentum\./),
  ].filter((panel) => panel.length);
  if (panels.length) return panels.slice(0, MOST_PANELS);
  return signals.length ? [signals.slice(0, 4).map((_, i) => i)] : [];
}

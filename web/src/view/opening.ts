// The moment at which a record is opened: one that shows something.
import type { Scene } from '../data/protocol';
import type { Source } from '../data/source';
import type { Playback } from './playback';

const MOST_SIGNALS = 8;
const COLUMNS = 400;
/** ms: if finding the moment takes longer, another one is shown meanwhile. */
const PATIENCE = 700;

/** Signals that count the points of contact. */
function contactCounts(scene: Scene): number[] {
  const all = scene.signals.map((_, i) => i);
  const counts = all.filter((i) => /^contact\..*\.points$/.test(scene.signals[i].name));
  return counts.slice(0, MOST_SIGNALS);
}

/** Begin and end of the longest run of values near the largest one; null if all are 0. */
function longestPlateau(values: number[]): [number, number] | null {
  const largest = values.reduce((a, b) => Math.max(a, b), 0);
  if (!(largest > 0)) return null;
  let best: [number, number] = [0, 0];
  let start = 0;
  values.forEach((value, k) => {
    if (value < 0.99 * largest) start = k + 1;
    else if (k + 1 - start > best[1] - best[0]) best = [start, k + 1];
  });
  return best;
}

/** The middle of the longest stretch with the most contacts; null if there are none. */
async function tellingMoment(
  source: Source,
  counts: number[],
  first: number,
  last: number,
): Promise<number | null> {
  if (!counts.length || !(last > first)) return null;
  const curves = await source.curves('start', counts, first, last, COLUMNS);
  if (!curves?.x.length) return null;
  const sums = Array.from(curves.x, (_, k) =>
    curves.lo.reduce((sum, values) => sum + (values[k] || 0), 0),
  );
  const plateau = longestPlateau(sums);
  return plateau && curves.x[Math.floor((plateau[0] + plateau[1]) / 2)];
}

/** Opens a record, unless the user was faster; found: called before the moment is shown. */
export async function openRecord(
  source: Source,
  scene: Scene,
  playback: Playback,
  found: () => void,
): Promise<void> {
  const { first, last } = playback;
  const usual = first + 0.35 * (last - first);
  const counts = contactCounts(scene);
  const seekUsual = () => {
    if (!playback.isTouched) playback.seek(usual);
  };
  let timer = 0;
  if (counts.length) timer = window.setTimeout(seekUsual, PATIENCE);
  else seekUsual();
  const moment = await tellingMoment(source, counts, first, last);
  window.clearTimeout(timer);
  if (playback.isTouched) return;
  found();
  playback.seek(source.stepTime(moment ?? usual, 0));
}

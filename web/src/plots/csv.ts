// The values of a plot as comma-separated text.
import type { Samples } from '../data/protocol';
import type { Curves } from '../data/source';
import type { PlotData, TimeRange } from './types';

const field = (x: string) => (/[",\n\r]/.test(x) ? `"${x.replace(/"/g, '""')}"` : x);
const number = (x: number) => (Number.isFinite(x) ? String(x) : 'nan');

function heading(data: PlotData, signal: number, ending = ''): string {
  const { name, unit } = data.signals[signal];
  return field(`${name}${ending}${unit ? ` [${unit}]` : ''}`);
}

function linesOfSamples(data: PlotData, signals: number[], samples: Samples): string[] {
  const lines = [['t [s]', ...signals.map((s) => heading(data, s))].join()];
  samples.times.forEach((t, k) => {
    const values = signals.map((_, i) => samples.values[k * signals.length + i]);
    lines.push([t, ...values].map(number).join());
  });
  return lines;
}

function linesOfCurves(
  data: PlotData,
  signals: number[],
  curves: Curves,
  [t0, t1]: TimeRange,
): string[] {
  const headings = signals.flatMap((s) => [heading(data, s, ' min'), heading(data, s, ' max')]);
  const lines = [['t [s]', ...headings].join()];
  curves.x.forEach((t, k) => {
    if (t < t0 || t > t1) return;
    const values = signals.flatMap((_, i) => [curves.lo[i][k], curves.hi[i][k]]);
    lines.push([t, ...values].map(number).join());
  });
  return lines;
}

/** All samples where they can be had, otherwise the smallest and largest values shown. */
export async function csvOf(
  data: PlotData,
  signals: number[],
  range: TimeRange,
  shown: Curves | null,
): Promise<string | null> {
  const samples = await data.samples(signals, range[0], range[1]);
  const isWhole = samples && !samples.more && samples.times.length > 0;
  if (isWhole) return `${linesOfSamples(data, signals, samples).join('\n')}\n`;
  if (shown) return `${linesOfCurves(data, signals, shown, range).join('\n')}\n`;
  return null;
}

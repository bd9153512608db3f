// The options of a uPlot chart: one scale per unit, axes for the first two units, and for each
// signal two lines (smallest and largest value) with a band between them.
import type uPlot from 'uplot';
import type { Signal } from '../data/protocol';
import type { Curves } from '../data/source';
import { css, paletteColour } from '../shared/theme';
import type { TimeRange } from './types';

export const PLOT_HEIGHT = 158;
const FONT = '11px system-ui, sans-serif';
/** After so many signals the colours start again; from there on lines are dashed. */
const COLOURS = 8;
const MOST_SCALES = 8;

/** A margin above and below the values. */
function paddedRange(min: number, max: number): uPlot.Range.MinMax {
  if (!(min <= max)) return [-1, 1];
  const pad = max > min ? 0.08 * (max - min) : Math.abs(min) * 0.1 || 1;
  return [min - pad, max + pad];
}

function tickText(value: number | null): string {
  if (value === null) return '';
  const size = Math.abs(value);
  if (size >= 1e5 || (size !== 0 && size < 1e-3)) return value.toExponential(1);
  return String(+value.toPrecision(6));
}

function makeScales(units: string[], shown: () => TimeRange): uPlot.Scales {
  const scales: uPlot.Scales = { x: { time: false, auto: false, range: () => shown() } };
  units.forEach((_, i) => {
    scales[`y${i}`] = { range: (_u, min, max) => paddedRange(min, max) };
  });
  return scales;
}

function makeAxes(units: string[]): uPlot.Axis[] {
  const grid = { stroke: css('--grid'), width: 1 };
  const common = { stroke: css('--muted'), ticks: { ...grid, size: 4 }, font: FONT, gap: 3 };
  const axes: uPlot.Axis[] = [{ ...common, grid, size: 24, space: 60 }];
  units.slice(0, 2).forEach((unit, i) => {
    axes.push({
      ...common,
      scale: `y${i}`,
      side: i ? 1 : 3, // left, then right
      grid: i ? { show: false } : grid,
      size: 52,
      space: 26,
      label: unit || undefined,
      labelSize: unit ? 14 : 0,
      labelFont: FONT,
      labelGap: 0,
      values: (_u, splits) => splits.map(tickText),
    });
  });
  return axes;
}

function makeSeries(curves: Curves, scaleOf: (signal: number) => string): uPlot.Series[] {
  const series: uPlot.Series[] = [{}];
  curves.signals.forEach((signal, i) => {
    for (const end of ['lo', 'hi'])
      series.push({
        label: `${signal} ${end}`,
        scale: scaleOf(signal),
        stroke: paletteColour(i),
        width: 1.5,
        dash: i >= COLOURS ? [6, 4] : undefined,
        points: { show: false },
        spanGaps: false,
      });
  });
  return series;
}

export function plotOptions(
  curves: Curves,
  signals: Signal[],
  width: number,
  shown: () => TimeRange,
  drawBackground: (u: uPlot) => void,
): uPlot.Options {
  const unitOf = (signal: number) => signals[signal]?.unit ?? '';
  const units = [...new Set(curves.signals.map(unitOf))];
  const scaleOf = (s: number) => `y${Math.min(units.indexOf(unitOf(s)), MOST_SCALES - 1)}`;
  return {
    width,
    height: PLOT_HEIGHT,
    scales: makeScales(units, shown),
    axes: makeAxes(units),
    series: makeSeries(curves, scaleOf),
    bands: curves.signals.map((_, i) => ({
      series: [2 * i + 2, 2 * i + 1],
      fill: `${paletteColour(i)}44`,
    })),
    legend: { show: false },
    cursor: { show: false },
    padding: [8, units.length > 1 ? 0 : 10, 0, 0],
    hooks: { drawClear: [drawBackground] },
  };
}

/** Curves as uPlot wants them: null where there is no value. */
export function plotColumns(curves: Curves): uPlot.AlignedData {
  const nulls = (values: ArrayLike<number>) =>
    Array.from(values, (y) => (Number.isFinite(y) ? y : null));
  const columns = curves.signals.flatMap((_, i) => {
    const lo = nulls(curves.lo[i]);
    return [lo, curves.exact ? lo : nulls(curves.hi[i])];
  });
  return [Array.from(curves.x), ...columns] as uPlot.AlignedData;
}

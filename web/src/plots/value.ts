// The value of a signal at the cursor, as text.
import { pretty } from '../shared/numbers';

/** Smallest and largest values closer than this share of them are shown as one. */
const CLOSE = 2e-3;

/** A number without zeros at its end. */
const short = (x: number): string =>
  pretty(Number(x.toPrecision(3)))
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '');

export function valueAt(lo: number, hi: number): { text: string; title: string } {
  if (Number.isNaN(lo)) return { text: '–', title: '' };
  const isOne = lo === hi || Math.abs(hi - lo) < CLOSE * Math.max(Math.abs(lo), Math.abs(hi));
  if (isOne) return { text: pretty(lo), title: '' };
  return {
    text: `≈ ${short((lo + hi) / 2)}`,
    title: `between ${pretty(lo)} and ${pretty(hi)} here`,
  };
}

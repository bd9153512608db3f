// A vector as bars around a common zero; the rows stay, only numbers change.
import { el, setText } from '../shared/dom';
import { pretty } from '../shared/numbers';
import type { Component } from './components';

/** Values below this share of the largest one are rounding errors. */
export const ROUNDING = 1e-13;

export class Bars {
  readonly host = el('div', { class: 'bars' });
  private readonly rows: { bar: HTMLElement; out: HTMLElement }[] = [];
  private scale = 0;

  constructor(names: Component[]) {
    let current = '';
    for (const { group, name } of names) {
      if (group !== current && group) this.host.append(el('div', { class: 'bargroup' }, group));
      current = group;
      const bar = el('i');
      const out = el('output', {});
      const title = group ? `${group} ${name}` : name;
      this.host.append(
        el('span', { class: 'barname', title }, name),
        el('span', { class: 'bar' }, bar),
        out,
      );
      this.rows.push({ bar, out });
    }
  }

  set(values: Float64Array): void {
    const largest = values.reduce((a, x) => Math.max(a, Math.abs(x)), 0);
    // the scale is kept while it fits, so that not all bars change with the largest one
    if (largest > this.scale || largest < 0.2 * this.scale) this.scale = largest;
    this.rows.forEach(({ bar, out }, i) => {
      const value = values[i];
      const share = this.scale > 0 ? Math.min(1, Math.abs(value) / this.scale) : 0;
      bar.style.width = `${(50 * share).toFixed(2)}%`;
      bar.style.left = value < 0 ? `${(50 - 50 * share).toFixed(2)}%` : '50%';
      bar.className = value < 0 ? 'minus' : '';
      const isZero = Math.abs(value) < ROUNDING * Math.max(1, largest);
      setText(out, isZero ? '0' : pretty(value));
    });
  }

  draw(): void {} // colours come from the style sheet
}

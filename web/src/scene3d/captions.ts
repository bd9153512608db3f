// Texts over the 3-D view: scales of arrows and grid, the smallest distance, and the name of the
// chosen body.
import type { Camera, Vector3 } from 'three';
import { el, setText } from '../shared/dom';
import { pretty, roundDown } from '../shared/numbers';

/** Pixels: a scale bar is made longer or shorter by round steps until it has such a length. */
const SHORTEST = 24;
const LONGEST = 150;

/** A length in the view (m) and the value that is drawn so long. */
export interface ScaleBar {
  colour: string;
  length: number;
  value: number;
  unit: string;
}

export interface Caption {
  at: Vector3;
  text: string;
}

/** The same bar with a value whose length can be read; null if there is none. */
function readable(bar: ScaleBar, pixelsPerMetre: number): { pixels: number; value: number } | null {
  let { value } = bar;
  let pixels = bar.length * pixelsPerMetre;
  for (let k = 0; k < 40 && pixels > LONGEST; ++k) {
    const less = roundDown(0.99 * value);
    pixels *= less / value;
    value = less;
  }
  for (let k = 0; k < 40 && pixels > 0 && pixels < SHORTEST; ++k) {
    pixels *= 10;
    value *= 10;
  }
  return pixels > 2 && pixels < 400 ? { pixels, value } : null;
}

export const distanceText = (metres: number): string =>
  Math.abs(metres) < 0.1 ? `${pretty(metres * 1000)} mm` : `${pretty(metres)} m`;

export class Captions {
  private readonly legend = el('div', { class: 'legend3' });
  private readonly distance = el('div', { class: 'label3' });
  private readonly name = el('div', { class: 'label3 name3' });
  private legendHtml = '';

  constructor(host: HTMLElement) {
    host.append(this.legend, this.distance, this.name);
  }

  setScales(bars: ScaleBar[], pixelsPerMetre: number): void {
    const rows = bars.map((bar) => {
      const shown = readable(bar, pixelsPerMetre);
      if (!shown) return '';
      const line = `<i style="width:${Math.round(shown.pixels)}px;background:${bar.colour}"></i>`;
      return `<span>${line}${+shown.value.toPrecision(2)} ${bar.unit}</span>`;
    });
    const html = rows.join('');
    if (this.legendHtml === html) return;
    this.legendHtml = html;
    this.legend.innerHTML = html;
  }

  setDistance(caption: Caption | null, camera: Camera, size: [number, number]): void {
    place(this.distance, caption, camera, size);
  }
  setName(caption: Caption | null, camera: Camera, size: [number, number]): void {
    place(this.name, caption, camera, size);
  }

  dispose(): void {
    for (const element of [this.legend, this.distance, this.name]) element.remove();
  }
}

/** Puts a text where a point is in the picture; size: of the view, in pixels. */
function place(
  element: HTMLElement,
  caption: Caption | null,
  camera: Camera,
  [width, height]: [number, number],
): void {
  if (!caption) {
    element.hidden = true;
    return;
  }
  const s = caption.at.clone().project(camera);
  const isOutside = !(Math.abs(s.x) < 1 && Math.abs(s.y) < 1 && s.z < 1);
  if (element.hidden !== isOutside) element.hidden = isOutside;
  setText(element, caption.text);
  const x = Math.round(((s.x + 1) / 2) * width);
  const y = Math.round(((1 - s.y) / 2) * height);
  element.style.transform = `translate(${x}px, ${y}px)`;
}

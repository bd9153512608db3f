// A plot as a picture: its canvas with the names of its signals above.
import type { Signal } from '../data/protocol';
import { el } from '../shared/dom';
import { css, paletteColour } from '../shared/theme';

/** from: the canvas of the plot; scale: its pixels per CSS pixel. */
export function plotPicture(
  from: HTMLCanvasElement,
  scale: number,
  signals: Signal[],
): Promise<Blob | null> {
  const head = Math.round((18 * Math.max(1, signals.length) + 10) * scale);
  const canvas = el('canvas', { width: from.width, height: from.height + head });
  const pen = canvas.getContext('2d')!;
  pen.fillStyle = css('--panel');
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.font = `${12 * scale}px system-ui, sans-serif`;
  pen.textBaseline = 'middle';
  signals.forEach((signal, i) => {
    const y = (14 + 18 * i) * scale;
    const unit = signal.unit ? ` [${signal.unit}]` : '';
    pen.fillStyle = paletteColour(i);
    pen.fillRect(12 * scale, y - 2 * scale, 18 * scale, 4 * scale);
    pen.fillStyle = css('--text');
    pen.fillText(`${signal.name}${unit}`, 36 * scale, y);
  });
  pen.drawImage(from, 0, head);
  return new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
}

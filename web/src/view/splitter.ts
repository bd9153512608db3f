// The bar between the 3-D view and the lists: dragged, or moved by arrow keys.
import { byId } from '../shared/dom';
import { clamp } from '../shared/numbers';

/** Pixels. */
const NARROWEST_SIDE = 260;
const NARROWEST_VIEW = 320;
const KEY_STEP = 24;

export function listenToSplitter(): void {
  const bar = byId('splitter');
  const work = document.querySelector<HTMLElement>('.work')!;
  const side = document.querySelector<HTMLElement>('.side')!;
  const setWidth = (pixels: number) => {
    const widest = Math.max(NARROWEST_SIDE, work.clientWidth - NARROWEST_VIEW);
    const width = Math.round(clamp(pixels, NARROWEST_SIDE, widest));
    work.style.setProperty('--side', `${width}px`);
  };
  let isDragged = false;
  bar.addEventListener('pointerdown', (e) => {
    isDragged = true;
    bar.setPointerCapture(e.pointerId);
  });
  bar.addEventListener('pointermove', (e) => {
    if (isDragged) setWidth(work.getBoundingClientRect().right - e.clientX - 3);
  });
  bar.addEventListener('pointerup', () => {
    isDragged = false;
  });
  const keySteps: Record<string, number> = { ArrowLeft: KEY_STEP, ArrowRight: -KEY_STEP };
  bar.addEventListener('keydown', (e) => {
    const by = keySteps[e.key];
    if (!by) return;
    e.preventDefault();
    e.stopPropagation();
    setWidth(side.clientWidth + by);
  });
}

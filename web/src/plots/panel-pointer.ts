// The pointer in a plot: a click or drag moves the time; Shift and drag, or Ctrl and wheel, zooms.
import { clamp } from '../shared/numbers';
import type { PanelOwner } from './types';

interface Chart {
  /** The time at a position, in pixels from the left. */
  timeAt(x: number): number;
  /** Marks a stretch while it is chosen; no width: nothing. */
  mark(left: number, width: number, height: number): void;
}

/** Pixels: a shorter drag does not zoom. */
const SHORTEST_ZOOM = 4;

export function listenToPointer(over: HTMLElement, owner: PanelOwner, chart: Chart): void {
  let from: { t: number; x: number; zooms: boolean } | null = null;
  const position = (e: MouseEvent) => {
    const box = over.getBoundingClientRect();
    const x = clamp(e.clientX - box.left, 0, box.width);
    return { x, t: chart.timeAt(x) };
  };
  const end = (e: PointerEvent) => {
    if (from?.zooms) {
      const { x, t } = position(e);
      chart.mark(0, 0, 0);
      const isLong = Math.abs(x - from.x) > SHORTEST_ZOOM;
      if (e.type === 'pointerup' && isLong)
        owner.setRange([Math.min(t, from.t), Math.max(t, from.t)]);
    }
    from = null;
  };
  over.addEventListener('pointerdown', (e) => {
    if (e.button !== 0) return;
    over.setPointerCapture(e.pointerId);
    from = { ...position(e), zooms: e.shiftKey || owner.zoomTool };
    if (!from.zooms) owner.data.seek(from.t);
  });
  over.addEventListener('pointermove', (e) => {
    if (!from) return;
    const { x, t } = position(e);
    if (from.zooms) chart.mark(Math.min(x, from.x), Math.abs(x - from.x), over.clientHeight);
    else owner.data.seek(t);
  });
  over.addEventListener('pointerup', end);
  over.addEventListener('pointercancel', end);
  over.addEventListener('dblclick', () => owner.setRange(null));
  const turnWheel = (e: WheelEvent) => {
    if (!e.ctrlKey && !e.metaKey) return; // a plain wheel scrolls the list
    e.preventDefault();
    owner.zoomBy(Math.exp(clamp(e.deltaY * 0.004, -1, 1)), position(e).t);
  };
  over.addEventListener('wheel', turnWheel, { passive: false });
}

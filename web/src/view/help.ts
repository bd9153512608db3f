// The help: keys and mouse.
import { el, showDialog } from '../shared/dom';

type KeyHelp = [keys: string, what: string];

const LIVE_KEYS: KeyHelp[] = [
  ['Space', 'run or pause'],
  ['← →', 'back into the record, one step forward'],
  ['Shift ← →', 'one second'],
  ['Page ↑ ↓', 'previous or next event'],
  ['Home End', 'to the beginning, to the newest'],
  ['L', 'follow the live run'],
  ['R', 'begin again'],
];
const RECORD_KEYS: KeyHelp[] = [
  ['Space', 'play or pause'],
  ['← →', 'one frame back or forward'],
  ['Shift ← →', 'one second'],
  ['Page ↑ ↓', 'previous or next event'],
  ['Home End', 'to the beginning or end'],
];
const COMMON_KEYS: KeyHelp[] = [
  ['1 2 3 4 5', 'camera: iso, front, side, top, fit'],
  ['+ − 0', 'zoom the plots, show the whole time'],
  ['T', 'dark or light'],
  ['Esc', 'choose nothing'],
  ['?', 'this help'],
];

const LIVE_MOUSE = 'drag a body to pull it, drag elsewhere to turn';
const RECORD_MOUSE = 'click a body to see what it is, drag to turn';
const PLOT_MOUSE =
  'In a plot: click or drag to move the time; Shift and drag, or Ctrl and wheel, to zoom; ' +
  'double click to show the whole time.';

function keyRow([keys, what]: KeyHelp): HTMLElement[] {
  const caps = keys.split(' ').flatMap((key) => [el('kbd', {}, key), ' ']);
  return [el('span', {}, ...caps), el('span', {}, what)];
}

export function showHelp(live: boolean): void {
  const keys = [...(live ? LIVE_KEYS : RECORD_KEYS), ...COMMON_KEYS];
  const view = `In the 3-D view: ${live ? LIVE_MOUSE : RECORD_MOUSE}, wheel to zoom, right drag to move. `;
  const close = el('button', { type: 'submit', class: 'primary' }, 'Close');
  showDialog(
    el(
      'dialog',
      { 'aria-label': 'help' },
      el('form', { method: 'dialog', class: 'dialoghead' }, el('h2', {}, 'Keys and mouse'), close),
      el('div', { class: 'keys' }, ...keys.flatMap(keyRow)),
      el('p', {}, view, PLOT_MOUSE),
    ),
  );
}

// Keys of the playground, and its help.
import { type Preset, presets } from '../scene3d/types';
import { el, showDialog } from '../shared/dom';
import { iconButton } from '../shared/icons';
import { toggleTheme } from '../shared/theme';

export interface KeyHooks {
  toggle(): void;
  reset(): void;
  writeExpression(): void;
  preset(name: Preset): void;
}

const TYPING = 'textarea, input:not([type=range]):not([type=checkbox]), select';

export function listenToKeys(hooks: KeyHooks): void {
  const commands: Record<string, () => void> = {
    ' ': () => hooks.toggle(),
    r: () => hooks.reset(),
    t: toggleTheme,
    '?': showHelp,
    e: () => hooks.writeExpression(),
  };
  presets.forEach((preset, i) => {
    commands[String(i + 1)] = () => hooks.preset(preset);
  });
  document.addEventListener('keydown', (e) => {
    const target = e.target as HTMLElement;
    const command = commands[e.key];
    const isBusy = target.matches(TYPING) || document.querySelector('dialog[open]') !== null;
    if (!command || isBusy || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === ' ' && target.matches('button, summary, input')) return;
    command();
    e.preventDefault();
  });
}

const keys: [key: string, what: string][] = [
  ['space', 'let go, pause'],
  ['r', 'reset'],
  ['e', 'write an expression'],
  ['1 … 5', 'views'],
  ['t', 'dark or light'],
  ['?', 'this help'],
];
const ABOUT =
  'Spatial operators, run in this page by libsoa compiled to WebAssembly; nothing is sent ' +
  'anywhere. Drag a body to pull it, drag the background to turn the view, let the machine go, ' +
  'and write an expression: you see its recursions, its values at the present state, and how ' +
  'much they differ from plain matrix arithmetic.';
const MACHINES =
  'The machines are ideal: no friction, springs or rotors, and only the sliders keep to the ' +
  'limits of joints. Open a saved model of your own with Open… or drop its file here; make one ' +
  'with ';

export function showHelp(): void {
  const close = iconButton('close', 'close', () => dialog.close());
  const command = el('code', {}, 'soa save robot.urdf -o robot.soam');
  const dialog = el(
    'dialog',
    { 'aria-label': 'help' },
    el('div', { class: 'dialoghead' }, el('h2', {}, 'Playground'), close),
    el('p', {}, ABOUT),
    el('p', {}, MACHINES, command, '.'),
    el(
      'div',
      { class: 'keys' },
      ...keys.flatMap(([key, what]) => [el('kbd', {}, key), el('span', {}, what)]),
    ),
  );
  showDialog(dialog);
}

// The controls around the playground's panels: machine, file, buttons, camera, layers.
import models from 'soa-core/models.json';
import { type Layer, type Preset, presets } from '../scene3d/types';
import { byId, el } from '../shared/dom';
import { icon, setIcon } from '../shared/icons';
import { toggleTheme } from '../shared/theme';

export interface ControlHooks {
  pick(spec: string): void;
  /** Opens a model from a file; false if it is damaged. */
  openFile(bytes: Uint8Array, name: string): boolean;
  help(): void;
  toggle(): void;
  reset(): void;
  setGravity(): void;
  preset(name: Preset): void;
  setLayer(layer: Layer, on: boolean): void;
}

/** Value of the entry for the user's own file. */
const OWN = 'own';

const losses: [rate: string, name: string][] = [
  ['0', 'none'],
  ['0.1', 'small'],
  ['0.5', 'some'],
  ['3', 'large'],
];
const layers: [layer: Layer, name: string][] = [
  ['axes', 'joint axes'],
  ['bodyframes', 'frames of bodies'],
  ['com', 'centre of mass'],
  ['momentum', 'momentum'],
  ['grid', 'ground grid'],
];

function addMachines(hooks: ControlHooks): void {
  const machine = byId<HTMLSelectElement>('machine');
  const file = byId<HTMLInputElement>('file');
  let openAgain = () => {};
  for (const m of models) machine.append(el('option', { value: m.spec, title: m.text }, m.name));
  machine.addEventListener('change', () => {
    if (machine.value === OWN) {
      openAgain();
      return;
    }
    history.replaceState(null, '', `#${encodeURIComponent(machine.value)}`);
    hooks.pick(machine.value);
  });
  const take = async (chosen: File | undefined) => {
    if (!chosen) return;
    const bytes = new Uint8Array(await chosen.arrayBuffer());
    if (!hooks.openFile(bytes, chosen.name)) return;
    machine.querySelector(`[value=${OWN}]`)?.remove();
    machine.append(el('option', { value: OWN }, chosen.name));
    machine.value = OWN;
    openAgain = () => hooks.openFile(bytes, chosen.name);
  };
  byId('open').title = 'a model saved by: soa save robot.urdf -o robot.soam';
  byId('open').addEventListener('click', () => file.click());
  file.addEventListener('change', async () => {
    await take(file.files?.[0]);
    file.value = ''; // the same file may be chosen again
  });
  document.addEventListener('dragover', (e) => e.preventDefault());
  document.addEventListener('drop', (e) => {
    e.preventDefault();
    void take(e.dataTransfer?.files[0]);
  });
}

function addButtons(hooks: ControlHooks): void {
  setIcon(byId('theme'), 'theme', 'dark or light (t)');
  setIcon(byId('help'), 'help', 'help (?)');
  byId('reset').append(icon('reset'), 'Reset');
  byId('reset').title = 'r';
  byId('theme').addEventListener('click', toggleTheme);
  byId('help').addEventListener('click', () => hooks.help());
  byId('swing').addEventListener('click', () => hooks.toggle());
  byId('reset').addEventListener('click', () => hooks.reset());
  byId('gravity').addEventListener('change', () => hooks.setGravity());
  const select = byId<HTMLSelectElement>('losses');
  for (const [value, name] of losses) select.append(el('option', { value }, name));
  select.value = '0.1';
  select.title = 'all speeds decay at this rate';
}

function addViewTools(hooks: ControlHooks): void {
  presets.forEach((preset, k) => {
    const text = preset[0].toUpperCase() + preset.slice(1);
    const click = () => hooks.preset(preset);
    const button = el('button', { type: 'button', title: String(k + 1), click }, text);
    byId('presets').append(button);
  });
  const list = byId('layers').querySelector('.popbody')!;
  for (const [layer, name] of layers) {
    const change = () => hooks.setLayer(layer, box.checked);
    const box = el('input', { type: 'checkbox', change });
    box.checked = layer === 'grid';
    list.append(el('label', {}, box, name));
  }
}

export function addControls(hooks: ControlHooks): void {
  addMachines(hooks);
  addButtons(hooks);
  addViewTools(hooks);
}

/** Labels the button that lets the machine go. */
export function showRunning(isRunning: boolean): void {
  const button = byId('swing');
  button.replaceChildren(icon(isRunning ? 'pause' : 'play'), isRunning ? 'Pause' : 'Let go');
  button.setAttribute('aria-pressed', String(isRunning));
  button.title = 'space';
}

// The tools over the 3-D view: layers, camera views, following a body, saving the picture.
import type { Scene } from '../data/protocol';
import { sceneColours } from '../shared/colours';
import { byId, el, fileName, save } from '../shared/dom';
import { setIcon } from '../shared/icons';
import { theme } from '../shared/theme';
import { Scene3D } from '../scene3d/scene3d';
import { type Hooks, type Layer, type Preset, presets } from '../scene3d/types';

interface LayerEntry {
  layer: Layer;
  name: string;
  colour?: string;
}

const NO_WEBGL =
  'This browser offers no WebGL, so there is no 3-D view. Time line, plots and lists work without it.';
const NO_BODIES = 'The bodies of this run are not known: plots only.';

function layerEntries(scene: Scene): LayerEntry[] {
  const colours = sceneColours[theme()];
  const all: (LayerEntry | false)[] = [
    { layer: 'links', name: 'links' },
    { layer: 'skeleton', name: 'skeletons of all bodies' },
    scene.shapes.some((s) => s.role === 'visual') && {
      layer: 'collision',
      name: 'contact shapes',
    },
    scene.frames.length > 0 && { layer: 'frames', name: 'frames' },
    { layer: 'bodyframes', name: 'frames of bodies' },
    { layer: 'axes', name: 'joint axes', colour: colours.joint },
    { layer: 'contacts', name: 'contacts and forces', colour: colours.force },
    { layer: 'nearest', name: 'nearest points', colour: colours.nearest },
    { layer: 'com', name: 'centre of mass', colour: colours.com },
    { layer: 'momentum', name: 'momentum', colour: colours.momentum },
    { layer: 'trails', name: 'trails' },
    { layer: 'grid', name: 'grid' },
  ];
  return all.filter((entry) => entry !== false);
}

function addLayers(scene: Scene, view: Scene3D): void {
  const list = byId('layers').querySelector('.popbody');
  for (const { layer, name, colour } of layerEntries(scene)) {
    const box = el('input', {
      type: 'checkbox',
      'data-layer': layer,
      change: () => view.setLayer(layer, box.checked),
    });
    box.checked = view.layers[layer];
    const swatch = colour ? el('i', { style: `background:${colour}` }) : null;
    list?.append(el('label', {}, box, name, swatch));
  }
}

function presetTitle(preset: Preset, key: number): string {
  return preset === 'fit' ? `fit into view (${key})` : `view: ${preset} (${key})`;
}

function addPresets(view: Scene3D): void {
  presets.forEach((preset, i) => {
    const text = preset[0].toUpperCase() + preset.slice(1);
    const title = presetTitle(preset, i + 1);
    const click = () => view.preset(preset);
    byId('presets').append(el('button', { type: 'button', title, click }, text));
  });
}

function addFollow(scene: Scene, view: Scene3D): void {
  const follow = byId<HTMLSelectElement>('follow');
  follow.add(new Option('nothing', ''));
  scene.bodies.slice(1).forEach((b, i) => follow.add(new Option(b.name, String(i + 1))));
  follow.addEventListener('change', () => view.follow(follow.value ? Number(follow.value) : null));
}

function addPicture(scene: Scene, view: Scene3D, time: () => number): void {
  setIcon(byId('picture'), 'camera', 'save the picture as PNG');
  byId('picture').addEventListener('click', async () => {
    const blob = await view.picture();
    if (blob) save(blob, `${fileName(scene.title)}-${time().toFixed(3)}s.png`);
  });
}

function makeView(host: HTMLElement, scene: Scene, hooks: Omit<Hooks, 'layer'>): Scene3D | null {
  const explain = (text: string) => host.append(el('div', { class: 'nogl' }, el('p', {}, text)));
  if (!scene.bodies.length) {
    explain(scene.text || NO_BODIES);
    return null;
  }
  try {
    return new Scene3D(host, scene, {
      ...hooks,
      layer: (layer, on) => {
        const box = document.querySelector<HTMLInputElement>(`#layers input[data-layer=${layer}]`);
        if (box) box.checked = on;
      },
    });
  } catch {
    explain(NO_WEBGL);
    return null;
  }
}

/** The 3-D view with its tools; null if there is nothing to show, or no WebGL. */
export function openView(
  scene: Scene,
  hooks: Omit<Hooks, 'layer'>,
  time: () => number,
): Scene3D | null {
  const host = byId('view3');
  const view = makeView(host, scene, hooks);
  if (view) {
    addLayers(scene, view);
    addPresets(view);
    addFollow(scene, view);
    addPicture(scene, view, time);
    return view;
  }
  const tools = host.querySelector<HTMLElement>('.tools3');
  if (tools) tools.hidden = true;
  return null;
}

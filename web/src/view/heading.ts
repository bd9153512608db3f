// The head of the page: title, kind of run, text; and the two buttons beside them.
import type { Scene } from '../data/protocol';
import { byId } from '../shared/dom';
import { setIcon } from '../shared/icons';
import { toggleTheme } from '../shared/theme';

function kindOfRun(scene: Scene, served: boolean): string {
  if (!served) return 'report';
  if (!scene.live) return 'replay';
  return scene.source === 'model' ? 'live model' : 'live run';
}

export function showHeading(scene: Scene, served: boolean): void {
  document.title = `${scene.title} – soa`;
  byId('title').textContent = scene.title;
  byId('title').title = scene.text;
  byId('text').textContent = scene.text;
  byId('text').title = scene.text;
  byId('kind').textContent = kindOfRun(scene, served);
  setIcon(byId('theme'), 'theme', 'dark or light (T)');
  setIcon(byId('help'), 'help', 'help (?)');
  byId('theme').addEventListener('click', toggleTheme);
}

// Icons as SVG paths in a square of 24 by 24.
import { el } from './dom';

const paths: Record<string, string> = {
  play: 'M7 4.5v15l12-7.5z',
  pause: 'M6 5h4v14H6zM14 5h4v14h-4z',
  next: 'M6 5l8 7-8 7zM15.5 5H18v14h-2.5z',
  back: 'M18 5l-8 7 8 7zM6 5h2.5v14H6z',
  first: 'M20 5l-7 7 7 7zM13 5l-7 7 7 7zM4 5h2v14H4z',
  last: 'M4 5l7 7-7 7zM11 5l7 7-7 7zM18 5h2v14h-2z',
  reset: 'M12 5V1.5L6.5 6.5 12 11.5V8a5 5 0 1 1-5 5H4a8 8 0 1 0 8-8z',
  plus: 'M11 5h2v6h6v2h-6v6h-2v-6H5v-2h6z',
  close:
    'M6.4 5L12 10.6 17.6 5 19 6.4 13.4 12 19 17.6 17.6 19 12 13.4 6.4 19 5 17.6 10.6 12 5 6.4z',
  save: 'M11 3h2v9l3.500-3.500 1.400 1.400L12 15.800 6.100 9.900l1.400-1.400L11 12zM4 17h2v2.500h12V17h2v4.500H4z',
  theme: 'M12 3a9 9 0 1 0 0 18V3zM12 1a11 11 0 1 1 0 22 11 11 0 0 1 0-22z',
  help: 'M11 17h2v2.2h-2zM12 4.5a4.6 4.6 0 0 0-4.6 4.4h2.2A2.4 2.4 0 1 1 13.6 11c-1.4.9-2.6 1.700-2.600 4h2.100c0-1.400.7-1.900 1.900-2.700A4.500 4.500 0 0 0 12 4.500z',
  camera: 'M9 5l-1.500 2H4v12h16V7h-3.500L15 5zM12 16.500a4 4 0 1 1 0-8 4 4 0 0 1 0 8z',
  layers:
    'M12 3L2 8.500l10 5.500 10-5.500zM4.300 12L2 13.300l10 5.500 10-5.500L19.700 12 12 16.200z',
};

export function icon(name: string): SVGSVGElement {
  const namespace = 'http://www.w3.org/2000/svg';
  const picture = document.createElementNS(namespace, 'svg');
  picture.setAttribute('viewBox', '0 0 24 24');
  picture.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(namespace, 'path');
  path.setAttribute('d', paths[name] ?? '');
  picture.append(path);
  return picture;
}

/** Sets the icon and the label of a button, if they changed. */
export function setIcon(button: HTMLElement, name: string, label: string): void {
  if (button.dataset.icon === name && button.title === label) return;
  button.dataset.icon = name;
  button.replaceChildren(icon(name));
  button.title = label;
  button.setAttribute('aria-label', label);
}

export function iconButton(name: string, label: string, click: () => void): HTMLButtonElement {
  const button = el('button', { type: 'button', class: 'icon', click });
  setIcon(button, name, label);
  return button;
}

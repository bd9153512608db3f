// Dark or light: what the system prefers, until the user chooses.
import { palette, type ThemeName } from './colours';

type Listener = (name: ThemeName) => void;
const STORED_AS = 'soa-theme';
const listeners: Listener[] = [];
const prefersLight = window.matchMedia('(prefers-color-scheme: light)');
let chosen = readChoice();

function readChoice(): ThemeName | null {
  try {
    const stored = localStorage.getItem(STORED_AS);
    return stored === 'dark' || stored === 'light' ? stored : null;
  } catch {
    return null; // a page opened from disk may have no storage
  }
}

function storeChoice(name: ThemeName): void {
  try {
    localStorage.setItem(STORED_AS, name);
  } catch {
    // the choice is kept until the page is closed
  }
}

export function theme(): ThemeName {
  if (chosen) return chosen;
  return prefersLight.matches ? 'light' : 'dark';
}

export function onTheme(listener: Listener): void {
  listeners.push(listener);
}

function applyTheme(): void {
  document.documentElement.dataset.theme = theme();
  for (const listener of listeners) listener(theme());
}

export function toggleTheme(): void {
  chosen = theme() === 'dark' ? 'light' : 'dark';
  storeChoice(chosen);
  applyTheme();
}

prefersLight.addEventListener('change', applyTheme);
document.documentElement.dataset.theme = theme();

/** The value of a CSS variable, for what is drawn on a canvas. */
export const css = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The k-th colour of the palette; it starts again after the last one. */
export function paletteColour(k: number): string {
  const colours = palette[theme()];
  const n = colours.length;
  return colours[((k % n) + n) % n];
}

/** True if the user's system is set to less motion. */
export const reducedMotion = (): boolean =>
  window.matchMedia('(prefers-reduced-motion: reduce)').matches;

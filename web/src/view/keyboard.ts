// Keys of the page, and menus that close by Escape or a click elsewhere.
import { type Preset, presets } from '../scene3d/types';
import { toggleTheme } from '../shared/theme';
import type { Playback } from './playback';

export interface KeyHooks {
  select(body: number | null): void;
  toEvent(by: number): void;
  preset(name: Preset): void;
  zoomPlots(factor: number): void;
  showWholeTime(): void;
  help(): void;
}

type Command = (e: KeyboardEvent) => void;

function commands(playback: Playback, hooks: KeyHooks): Record<string, Command> {
  const move = (by: number) => (e: KeyboardEvent) => {
    if (e.shiftKey)
      playback.seek(playback.t + by, true); // one second
    else playback.step(by);
  };
  const all: Record<string, Command> = {
    ' ': () => playback.toggle(),
    ArrowLeft: move(-1),
    ArrowRight: move(1),
    PageUp: () => hooks.toEvent(-1),
    PageDown: () => hooks.toEvent(1),
    Home: () => playback.toBeginning(),
    End: () => playback.toEnd(),
    r: () => playback.reset(),
    t: toggleTheme,
    '+': () => hooks.zoomPlots(0.5),
    '=': () => hooks.zoomPlots(0.5), // + without Shift on many keyboards
    '-': () => hooks.zoomPlots(2),
    '0': () => hooks.showWholeTime(),
    '?': () => hooks.help(),
  };
  if (playback.live) all.l = () => playback.goLive();
  presets.forEach((preset, i) => {
    all[String(i + 1)] = () => hooks.preset(preset);
  });
  return all;
}

const openMenus = (): NodeListOf<HTMLDetailsElement> =>
  document.querySelectorAll<HTMLDetailsElement>('details.pop[open]');

/** Escape closes an open menu; without one, nothing is chosen any more. */
function escape(hooks: KeyHooks): void {
  const menu = openMenus()[0];
  if (!menu) {
    hooks.select(null);
    return;
  }
  menu.open = false;
  menu.querySelector('summary')?.focus();
}

/** True if a key belongs to the element that has the focus. */
function isTakenBy(element: HTMLElement, key: string): boolean {
  const isSpace = key === ' ';
  if (isSpace && element.matches('input[type=range]')) return false;
  if (element.matches('input:not([type=checkbox]), select, textarea')) return true;
  return isSpace && element.matches('button, summary, input[type=checkbox], a');
}

export function listenToKeys(playback: Playback, hooks: KeyHooks): void {
  const all = commands(playback, hooks);
  document.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector('dialog[open]')) return;
    if (e.key === 'Escape') {
      escape(hooks);
      return;
    }
    const command = all[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    if (!command || isTakenBy(e.target as HTMLElement, e.key)) return;
    e.preventDefault();
    command(e);
  });
  document.addEventListener('pointerdown', (e) => {
    for (const menu of openMenus()) if (!menu.contains(e.target as Node)) menu.open = false;
  });
}

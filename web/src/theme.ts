// Colours: Okabe & Ito's palette (told apart with any kind of colour vision), dark and light.
export type ThemeName = 'dark' | 'light';

/** Okabe & Ito, in an order in which neighbours differ in lightness too. */
export const palette: Record<ThemeName, string[]> = {
  dark: ['#56b4e9', '#e69f00', '#2fc79a', '#f0e442', '#e58bbd', '#ff7f3f', '#4d9de0', '#c7ccd4'],
  light: ['#0072b2', '#d55e00', '#009e73', '#9a7b00', '#b3568c', '#2f8fc4', '#c98200', '#4a4f57'],
};
export const partColours = ['#56b4e9', '#e69f00', '#009e73', '#cc79a7', '#f0e442', '#0072b2', '#d55e00', '#9aa0a8'];
export const axisColours = ['#d55e00', '#009e73', '#0072b2']; // x y z

export interface Colours3 {
  background: string;
  ground: string;
  grid: string;
  gridStrong: string;
  edge: string;
  force: string;
  contact: string;
  nearest: string;
  com: string;
  momentum: string;
  angular: string;
  joint: string;
  select: string;
  pull: string;
}
export const colours3: Record<ThemeName, Colours3> = {
  dark: {
    background: '#14181f', ground: '#2b323d', grid: '#313946', gridStrong: '#4a5566', edge: '#0b0d11', force: '#ff7f3f', contact: '#f0e442',
    nearest: '#e58bbd', com: '#f4f6f8', momentum: '#2fc79a', angular: '#56b4e9', joint: '#f0e442', select: '#ffffff', pull: '#f0e442',
  },
  light: {
    background: '#f3f5f8', ground: '#e3e7ed', grid: '#d5dae2', gridStrong: '#aeb6c2', edge: '#3b424d', force: '#d55e00', contact: '#7a1f00',
    nearest: '#b3568c', com: '#14181f', momentum: '#00795a', angular: '#0072b2', joint: '#9a7b00', select: '#14181f', pull: '#7a1f00',
  },
};

type Listener = (name: ThemeName) => void;
const listeners: Listener[] = [];
const stored = (): ThemeName | null => {
  try {
    const x = localStorage.getItem('soa-theme');
    return x === 'dark' || x === 'light' ? x : null;
  } catch {
    return null; // pages from disk may have no storage
  }
};
const wanted = window.matchMedia('(prefers-color-scheme: light)');
let chosen = stored();

export const theme = (): ThemeName => chosen ?? (wanted.matches ? 'light' : 'dark');
export function onTheme(listener: Listener): void {
  listeners.push(listener);
}
function apply(): void {
  document.documentElement.dataset.theme = theme();
  listeners.forEach((l) => l(theme()));
}
export function toggleTheme(): void {
  chosen = theme() === 'dark' ? 'light' : 'dark';
  try {
    localStorage.setItem('soa-theme', chosen);
  } catch {
    // then it holds until the page is closed
  }
  apply();
}
wanted.addEventListener('change', apply);
document.documentElement.dataset.theme = theme();

export const css = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export const calm = (): boolean => window.matchMedia('(prefers-reduced-motion: reduce)').matches;

/** A number for people: four digits or so. */
export function pretty(x: number): string {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? '–' : x > 0 ? '∞' : '−∞';
  const a = Math.abs(x);
  if (a === 0) return '0';
  const text = a >= 1e5 || a < 1e-3 ? x.toExponential(2) : a >= 1000 ? x.toFixed(0) : x.toPrecision(4);
  return text.replace('-', '−').replace(/e\+?(−?)(\d+)/, 'e$1$2');
}
/** 1, 2 or 5 times a power of ten, not above x. */
export function roundDown(x: number): number {
  const p = 10 ** Math.floor(Math.log10(x));
  return (x / p >= 5 ? 5 : x / p >= 2 ? 2 : 1) * p;
}

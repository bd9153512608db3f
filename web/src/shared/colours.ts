// Colours, dark and light: the palette of Okabe and Ito, which people with any kind of colour
// vision can tell apart.
export type ThemeName = 'dark' | 'light';

/** Curves and phases, in an order in which neighbours differ in lightness too. */
export const palette: Record<ThemeName, string[]> = {
  dark: ['#56b4e9', '#e69f00', '#2fc79a', '#f0e442', '#e58bbd', '#ff7f3f', '#4d9de0', '#c7ccd4'],
  light: ['#0072b2', '#d55e00', '#009e73', '#9a7b00', '#b3568c', '#2f8fc4', '#c98200', '#4a4f57'],
};

/** One colour per part of a model. */
export const partColours = [
  '#56b4e9',
  '#e69f00',
  '#009e73',
  '#cc79a7',
  '#f0e442',
  '#0072b2',
  '#d55e00',
  '#9aa0a8',
];

/** x, y, z. */
export const axisColours = ['#d55e00', '#009e73', '#0072b2'];

/** What is drawn in the 3-D view besides the bodies. */
export interface SceneColours {
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

export const sceneColours: Record<ThemeName, SceneColours> = {
  dark: {
    background: '#14181f',
    ground: '#2b323d',
    grid: '#313946',
    gridStrong: '#4a5566',
    edge: '#0b0d11',
    force: '#ff7f3f',
    contact: '#f0e442',
    nearest: '#e58bbd',
    com: '#f4f6f8',
    momentum: '#2fc79a',
    angular: '#56b4e9',
    joint: '#f0e442',
    select: '#ffffff',
    pull: '#f0e442',
  },
  light: {
    background: '#f3f5f8',
    ground: '#e3e7ed',
    grid: '#d5dae2',
    gridStrong: '#aeb6c2',
    edge: '#3b424d',
    force: '#d55e00',
    contact: '#7a1f00',
    nearest: '#b3568c',
    com: '#14181f',
    momentum: '#00795a',
    angular: '#0072b2',
    joint: '#9a7b00',
    select: '#14181f',
    pull: '#7a1f00',
  },
};

// A plan's recursions, read from the text that the planner prints.
import { el } from '../shared/dom';

export interface Sweep {
  inward: boolean; // from the tips to the base
  lines: string[];
}

export interface Explained {
  notes: string[];
  sweeps: Sweep[];
  result: string;
}

/** "for k = ..." opens a sweep, an empty line ends it. */
export function readExplained(text: string): Explained {
  const all: Explained = { notes: [], sweeps: [], result: '' };
  let current: Sweep | null = null;
  for (const line of text.split('\n')) {
    const loop = /^for k = .*\((tips to base|base to tips)\)/.exec(line);
    if (loop) {
      current = { inward: loop[1] === 'tips to base', lines: [] };
      all.sweeps.push(current);
    } else if (!line.trim()) current = null;
    else if (line.startsWith('result:')) all.result = line.slice(7).trim();
    else if (current) current.lines.push(line.replace(/^ {4}/, ''));
    else all.notes.push(line);
  }
  return all;
}

/** A line of a recursion, "z2(k) = z1(k) + ...", and a remark far to the right. */
export function recursionLine(line: string): HTMLElement {
  const parts = /^(\S+)\s+= (.*?)(?: {4,}(.*))?$/.exec(line);
  const [, left = line, right = '', note = ''] = parts ?? [];
  return el(
    'div',
    { class: 'recline' },
    el('span', { class: 'recleft' }, left),
    el('span', {}, right ? `= ${right}` : ''),
    note ? el('span', { class: 'recnote muted' }, note) : null,
  );
}

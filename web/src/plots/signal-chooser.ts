// The dialog in which the signals of a plot are chosen: all signals by group, with a search box.
import type { Signal } from '../data/protocol';
import { el, showDialog } from '../shared/dom';
import type { Panel } from './panel';

const MOST_SIGNALS = 16;
/** Groups with more signals start closed. */
const MANY = 12;

const groupNames: Record<string, string> = {
  q: 'joint positions (q.)',
  v: 'rates (v.)',
  tau: 'torques (tau.)',
  contact: 'contacts',
  energy: 'energies',
  momentum: 'momentum',
  constraint: 'constraints',
  loop: 'loops',
  control: 'control',
  object: 'object',
  sensor: 'sensors',
};

interface Row {
  name: string;
  row: HTMLElement;
  group: HTMLDetailsElement;
}

/** The first word of a signal's name; for sensors the first two. */
function groupOf(name: string): string {
  const words = name.split('.');
  if (words.length < 2) return 'other';
  if (words[0] === 'sensor' && words.length > 2) return `${words[0]}.${words[1]}`;
  return words[0];
}

function groupsOf(signals: Signal[]): Map<string, number[]> {
  const groups = new Map<string, number[]>();
  signals.forEach((s, i) => {
    const group = groupOf(s.name);
    const members = groups.get(group);
    if (members) members.push(i);
    else groups.set(group, [i]);
  });
  return groups;
}

class Chooser {
  private readonly body = el('div', { class: 'signals' });
  private readonly note = el('p', { class: 'muted' }, '');
  private readonly rows: Row[] = [];
  private readonly search = el('input', {
    type: 'search',
    placeholder: 'search, for example joint1',
    'aria-label': 'search signals',
    input: () => this.filter(),
  });

  constructor(
    private readonly panel: Panel,
    private readonly signals: Signal[],
  ) {
    for (const [group, members] of groupsOf(signals)) this.addGroup(group, members);
  }

  open(): HTMLDialogElement {
    const done = el('button', { type: 'submit', class: 'primary' }, 'Done');
    const head = el(
      'form',
      { method: 'dialog', class: 'dialoghead' },
      el('h2', {}, 'Signals'),
      done,
    );
    const dialog = el(
      'dialog',
      { class: 'chooser', 'aria-label': 'choose signals' },
      head,
      this.search,
      this.note,
      this.body,
    );
    showDialog(dialog);
    this.search.focus();
    return dialog;
  }

  private addGroup(name: string, members: number[]): void {
    const isChosen = members.some((i) => this.panel.chosen.includes(i));
    const count = el('span', { class: 'muted' }, String(members.length));
    const group = el(
      'details',
      { open: isChosen || members.length <= MANY },
      el('summary', {}, `${groupNames[name] ?? name} `, count),
    );
    for (const i of members) {
      const row = this.makeRow(i);
      this.rows.push({ name: this.signals[i].name.toLowerCase(), row, group });
      group.append(row);
    }
    this.body.append(group);
  }

  private makeRow(i: number): HTMLElement {
    const { name, unit } = this.signals[i];
    const box = el('input', { type: 'checkbox', change: () => this.toggle(i, box) });
    box.checked = this.panel.chosen.includes(i);
    const unitText = el('span', { class: 'muted' }, unit ? ` ${unit}` : '');
    return el('label', {}, box, ` ${name}`, unitText);
  }

  private toggle(i: number, box: HTMLInputElement): void {
    const chosen = this.panel.chosen;
    if (!box.checked) {
      this.panel.choose(chosen.filter((k) => k !== i));
    } else if (chosen.length < MOST_SIGNALS) {
      this.panel.choose([...chosen, i]);
    } else {
      box.checked = false;
      this.note.textContent = `At most ${MOST_SIGNALS} signals in one plot.`;
    }
  }

  /** Shows the signals whose names hold all words of the search box. */
  private filter(): void {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = new Set<HTMLDetailsElement>();
    for (const { name, row, group } of this.rows) {
      row.hidden = !words.every((w) => name.includes(w));
      if (!row.hidden) shown.add(group);
    }
    for (const group of this.body.querySelectorAll('details')) {
      group.hidden = !shown.has(group);
      if (words.length && shown.has(group)) group.open = true;
    }
  }
}

/** Opens the dialog for a plot. */
export function chooseSignals(panel: Panel, signals: Signal[]): HTMLDialogElement {
  return new Chooser(panel, signals).open();
}

// The list of bodies by part: each may be chosen, hidden, and given a trail.
import type { Scene } from '../data/protocol';
import { el } from '../shared/dom';
import type { Scene3D } from '../scene3d/scene3d';

/** Parts with more bodies start closed. */
const MANY = 40;
/** Deeper bodies are not moved further to the right. */
const DEEPEST = 8;

interface Row {
  body: number;
  element: HTMLElement;
  show: HTMLInputElement;
  trail: HTMLInputElement;
}

export interface TreeHooks {
  select(body: number | null): void;
  setTrail(body: number, on: boolean): void;
}

export class BodyTree {
  private readonly rows: Row[] = [];

  constructor(
    host: HTMLElement,
    private readonly scene: Scene,
    private readonly view: Scene3D | null,
    private readonly hooks: TreeHooks,
  ) {
    const tree = el('div', { class: 'tree' });
    if (!view) {
      const note = 'Without a 3-D view there is nothing to show or hide.';
      tree.append(el('p', { class: 'muted' }, note));
    }
    for (const [part, bodies] of this.parts()) tree.append(this.makePart(part, bodies));
    host.append(tree);
    this.mark(null);
  }

  /** Bodies by part, in the order in which they come. */
  private parts(): Map<string, number[]> {
    const parts = new Map<string, number[]>();
    this.scene.bodies.forEach((b, i) => {
      const part = i ? b.part || this.scene.title : 'world';
      parts.set(part, [...(parts.get(part) ?? []), i]);
    });
    return parts;
  }

  private makePart(part: string, bodies: number[]): HTMLElement {
    const all = el('input', {
      type: 'checkbox',
      'aria-label': `show ${part}`,
      change: () => {
        for (const body of bodies) this.view?.setVisible(body, all.checked);
        this.markRows();
      },
    });
    all.checked = true;
    const count = el('span', { class: 'muted' }, String(bodies.length));
    return el(
      'details',
      { open: bodies.length <= MANY },
      el('summary', {}, all, ` ${part} `, count),
      ...bodies.map((body) => this.makeRow(body)),
    );
  }

  private makeRow(body: number): HTMLElement {
    const { name } = this.scene.bodies[body];
    const show = el('input', {
      type: 'checkbox',
      'aria-label': `show ${name}`,
      change: () => {
        this.view?.setVisible(body, show.checked);
        this.markRows();
      },
    });
    const trail = el('input', {
      type: 'checkbox',
      'aria-label': `trail of ${name}`,
      change: () => this.hooks.setTrail(body, trail.checked),
    });
    const select = () => this.hooks.select(body || null);
    const colour = this.view?.partColour(body) ?? '#888';
    const indent = 4 + 10 * Math.min(DEEPEST, this.depth(body));
    const element = el(
      'div',
      { class: 'treerow', style: `padding-left:${indent}px` },
      show,
      el('span', { class: 'swatch', style: `background:${colour}` }),
      el(
        'button',
        { type: 'button', class: 'link', title: name, click: select },
        this.shortName(body),
      ),
      body ? el('label', {}, trail, 'trail') : null,
    );
    this.rows.push({ body, element, show, trail });
    return element;
  }

  /** The name without the name of the part. */
  private shortName(body: number): string {
    const { name, part } = this.scene.bodies[body];
    const isLong = body > 0 && part !== '' && name.startsWith(`${part}.`);
    return isLong ? name.slice(part.length + 1) : name;
  }

  /** Ancestors in the same part. */
  private depth(body: number): number {
    const { bodies } = this.scene;
    const { parent, part } = bodies[body];
    return parent > 0 && bodies[parent].part === part ? 1 + this.depth(parent) : 0;
  }

  /** Marks the chosen body, and shows which bodies are visible and have trails. */
  mark(selected: number | null): void {
    for (const row of this.rows) row.element.classList.toggle('on', row.body === selected);
    this.markRows();
  }

  private markRows(): void {
    for (const row of this.rows) {
      row.show.checked = this.view?.isVisible(row.body) ?? true;
      row.trail.checked = this.view?.hasTrail(row.body) ?? false;
    }
  }
}

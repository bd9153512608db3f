// The card of the chosen body: what it is, the value of its joint, and some commands.
import type { Frame, Scene } from '../data/protocol';
import { hasPose } from '../data/pose';
import { byId, el, setText, smallButton } from '../shared/dom';
import { iconButton } from '../shared/icons';
import { pretty } from '../shared/numbers';
import { type JointValues, jointUnit } from './joint-values';

export interface CardHooks {
  close(): void;
  follow(body: number): void;
  toggleTrail(body: number): void;
  toggleVisible(body: number): void;
}

export class BodyCard {
  private readonly card = byId('card');
  private readonly value = el('output', { id: 'cardvalue' }, '–');
  private body: number | null = null;

  constructor(
    private readonly scene: Scene,
    private readonly joints: JointValues,
    private readonly hooks: CardHooks,
  ) {}

  show(body: number | null, frame: Frame | null): void {
    this.body = body;
    this.card.hidden = body === null;
    if (body === null) return;
    setText(this.value, '–');
    this.card.replaceChildren(
      iconButton('close', 'close', () => this.hooks.close()),
      el('h2', {}, this.scene.bodies[body].name),
      this.makeTable(body),
      el(
        'div',
        { class: 'group' },
        smallButton('Follow', () => this.hooks.follow(body)),
        smallButton('Trail', () => this.hooks.toggleTrail(body)),
        smallButton('Hide', () => this.hooks.toggleVisible(body)),
      ),
    );
    this.showValue(frame);
  }

  private makeTable(index: number): HTMLElement {
    const { bodies } = this.scene;
    const { part, mass, joint, parent } = bodies[index];
    const row = (name: string, value: string | HTMLElement) =>
      el('tr', {}, el('td', {}, name), el('td', {}, value));
    return el(
      'table',
      {},
      el(
        'tbody',
        {},
        row('part', part || '–'),
        row('mass', `${pretty(mass)} kg`),
        row('joint', joint ? `${joint.name} (${joint.type})` : '–'),
        row('on', parent >= 0 ? bodies[parent].name : '–'),
        row('value', this.value),
      ),
    );
  }

  /** The value of the body's joint, or where the body is. */
  showValue(frame: Frame | null): void {
    if (this.body !== null && frame) setText(this.value, this.valueText(this.body, frame.places));
  }

  private valueText(body: number, poses: Float32Array): string {
    const { joint } = this.scene.bodies[body];
    const value = this.joints.at(poses, body);
    if (joint && value !== null) return `${pretty(value)} ${jointUnit(joint)}`;
    if (!hasPose(poses, body)) return '–';
    const [x, y, z] = poses.subarray(7 * body, 7 * body + 3);
    return `at ${pretty(x)}, ${pretty(y)}, ${pretty(z)} m`;
  }
}

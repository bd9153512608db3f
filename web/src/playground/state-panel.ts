// The panel "State": vectors to type in, and a slider for each joint with one coordinate.
import type { Body, Joint } from '../data/protocol';
import { el, setText } from '../shared/dom';
import { pretty } from '../shared/numbers';
import type { Session } from './core.js';
import type { Machine } from './machine';
import type { Motion } from './motion';
import { setVectors, type VectorTexts } from './vectors';

const vectorHelp: Record<keyof VectorTexts, string> = {
  T: 'joint torques: numbers; hold (against gravity); unit (accelerates every joint by 1)',
  thdd: 'joint accelerations, for ID',
  f0: 'moment and force at each tip, on the environment',
};
const SLIDER_HELP =
  'Paused, a slider puts its joint there; running, it leads the joint there while you hold it.';
const NO_SLIDERS = 'No joint of this machine has a single coordinate: pull its bodies.';

class StateSlider {
  readonly row: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly output = el('output');
  private isHeld = false;

  constructor(
    private readonly joint: Joint,
    private readonly session: Session,
    private readonly motion: Motion,
    private readonly changed: () => void,
  ) {
    const isSliding = joint.type === 'prismatic';
    const unit = joint.unit || (isSliding ? 'm' : 'rad');
    const usual = isSliding ? 1 : Math.PI;
    this.input = el('input', {
      type: 'range',
      min: joint.lower ?? -usual,
      max: joint.upper ?? usual,
      step: 'any',
      'aria-label': `${joint.name} in ${unit}`,
    });
    const name = el('span', { title: `${joint.name} (${joint.type})` }, joint.name);
    this.row = el('div', { class: 'joint' }, name, this.output, this.input);
    this.input.addEventListener('pointerdown', () => {
      this.isHeld = true;
    });
    this.input.addEventListener('input', () => this.moved());
    for (const end of ['pointerup', 'pointercancel', 'blur', 'keyup'])
      this.input.addEventListener(end, () => this.release());
  }

  private moved(): void {
    const value = Number(this.input.value);
    if (this.motion.isRunning) {
      this.isHeld = true;
      this.session.lead(this.joint.q, value);
    } else {
      this.session.vector('q')[this.joint.q] = value;
      this.session.vector('v').fill(0);
    }
    this.changed();
  }

  private release(): void {
    this.isHeld = false;
    if (!this.motion.isPulling) this.session.release();
  }

  show(q: Float64Array): void {
    const value = q[this.joint.q];
    if (!this.isHeld) this.input.value = String(value);
    setText(this.output, pretty(value));
  }
}

export class StatePanel {
  private readonly sliders: StateSlider[];

  constructor(
    host: HTMLElement,
    machine: Machine,
    motion: Motion,
    private readonly texts: VectorTexts,
    private readonly changed: () => void,
  ) {
    const { session, scene } = machine;
    const hasSlider = (b: Body): b is Body & { joint: Joint } => b.joint?.nq === 1;
    this.sliders = scene.bodies
      .filter(hasSlider)
      .map(({ joint }) => new StateSlider(joint, session, motion, changed));
    const names = Object.keys(vectorHelp) as (keyof VectorTexts)[];
    host.replaceChildren(
      el('div', { class: 'vectors' }, ...names.map((name) => this.makeField(name, session))),
      el('p', { class: 'muted pad' }, this.sliders.length ? SLIDER_HELP : NO_SLIDERS),
      ...this.sliders.map((s) => s.row),
    );
  }

  private makeField(name: keyof VectorTexts, session: Session): HTMLElement {
    const wrong = el('small', { class: 'wrong', role: 'alert' });
    const input = el('input', {
      type: 'text',
      id: `vector-${name}`,
      value: this.texts[name],
      spellcheck: 'false',
      autocomplete: 'off',
      input: () => {
        this.texts[name] = input.value;
        wrong.textContent = setVectors(session, this.texts);
        input.setAttribute('aria-invalid', String(wrong.textContent !== ''));
        this.changed();
      },
    });
    const label = el('label', { for: input.id }, el('b', {}, name), ` ${vectorHelp[name]}`);
    return el('div', { class: 'vector' }, label, input, wrong);
  }

  show(q: Float64Array): void {
    for (const slider of this.sliders) slider.show(q);
  }
}

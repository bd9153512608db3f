// A slider for each joint with one coordinate.  In a live run it moves the joint: while the run is
// paused the joint is put there; while it runs, the joint is pulled there as long as it is held.
import type { Frame, Joint, Scene } from '../data/protocol';
import type { Source } from '../data/source';
import { el, setText } from '../shared/dom';
import { fourDecimals, pretty } from '../shared/numbers';
import { type JointValues, jointUnit } from './joint-values';
import type { Playback } from './playback';

/** With more joints there is a search box. */
const MANY = 12;
/** ms between two messages. */
const SEND_EVERY = 25;
/** ms for which a joint is held after a key was pressed. */
const HOLD_AFTER_KEY = 800;

const HELP_LIVE =
  'Drag: paused, the joint is put there; running, it is pulled there while you hold it.';
const HELP_RECORD = 'Values at the time shown.';

/** The range of a slider; a joint without limits gets a usual one around its value. */
function sliderRange(joint: Joint, value: number): [number, number] {
  const usual = joint.type === 'prismatic' ? 1 : Math.PI;
  return [
    joint.lower ?? Math.min(-usual, value - usual / 2),
    joint.upper ?? Math.max(usual, value + usual / 2),
  ];
}

class JointSlider {
  readonly row: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly output: HTMLOutputElement;
  private readonly unit: string;
  private isHeld = false;
  private isDragged = false;
  private timer = 0;
  private lastSent = 0;

  constructor(
    readonly body: number,
    readonly joint: Joint,
    value: number,
    private readonly source: Source,
    private readonly playback: Playback,
  ) {
    const [min, max] = sliderRange(joint, value);
    this.unit = jointUnit(joint);
    this.output = el('output', {}, this.text(value));
    this.input = el('input', {
      type: 'range',
      min,
      max,
      step: 'any',
      'aria-label': `${joint.name} in ${this.unit}`,
      disabled: !playback.live,
    });
    this.input.value = String(value);
    const limits = el(
      'small',
      {},
      el('span', {}, joint.lower === null ? 'no limit' : pretty(min)),
      el('span', {}, joint.upper === null ? '' : pretty(max)),
    );
    const name = el('span', { title: `${joint.name} (${joint.type})` }, joint.name);
    this.row = el('div', { class: 'joint' }, name, this.output, this.input, limits);
    this.listen();
  }

  private text(value: number): string {
    return `${fourDecimals(value)} ${this.unit}`;
  }

  private listen(): void {
    this.input.addEventListener('input', () => this.moved());
    this.input.addEventListener('pointerdown', () => {
      this.isDragged = true;
    });
    for (const name of ['pointerup', 'pointercancel'])
      this.input.addEventListener(name, () => {
        this.isDragged = false;
        window.clearTimeout(this.timer);
        window.setTimeout(() => this.release(), 0);
      });
  }

  private moved(): void {
    this.isHeld = true;
    this.output.textContent = this.text(Number(this.input.value));
    const now = performance.now();
    if (now - this.lastSent > SEND_EVERY) {
      this.lastSent = now;
      this.send();
    }
    window.clearTimeout(this.timer);
    if (!this.isDragged) this.timer = window.setTimeout(() => this.release(), HOLD_AFTER_KEY);
  }

  private send(): void {
    this.source.send({ do: 'joint', q: this.joint.q, value: Number(this.input.value) });
  }

  private release(): void {
    if (!this.isHeld) return;
    this.isHeld = false;
    this.send();
    if (this.playback.state?.playing) this.source.send({ do: 'joint', q: this.joint.q });
  }

  setEnabled(on: boolean): void {
    this.input.disabled = !on;
  }

  setValue(value: number): void {
    if (this.isHeld) return;
    this.input.value = String(value);
    setText(this.output, this.text(value));
  }
}

export class JointSliders {
  private readonly sliders: JointSlider[] = [];

  constructor(
    host: HTMLElement,
    scene: Scene,
    private readonly joints: JointValues,
    source: Source,
    private readonly playback: Playback,
  ) {
    scene.bodies.forEach(({ joint }, i) => {
      if (joint?.nq !== 1) return;
      this.sliders.push(new JointSlider(i, joint, joints.lastOf(i), source, playback));
    });
    if (this.sliders.length > MANY) host.append(this.makeSearch());
    host.append(el('p', { class: 'muted pad' }, scene.live ? HELP_LIVE : HELP_RECORD));
    host.append(...this.sliders.map((s) => s.row));
  }

  private makeSearch(): HTMLElement {
    const label = 'search joints';
    const input = el('input', {
      type: 'search',
      placeholder: label,
      'aria-label': label,
      input: () => {
        const wanted = input.value.toLowerCase();
        for (const { row, joint } of this.sliders)
          row.hidden = !joint.name.toLowerCase().includes(wanted);
      },
    });
    return el('div', { class: 'search' }, input);
  }

  /** Sliders work only while a live run is followed. */
  showMode(): void {
    for (const slider of this.sliders) slider.setEnabled(this.playback.isDirect);
  }

  show(frame: Frame): void {
    for (const slider of this.sliders) {
      const value = this.joints.at(frame.places, slider.body);
      if (value !== null) slider.setValue(value);
    }
  }
}

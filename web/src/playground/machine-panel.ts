// The panel "Machine": energies, momentum, mass matrix, and the time of forward dynamics.
import { el, setText, smallButton } from '../shared/dom';
import { pretty } from '../shared/numbers';
import type { Session } from './core.js';
import type { Machine } from './machine';
import { MatrixView } from './matrix-view';
import { componentNames } from './components';

const rowNames = [
  'kinetic energy',
  'potential energy',
  'centre of mass',
  'momentum',
  'angular momentum',
];
/** Runs before measuring: browsers compile again what is used often. */
const WARM_UP = 20000;
const LEAST_MS = 100;

/** Time of one forward dynamics, as text. */
function measure(session: Session): string {
  let count = 1000;
  let ms = 0;
  session.repeat(WARM_UP);
  while (ms < LEAST_MS && count < 1e7) {
    count *= 2;
    const start = performance.now();
    session.repeat(count);
    ms = performance.now() - start;
  }
  return `${pretty((1e3 * ms) / count)} µs, ${pretty(count / ms)} thousand a second`;
}

export class MachinePanel {
  private readonly mass: MatrixView;
  private readonly values = rowNames.map(() => el('td'));
  private readonly session: Session;
  private isDrawn = false;

  constructor(
    private readonly host: HTMLElement,
    machine: Machine,
  ) {
    this.session = machine.session;
    const names = componentNames('joint', machine);
    this.mass = new MatrixView(names, names);
    const time = el('span');
    const button = smallButton('Measure', () => setText(time, measure(this.session)));
    const rows = rowNames.map((name, k) => el('tr', {}, el('th', {}, name), this.values[k]));
    const speed = el('td', {}, button, ' ', time);
    host.replaceChildren(
      el(
        'table',
        { class: 'summary' },
        ...rows,
        el('tr', {}, el('th', {}, 'one forward dynamics'), speed),
      ),
      el('h3', {}, 'Mass matrix'),
      el('div', { class: 'pad' }, this.mass.host),
    );
  }

  /** energy: kinetic and potential. */
  show(energy: Float64Array): void {
    if (this.host.hidden && this.isDrawn) return;
    this.isDrawn = true;
    const h = this.session.compute('momentum');
    const three = (k: number) =>
      [h[k], h[k + 1], h[k + 2]].map((x) => pretty(Math.abs(x) < 1e-12 ? 0 : x)).join('  ');
    const texts = [
      `${pretty(energy[0])} J`,
      `${pretty(energy[1])} J`,
      `${three(6)} m`,
      `${three(3)} N s`,
      `${three(0)} N m s`,
    ];
    texts.forEach((text, k) => setText(this.values[k], text));
    this.mass.set(this.session.compute('mass'));
  }

  redraw(): void {
    this.mass.draw();
  }
}

// The outcome of an expression: its values, how they compare with dense matrices, and its sweeps.
import type { Body } from '../data/protocol';
import { byId, el, errorText, setText, smallButton } from '../shared/dom';
import { pretty } from '../shared/numbers';
import { Bars } from './bars';
import { componentNames, components } from './components';
import type { Session } from './core.js';
import { type Explained, readExplained, recursionLine, type Sweep } from './explained';
import type { Machine } from './machine';
import { MatrixView } from './matrix-view';
import { drawSweep } from './sweep-drawing';
import type { SweepPlayer } from './sweep-player';

export type Expression = ReturnType<Session['expression']>;

/** Largest difference, relative to the largest number, at which two results agree. */
const AGREES = 1e-9;
/** ms: dense matrices that take longer wait until the machine is at rest. */
const SLOW_DENSE = 20;

const line = (text: string): HTMLElement => el('p', { class: 'muted factline' }, text);
const badge = (text: string): HTMLElement => el('span', { class: 'badge' }, text);

function operations({ count }: Expression): string[] {
  if (!count) return [];
  const { multiplications, additions, divisions, sines, on } = count;
  const products = `${multiplications} multiplications, ${additions} additions`;
  const rest = `${divisions} divisions, ${sines} sines and cosines`;
  return [`${products}, ${rest}${on ? ` on ${on}` : ''}`];
}

function rewriting({ steps }: Expression): HTMLElement | string {
  if (steps.length < 2) return '';
  const count = steps.length - 1;
  const rows = steps.map((s, k) => {
    const code = el('code', {}, (k ? '= ' : '') + s.result);
    return el('div', { class: 'step' }, code, k ? el('small', { class: 'muted' }, s.rule) : null);
  });
  const title = `How it was rewritten: ${count} step${count === 1 ? '' : 's'}`;
  return el('details', { class: 'words' }, el('summary', {}, title), ...rows);
}

function verdictText(difference: number, expression: string): string {
  if (difference > AGREES) {
    const hint = /inv\(/.test(expression) ? ': singular here?' : '';
    return `✗ dense matrices differ by ${pretty(difference)}${hint}`;
  }
  const digits = difference < 1e-16 ? '1e−16' : difference.toExponential(0).replace('-', '−');
  return `✓ dense matrices agree to ${digits}`;
}

export class Outcome {
  private readonly values: Bars | MatrixView;
  private readonly verdict = el('span', { id: 'verdict', class: 'badge verdict' });
  private readonly failed = el('p', { id: 'failed', class: 'failed muted', hidden: true });
  private denseTime = 0; // ms
  /** True if dense matrices were compared since the last change. */
  isJudged = false;

  /** isFinal: no cheaper form is looked for any more. */
  constructor(
    private readonly expression: Expression,
    private readonly machine: Machine,
    private readonly player: SweepPlayer,
    isFinal: boolean,
  ) {
    const { from, to } = expression;
    const isVector = from === 'one';
    this.values = isVector
      ? new Bars(components(to, machine))
      : new MatrixView(componentNames(to, machine), componentNames(from, machine));
    const explained = readExplained(expression.explain);
    player.setSweeps(explained.sweeps);
    const searching = line('Looking for a cheaper form …');
    byId('outcome').replaceChildren(
      this.makeFacts(isVector),
      expression.what ? el('p', { class: 'what' }, expression.what) : '',
      el('h3', {}, isVector ? 'Result' : 'Matrix'),
      this.values.host,
      this.failed,
      ...(expression.planned ? this.makePlan(explained) : [line(expression.message)]),
      isFinal ? rewriting(expression) : searching,
    );
  }

  private makeFacts(isVector: boolean): HTMLElement {
    const { from, to, rows, columns, causality } = this.expression;
    const kind = isVector ? `vector in ${to} space` : `${from} → ${to}, ${rows} × ${columns}`;
    return el('div', { class: 'facts' }, badge(kind), badge(causality), this.verdict);
  }

  private makePlan(explained: Explained): HTMLElement[] {
    const { expression, machine, player } = this;
    const play = smallButton('▶ along the machine', () => player.playAll(), { id: 'playsweeps' });
    const facts = [...explained.notes.slice(0, 1), ...operations(expression)];
    const legend =
      'k is a body, p its parent, c its children; φ and ψ also change from frame to frame.';
    return [
      el('div', { class: 'sweephead' }, el('h3', {}, 'Recursion'), play),
      line(facts.join(' · ')),
      el('pre', { class: 'planned' }, expression.expression),
      ...explained.sweeps.map((s, k) => this.makeCard(s, k, machine.scene.bodies)),
      line(`Result: ${explained.result}. ${legend}`),
    ];
  }

  private makeCard(sweep: Sweep, k: number, bodies: Body[]): HTMLElement {
    const button = el(
      'button',
      {
        type: 'button',
        class: 'sweepbutton',
        'aria-pressed': 'false',
        'data-sweep': k,
        title: 'show it on the machine',
        click: () => this.player.toggle(k),
      },
      el('b', { class: 'order' }, String(k + 1)),
      el('span', {}, sweep.inward ? '← tips to base' : 'base to tips →'),
      drawSweep(bodies, sweep.inward),
    );
    const recursion = el('div', { class: 'recursion' }, ...sweep.lines.map(recursionLine));
    const direction = sweep.inward ? 'inward' : 'outward';
    return el('div', { class: `sweepcard ${direction}` }, button, recursion);
  }

  redraw(): void {
    this.values.draw();
  }

  /** Computes at the present state; mayCompare: there is time to compare with dense matrices. */
  run(mayCompare: boolean, isMoving: boolean): void {
    const { session } = this.machine;
    this.isJudged = false;
    try {
      if (this.expression.planned) this.values.set(session.run());
      else this.values.set(session.runDense().numbers);
      this.fail('');
      const isTooSlow = this.denseTime > SLOW_DENSE && isMoving;
      if (!this.expression.planned) this.judge('by dense matrices', '');
      else if (mayCompare && !isTooSlow) this.compare(session);
    } catch (e) {
      this.fail(errorText(e));
      this.verdict.textContent = '';
    }
  }

  private compare(session: Session): void {
    const start = performance.now();
    const { difference } = session.runDense();
    this.denseTime = performance.now() - start;
    const isGood = difference <= AGREES;
    this.judge(verdictText(difference, this.expression.given), isGood ? ' good' : ' bad');
  }

  private judge(text: string, style: string): void {
    this.verdict.textContent = text;
    this.verdict.className = `badge verdict${style}`;
    this.isJudged = true;
  }

  private fail(text: string): void {
    this.failed.hidden = text === '';
    setText(this.failed, text);
  }
}

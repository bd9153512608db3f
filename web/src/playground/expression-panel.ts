// The panel "Expression": a text that is checked and planned while it is written.
import { byId, el, errorText, smallButton } from '../shared/dom';
import type { Session } from './core.js';
import { cutMessage } from './cut-message';
import type { Expression } from './outcome';

/** ms to wait after a key, and before looking for a cheaper form. */
const AFTER_KEY = 200;
const BEFORE_SEARCH = 60;
/** Characters of a message that fit beside the 3-D view. */
const MESSAGE_WIDTH = 46;

const examples: [text: string, what: string][] = [
  ['FD1', 'forward dynamics, RK88-I (4.17)'],
  ['FD2', 'link accelerations, RK88-I (5.5)'],
  ['FD3', 'forward dynamics, RK88-I (5.8)'],
  ['FD4', 'forward dynamics, RK88-I (5.14)'],
  ['ID', 'inverse dynamics, RK88-I (3.19)'],
  ["J inv(Mass) J'", 'Omega: how the tips react to forces at the tips'],
  ["inv(J inv(Mass) J')", 'Lambda: the inertia felt at the tips'],
  ['inv(Mass) T', 'accelerations due to T'],
  ['Mass', 'the mass matrix'],
  ["phi' H' thd", 'link velocities'],
  ['phi', 'the composition operator'],
  ['psi', 'the same for articulated bodies'],
];
const GRAMMAR =
  "X' is the adjoint, inv(X) the inverse; + − and numbers as usual. A product that starts from a " +
  'vector is a vector; any other expression is an operator, and its matrix is shown.';

export interface ExpressionHooks {
  session(): Session;
  /** isFinal: no cheaper form is looked for any more. */
  accepted(expression: Expression, isFinal: boolean): void;
  refused(): void;
}

export class ExpressionPanel {
  private readonly text = el('textarea', {
    id: 'expression',
    rows: 2,
    spellcheck: 'false',
    autocomplete: 'off',
    autocapitalize: 'off',
    'aria-describedby': 'mistake',
  });
  private readonly asWritten = el('input', {
    type: 'checkbox',
    id: 'aswritten',
    change: () => this.later(0),
  });
  private readonly mistake = el('pre', {
    id: 'mistake',
    class: 'mistake',
    role: 'alert',
    hidden: true,
  });
  private timer = 0;

  constructor(
    host: HTMLElement,
    private readonly hooks: ExpressionHooks,
  ) {
    this.text.value = 'FD3';
    this.text.addEventListener('input', () => this.later(AFTER_KEY));
    this.text.addEventListener('keydown', (e) => this.pressed(e));
    const hint = 'otherwise an equal expression with fewer sweeps is looked for first';
    const head = el(
      'div',
      { class: 'exprhead' },
      el('label', { for: 'expression' }, 'Operator expression'),
      el('label', { class: 'tick', title: hint }, this.asWritten, 'as written'),
    );
    const list = el('div', { class: 'examples', role: 'group', 'aria-label': 'examples' });
    for (const [text, what] of examples)
      list.append(smallButton(text, () => this.write(text), { title: what }));
    const words = el('details', { id: 'words', class: 'words' });
    words.append(el('summary', {}, 'What may be written'));
    host.append(head, this.text, this.mistake, list, words, el('div', { id: 'outcome' }));
  }

  focus(): void {
    this.text.focus();
  }

  private write(text: string): void {
    this.text.value = text;
    this.later(0);
  }

  private pressed(e: KeyboardEvent): void {
    if (e.key === 'Escape') this.text.blur();
    if (e.key !== 'Enter' || e.shiftKey) return;
    e.preventDefault();
    this.later(0);
  }

  private later(wait: number): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.evaluate(), wait);
  }

  /** Checks and plans the text; then, unless it is to stay as written, looks for a cheaper form. */
  evaluate(): void {
    clearTimeout(this.timer);
    this.listWords();
    const text = this.text.value.replace(/\s+/g, ' ').trim();
    if (!text) return;
    const isFinal = this.asWritten.checked;
    if (!this.accept(text, true, isFinal) || isFinal) return;
    this.timer = window.setTimeout(() => this.accept(text, false, true), BEFORE_SEARCH);
  }

  private accept(text: string, asWritten: boolean, isFinal: boolean): boolean {
    let expression: Expression;
    try {
      expression = this.hooks.session().expression(text, asWritten);
    } catch (e) {
      this.text.setAttribute('aria-invalid', 'true');
      this.mistake.textContent = cutMessage(errorText(e), MESSAGE_WIDTH);
      this.mistake.hidden = false;
      this.hooks.refused();
      return false;
    }
    this.mistake.hidden = true;
    this.text.removeAttribute('aria-invalid');
    this.hooks.accepted(expression, isFinal);
    return true;
  }

  /** The list of operators, filled when the first machine is there. */
  private listWords(): void {
    const box = byId('words');
    if (box.childElementCount > 1) return;
    const rows = el('div', { class: 'wordlist' });
    for (const { name, what } of this.hooks.session().names().leaves)
      rows.append(
        smallButton(name, () => this.insert(name)),
        el('span', { class: 'muted' }, what),
      );
    box.append(el('p', { class: 'muted' }, GRAMMAR), rows);
  }

  /** Puts a word where the cursor is. */
  private insert(word: string): void {
    const { selectionStart, selectionEnd, value } = this.text;
    const before = value.slice(0, selectionStart);
    const space = before && !/[\s(]$/.test(before) ? ' ' : '';
    const inserted = `${space}${word} `;
    this.text.value = before + inserted + value.slice(selectionEnd);
    this.text.focus();
    const cursor = selectionStart + inserted.length;
    this.text.setSelectionRange(cursor, cursor);
    this.later(AFTER_KEY);
  }
}

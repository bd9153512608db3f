// The summary of a run and the notes about what could not be shown.  A live run's summary changes
// while it is read, so only what differs is written.
import { byId, el, setText, smallButton } from '../shared/dom';
import { iconButton } from '../shared/icons';

type Rows = [string, string][];

export class Summary {
  private readonly body = el('tbody', { id: 'rows' });
  private readonly noteList = el('ul', {});
  private readonly noteBox: HTMLElement;
  private notes: string[];

  /** open: shows this summary. */
  constructor(
    host: HTMLElement,
    rows: Rows,
    notes: string[],
    private readonly open: () => void,
  ) {
    this.notes = notes;
    this.noteBox = el(
      'div',
      { id: 'notelist', class: 'notelist' },
      el('h2', {}, 'Notes'),
      this.noteList,
    );
    host.append(el('table', { class: 'summary' }, this.body), this.noteBox);
    this.setRows(rows);
    this.listNotes(notes[0]);
  }

  set(rows: Rows, notes: string[]): void {
    this.setRows(rows);
    const newNote = notes.find((n) => !this.notes.includes(n));
    if (!newNote) return;
    this.notes = notes;
    this.listNotes(newNote);
  }

  private setRows(rows: Rows): void {
    const { children } = this.body;
    while (children.length > rows.length) this.body.lastElementChild!.remove();
    while (children.length < rows.length)
      this.body.append(el('tr', {}, el('th', { scope: 'row' }), el('td', {})));
    rows.forEach((row, i) => row.forEach((text, k) => setText(children[i].children[k], text)));
  }

  private listNotes(newest: string | undefined): void {
    this.noteBox.hidden = !this.notes.length;
    this.noteList.replaceChildren(...this.notes.map((n) => el('li', {}, n)));
    if (newest) this.showNote(newest);
  }

  /** One line over the 3-D view, until it is closed. */
  private showNote(note: string): void {
    document.querySelector('.noterow')?.remove();
    const count = this.notes.length;
    const all = smallButton(count > 1 ? `all ${count} notes` : 'notes', this.open);
    const close = iconButton('close', 'close the note', () => row.remove());
    const text = el('span', { title: note }, note);
    const row = el(
      'div',
      { class: 'noterow' },
      el('div', { id: 'notes', role: 'status' }, text, all, close),
    );
    const host = document.querySelector('.tools3:not([hidden])') ?? byId('view3');
    host.append(row);
  }
}

// The list of events.  Only the rows in view exist, so that thousands of events cost nothing.
import type { Event } from '../data/protocol';
import { el } from '../shared/dom';
import { eventColour } from './timeline-drawing';

/** Pixels. */
const ROW_HEIGHT = 28;
/** Rows above and below what is in view. */
const SPARE = 4;

export class EventList {
  isVisible = false;
  private events: Event[] = [];
  private readonly list = el('div', { class: 'events' });

  constructor(
    private readonly host: HTMLElement,
    private readonly seek: (t: number) => void,
  ) {
    host.append(this.list);
    host.addEventListener('scroll', () => this.draw());
    new ResizeObserver(() => this.draw()).observe(host);
  }

  set(events: Event[]): void {
    this.events = events;
    this.draw();
  }

  draw(): void {
    if (!this.isVisible) return;
    const { events } = this;
    this.list.style.height = `${ROW_HEIGHT * events.length}px`;
    const first = Math.max(0, Math.floor(this.host.scrollTop / ROW_HEIGHT) - SPARE);
    const inView = Math.ceil(this.host.clientHeight / ROW_HEIGHT);
    const end = Math.min(events.length, first + inView + 2 * SPARE);
    const none = el('p', { class: 'muted pad' }, 'No events so far.');
    const rows = events.slice(first, end).map((event, i) => this.makeRow(event, first + i));
    this.list.replaceChildren(...(events.length ? rows : [none]));
  }

  private makeRow(event: Event, index: number): HTMLElement {
    return el(
      'button',
      {
        type: 'button',
        class: 'row',
        style: `top:${ROW_HEIGHT * index}px`,
        title: event.text,
        click: () => this.seek(event.t),
      },
      el('span', {}, event.t.toFixed(3)),
      el('span', { style: `color:${eventColour(event.kind)}` }, event.kind),
      el('span', {}, event.text),
    );
  }
}

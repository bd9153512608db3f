// The tabs beside the 3-D view.
import { el } from './dom';

export class Tabs {
  private readonly bar = document.querySelector<HTMLElement>('.tabs')!;
  private readonly host = document.querySelector<HTMLElement>('.tabpanels')!;
  private readonly panels = new Map<string, HTMLElement>();

  /** current: the tab to open first; changed: another tab was opened.  Arrow keys move between
   *  tabs; with `homeAndEnd` these two keys do too. */
  constructor(
    public current: string,
    private readonly changed: (id: string) => void,
    private readonly homeAndEnd = false,
  ) {
    this.bar.addEventListener('keydown', (e) => this.moveByKey(e));
  }

  /** Adds a tab; returns its empty panel. */
  add(id: string, name: string): HTMLElement {
    const isOpen = id === this.current;
    const tab = el(
      'button',
      {
        type: 'button',
        role: 'tab',
        id: `tab-${id}`,
        'aria-controls': `panel-${id}`,
        'aria-selected': String(isOpen),
        tabindex: isOpen ? '0' : '-1',
        click: () => this.open(id),
      },
      name,
    );
    const panel = el('div', {
      id: `panel-${id}`,
      role: 'tabpanel',
      'aria-labelledby': `tab-${id}`,
      tabindex: '-1',
    });
    panel.hidden = !isOpen;
    this.bar.append(tab);
    this.host.append(panel);
    this.panels.set(id, panel);
    return panel;
  }

  open(id: string): void {
    this.current = id;
    for (const tab of this.bar.querySelectorAll('button')) {
      const isOpen = tab.id === `tab-${id}`;
      tab.setAttribute('aria-selected', String(isOpen));
      tab.tabIndex = isOpen ? 0 : -1;
    }
    for (const [name, panel] of this.panels) panel.hidden = name !== id;
    this.changed(id);
  }

  private moveByKey(e: KeyboardEvent): void {
    const tabs = [...this.bar.querySelectorAll('button')];
    const now = tabs.indexOf(document.activeElement as HTMLButtonElement);
    const targets: Record<string, number> = {
      ArrowRight: now + 1,
      ArrowLeft: now - 1,
      ...(this.homeAndEnd ? { Home: 0, End: tabs.length - 1 } : {}),
    };
    const to = targets[e.key];
    if (now < 0 || to === undefined) return;
    e.preventDefault();
    e.stopPropagation();
    const tab = tabs[(to + tabs.length) % tabs.length];
    tab.click();
    tab.focus();
  }
}

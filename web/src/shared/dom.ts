// Small helpers for the elements of a page.
type Attributes = Record<string, string | number | boolean | EventListener | undefined>;
type Child = Node | string | null;

/** An element with attributes, event listeners (attributes that are functions) and children. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(key, value);
    else if (key === 'class') element.className = String(value);
    else element.setAttribute(key, value === true ? '' : String(value));
  }
  for (const child of children) if (child !== null) element.append(child);
  return element;
}

/** A small push button with a text. */
export function smallButton(
  text: string,
  click: () => void,
  more: Attributes = {},
): HTMLButtonElement {
  return el('button', { type: 'button', class: 'small', click, ...more }, text);
}

export function byId<T extends HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`#${id} is missing`);
  return element as T;
}

/** Writes a text if it differs, so that nothing is laid out again for nothing. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** A short message at the edge of the page; it goes away by itself. */
export function toast(text: string): void {
  const message = el('div', { class: 'toast' }, text);
  const all = byId('toasts');
  while (all.children.length > 2) all.firstElementChild?.remove();
  all.append(message);
  setTimeout(() => message.remove(), 6000);
}

/** Shows a dialog; a click outside closes it, and a closed dialog is removed. */
export function showDialog(dialog: HTMLDialogElement): void {
  dialog.addEventListener('close', () => dialog.remove());
  dialog.addEventListener('click', (e) => {
    if (e.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
}

/** Offers a file for saving. */
export function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = el('a', { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** A text as part of a file's name. */
export const fileName = (text: string): string =>
  text.replace(/[^\w.-]+/g, '_').replace(/^_+|_+$/g, '') || 'run';

export const errorText = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

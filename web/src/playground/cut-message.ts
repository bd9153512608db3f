// Messages with a caret below the place of a mistake, cut to a width.

/** The line above the caret is cut around the caret. */
export function cutMessage(message: string, width: number): string {
  const lines = message.split('\n');
  const caret = lines.findIndex((line) => /^\s*\^/.test(line));
  if (caret < 1) return message;
  const shown = lines[caret - 1];
  if (shown.length <= width) return message;
  const at = lines[caret].indexOf('^');
  const from = Math.max(0, Math.min(at - Math.floor(width / 2), shown.length - width));
  const before = from ? '…' : '';
  const after = from + width < shown.length ? '…' : '';
  lines[caret - 1] = `${before}${shown.slice(from, from + width)}${after}`;
  lines[caret] = `${' '.repeat(at - from + before.length)}^`;
  return lines.join('\n');
}

// The vectors of an expression that are typed in: torques, accelerations, tip forces.
import type { Session } from './core.js';

export interface VectorTexts {
  T: string;
  thdd: string;
  f0: string;
}

export const usualVectors = (): VectorTexts => ({ T: 'unit', thdd: '1', f0: '0' });

/** True if the values depend on the state of the machine. */
export const dependsOnState = (texts: VectorTexts): boolean => /hold|unit/.test(texts.T);

/** Reads numbers: one for all entries, one group that repeats, or one each.  Returns what is wrong,
 *  or an empty text. */
function readNumbers(text: string, to: Float64Array, group: number): string {
  const parts = text
    .trim()
    .split(/[\s,;]+/)
    .filter(Boolean);
  const numbers = parts.map(Number);
  const bad = numbers.findIndex((x) => !Number.isFinite(x));
  if (bad >= 0) return `'${parts[bad]}' is not a number`;
  if (![1, group, to.length].includes(numbers.length))
    return `1 or ${to.length} numbers are needed, not ${numbers.length}`;
  for (let i = 0; i < to.length; ++i) to[i] = numbers[i % numbers.length];
  return '';
}

/** Torques that give every joint the acceleration 1: the row sums of the mass matrix. */
function unitTorques(session: Session): number[] {
  const mass = session.compute('mass');
  const n = session.nv;
  return Array.from({ length: n }, (_, i) =>
    mass.subarray(i * n, i * n + n).reduce((sum, x) => sum + x, 0),
  );
}

function setTorques(session: Session, text: string): string {
  const word = text.trim();
  if (word === 'hold') session.set('tau', session.compute('gravity'));
  else if (word === 'unit') session.set('tau', unitTorques(session));
  else return readNumbers(text, session.vector('tau'), session.nv);
  return '';
}

/** Sets all vectors of the session; returns what is wrong, or an empty text. */
export function setVectors(session: Session, texts: VectorTexts): string {
  const torques = setTorques(session, texts.T);
  if (torques) return `T: ${torques}`;
  const accelerations = readNumbers(texts.thdd, session.vector('a'), session.nv);
  const forces = readNumbers(texts.f0, session.vector('f0'), 6);
  if (accelerations) return `thdd: ${accelerations}`;
  return forces ? `f0: ${forces}` : '';
}

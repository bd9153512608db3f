// Requests for curves, one on its way at a time.  A newer request with the same key replaces an
// older one that is still waiting.
import type { Overview, Samples } from './protocol';

type Answer = Overview | Samples;

interface Request {
  key: string;
  message: Record<string, unknown>;
  answer(x: Answer | null): void;
}

/** ms after which an answer is no longer expected. */
const PATIENCE = 15000;

export class RequestQueue {
  private waiting: Request[] = [];
  private sent: { request: Request; id: number; since: number } | null = null;

  add<T extends Answer>(key: string, message: Record<string, unknown>): Promise<T | null> {
    return new Promise((resolve) => {
      const request: Request = { key, message, answer: (x) => resolve(x as T | null) };
      const older = this.waiting.findIndex((w) => w.key === key);
      if (older < 0) {
        this.waiting.push(request);
        return;
      }
      this.waiting[older].answer(null);
      this.waiting[older] = request;
    });
  }

  /** Sends the next request, if none is on its way. */
  pump(nextId: () => number, put: (message: object) => boolean): void {
    if (this.sent || !this.waiting.length) return;
    const id = nextId();
    if (!put({ ...this.waiting[0].message, id })) return;
    this.sent = { request: this.waiting.shift()!, id, since: performance.now() };
  }

  answered(x: Answer): void {
    if (this.sent?.id !== x.id) return;
    const { request } = this.sent;
    this.sent = null;
    request.answer(x);
  }

  /** Nothing will come for what is on its way. */
  giveUp(): void {
    this.sent?.request.answer(null);
    this.sent = null;
  }

  expire(now: number): void {
    if (this.sent && now - this.sent.since > PATIENCE) this.giveUp();
  }
}

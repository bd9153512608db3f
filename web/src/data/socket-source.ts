// A run served by the program, over a WebSocket (docs/view-protocol.md).
import { errorText } from '../shared/dom';
import { clamp } from '../shared/numbers';
import { curvesOfOverview, curvesOfSamples } from './curves';
import type { Overview, Samples, Scene } from './protocol';
import {
  KIND_FRAME,
  KIND_OVERVIEW,
  KIND_SAMPLES,
  kindOf,
  readFrame,
  readOverview,
  readSamples,
} from './read-binary';
import { readEvents, readNotes, readRows, readScene, readState } from './read-json';
import { RequestQueue } from './request-queue';
import type { Curves, Handlers, Source } from './source';

const SUBPROTOCOL = 'soa-view-1';
/** ms after which a frame is no longer expected. */
const FRAME_PATIENCE = 4000;
/** ms: the first wait before connecting again, and the longest one. */
const RETRY = [300, 5000];

export class SocketSource implements Source {
  readonly served = true;
  private socket: WebSocket | null = null;
  private handlers!: Handlers;
  private scene: Scene | null = null;
  private first = 0;
  private last = 0;
  private id = 0;
  private frameId = 0; // of the frame on its way, 0: none
  private frameSince = 0;
  private frameWanted: number | null = null;
  private readonly requests = new RequestQueue();
  private tries = 0;

  constructor(private readonly url: string) {}

  open(handlers: Handlers): void {
    this.handlers = handlers;
    this.connect();
    setInterval(() => this.expire(), 1000);
  }

  private connect(): void {
    try {
      this.socket = new WebSocket(this.url, SUBPROTOCOL);
    } catch (e) {
      this.handlers.connection(false, String(e));
      return;
    }
    this.socket.binaryType = 'arraybuffer';
    this.socket.onopen = () => {
      this.tries = 0;
      this.handlers.connection(true, '');
    };
    this.socket.onmessage = (e) => this.receive(e.data);
    this.socket.onclose = (e) => this.closed(e.reason);
  }

  private closed(reason: string): void {
    this.socket = null;
    this.frameId = 0;
    this.requests.giveUp();
    const wait = Math.min(RETRY[1], RETRY[0] * 2 ** this.tries++);
    this.handlers.connection(false, reason || '');
    setTimeout(() => this.connect(), wait);
  }

  private expire(): void {
    const now = performance.now();
    if (this.frameId && now - this.frameSince > FRAME_PATIENCE) this.frameId = 0;
    this.requests.expire(now);
    this.pump();
  }

  private receive(data: unknown): void {
    try {
      if (typeof data === 'string') this.receiveText(data);
      else if (data instanceof ArrayBuffer) this.receiveBytes(data);
    } catch (e) {
      this.handlers.error(`a message could not be read: ${errorText(e)}`);
    }
  }

  private receiveText(data: string): void {
    const x = JSON.parse(data) as Record<string, unknown> | null;
    if (x?.kind === 'scene') this.receiveScene(readScene(x));
    else if (x?.kind === 'state') this.receiveState(x);
    else if (x?.kind === 'events')
      this.handlers.events(typeof x.from === 'number' ? x.from : 0, readEvents(x.list));
    else if (x?.kind === 'summary') this.handlers.summary(readRows(x.summary), readNotes(x.notes));
    else if (x?.kind === 'error') this.receiveError(x.text);
    this.pump();
  }

  private receiveScene(scene: Scene): void {
    this.scene = scene;
    this.first = scene.time.first;
    this.last = scene.time.last;
    this.handlers.scene(scene);
  }

  private receiveState(x: Record<string, unknown>): void {
    const state = readState(x);
    this.first = state.first;
    this.last = state.last;
    this.handlers.state(state);
  }

  /** After an error, what was requested is not answered any more. */
  private receiveError(text: unknown): void {
    this.frameId = 0;
    this.requests.giveUp();
    this.handlers.error(typeof text === 'string' ? text : 'the program reports an error');
  }

  private receiveBytes(buffer: ArrayBuffer): void {
    const kind = kindOf(new DataView(buffer));
    if (kind === KIND_FRAME) {
      const frame = readFrame(buffer);
      if (frame.id && frame.id === this.frameId) this.frameId = 0;
      this.handlers.frame(frame);
    } else if (kind === KIND_OVERVIEW) this.requests.answered(readOverview(buffer));
    else if (kind === KIND_SAMPLES) this.requests.answered(readSamples(buffer));
    this.pump();
  }

  private put = (message: object): boolean => {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  };

  private nextId = (): number => {
    this.id = this.id >= 0x7fffffff ? 1 : this.id + 1;
    return this.id;
  };

  /** Sends what can be sent now: at most one frame and one request for curves are on their way. */
  private pump(): void {
    if (!this.scene) return;
    this.pumpFrame();
    this.requests.pump(this.nextId, this.put);
  }

  private pumpFrame(): void {
    if (this.frameWanted === null || this.frameId) return;
    const id = this.nextId();
    if (!this.put({ do: 'frame', id, t: this.frameWanted })) return;
    this.frameId = id;
    this.frameSince = performance.now();
    this.frameWanted = null;
  }

  private ask<T extends Overview | Samples>(
    key: string,
    message: Record<string, unknown>,
  ): Promise<T | null> {
    const answer = this.requests.add<T>(key, message);
    this.pump();
    return answer;
  }

  wantFrame(t: number): void {
    this.frameWanted = t;
    this.pump();
  }

  /** Time between two samples. */
  private spacing(): number {
    const time = this.scene?.time;
    if (!time) return 0.01;
    if (time.samples > 1 && time.last > time.first)
      return (time.last - time.first) / (time.samples - 1);
    return time.tick > 0 ? time.tick : 0.01;
  }

  stepTime(t: number, by: number): number {
    const step = this.spacing();
    return clamp(t + by * step + 1e-6 * step, this.first, this.last);
  }

  async curves(
    key: string,
    signals: number[],
    t0: number,
    t1: number,
    columns: number,
  ): Promise<Curves | null> {
    if (!signals.length || !(t1 > t0)) return null;
    const count = (t1 - t0) / this.spacing();
    if (count <= 2 * columns) {
      const margin = 2 * this.spacing(); // so that lines reach the edges
      const span = { t0: t0 - margin, t1: t1 + margin };
      const samples = await this.ask<Samples>(key, { do: 'samples', signals, ...span });
      if (!samples) return null;
      if (!samples.more) return curvesOfSamples(samples);
    }
    const overview = await this.ask<Overview>(key, { do: 'overview', signals, t0, t1, columns });
    return overview && curvesOfOverview(overview);
  }

  samples(signals: number[], t0: number, t1: number): Promise<Samples | null> {
    return this.ask<Samples>('samples', { do: 'samples', signals, t0, t1 });
  }

  path(): Float64Array | null {
    return null;
  }

  send(command: object): void {
    this.put(command);
  }
}

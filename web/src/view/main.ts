// Entry point of the page of `soa view` and `soa report`: finds the source of the run, and makes
// the page when its scene arrives.
import '../shared/style.css';
import type { Scene, State } from '../data/protocol';
import { ReportSource } from '../data/report-source';
import { SocketSource } from '../data/socket-source';
import type { Source } from '../data/source';
import { byId, errorText, toast } from '../shared/dom';
import { Page } from './page';

/** A message across the page; empty: none. */
function showBanner(text: string): void {
  byId('banner').hidden = text === '';
  byId('banner').textContent = text;
}

/** Scenes with the same key are shown by the same page. */
const sceneKey = (s: Scene): string =>
  JSON.stringify([
    s.title,
    s.bodies.map((b) => b.name),
    s.shapes.length,
    s.signals.map((x) => x.name),
  ]);

class App {
  private page: Page | null = null;
  private state: State | null = null; // arrived before the scene

  constructor(private readonly source: Source) {
    source.open({
      scene: (scene) => this.takeScene(scene),
      frame: (frame) => this.page?.takeFrame(frame),
      state: (state) => this.takeState(state),
      events: (from, list) => this.page?.takeEvents(from, list),
      summary: (rows, notes) => this.page?.takeSummary(rows, notes),
      connection: (up, why) => this.takeConnection(up, why),
      error: toast,
    });
  }

  private takeScene(scene: Scene): void {
    if (!this.page) {
      this.page = new Page(this.source, scene, this.state);
      void this.page.open(); // a report's frame arrives at once
    } else if (sceneKey(scene) === sceneKey(this.page.scene)) this.page.takeScene(scene);
    else location.reload(); // another run
  }

  private takeState(state: State): void {
    this.state = state;
    this.page?.takeState(state);
  }

  private takeConnection(up: boolean, why: string): void {
    const reason = why ? ` (${why})` : '';
    const what = this.page
      ? 'The connection to the program is lost'
      : 'No connection to the program';
    showBanner(up ? '' : `${what}${reason}; trying again …`);
    if (!up) this.page?.disconnect();
  }

  /** The state of the page, for tests. */
  probe(): object {
    return this.page?.probe() ?? { t: 0, playing: false, frameTime: null };
  }
}

function socketAddress(): string {
  const token = new URLSearchParams(location.search).get('token');
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
  const query = token ? `?token=${encodeURIComponent(token)}` : '';
  return `${scheme}://${location.host}/socket${query}`;
}

/** A report has its run inside; any other page is served by the program. */
function findSource(): Source {
  const scene = document.getElementById('soa-scene');
  const data = document.getElementById('soa-data');
  if (scene) return new ReportSource(scene.textContent ?? '', data?.textContent ?? '');
  if (!/^https?:$/.test(location.protocol))
    throw new Error(
      'this file holds no run; open it with "soa view", or make a report with "soa report"',
    );
  return new SocketSource(socketAddress());
}

function start(): App | null {
  try {
    return new App(findSource());
  } catch (e) {
    showBanner(`Nothing can be shown: ${errorText(e)}`);
    return null;
  }
}

(window as unknown as { soa: App | null }).soa = start();

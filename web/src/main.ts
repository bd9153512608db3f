// The page of `soa view` and `soa report`: joins a source of frames and curves to the 3-D view, time line, plots and lists.
import './style.css';
import { byId, el, fileName, iconButton, save, setIcon } from './dom';
import { jointValue } from './kinematics';
import { Plots, type PhaseBand } from './plots';
import type { Event, Frame, Scene, State } from './protocol';
import { Scene3D, type Layer, type Preset } from './scene3d';
import { EmbeddedSource, SocketSource, type Source } from './source';
import { colours3, css, onTheme, palette, pretty, theme, toggleTheme } from './theme';
import { eventColour, Timeline } from './timeline';

const digits = (x: number) => (Math.abs(x) < 5e-5 ? 0 : x).toFixed(4).replace('-', '−');
const clamp = (x: number, a: number, b: number) => Math.max(a, Math.min(b, x));

function toast(text: string): void {
  const e = el('div', { class: 'toast' }, text);
  const all = byId('toasts');
  while (all.children.length > 2) all.firstElementChild?.remove();
  all.append(e);
  setTimeout(() => e.remove(), 6000);
}

class App {
  private scene!: Scene;
  private view: Scene3D | null = null;
  private plots!: Plots;
  private line!: Timeline;
  private events: Event[] = [];
  private bands: PhaseBand[] = [];
  private t = 0;
  private first = 0;
  private last = 0;
  private following = false; // a live run's newest frame is shown
  private playing = false; // the page's own clock runs
  private speed = 1;
  private state: State | null = null;
  private frame: Frame | null = null;
  private selected: number | null = null;
  private jointNear: number[] = [];
  private sliders: { body: number; input: HTMLInputElement; out: HTMLOutputElement; held: boolean; timer: number }[] = [];
  private tab = 'plots';
  private listEvents: () => void = () => {};
  private markTree: () => void = () => {};
  private clockNow = document.createTextNode('– ');
  private clockEnd = el('span', { class: 'clockend' });
  private playButton!: HTMLButtonElement;
  private started = false;

  constructor(private source: Source) {
    source.open({
      scene: (s) => this.onScene(s),
      frame: (f) => this.onFrame(f),
      state: (s) => this.onState(s),
      events: (from, list) => this.onEvents(from, list),
      summary: (rows, notes) => this.onSummary(rows, notes),
      connection: (up, why) => this.onConnection(up, why),
      error: (text) => toast(text),
    });
  }

  /* ---- what comes in ---- */
  private onScene(scene: Scene): void {
    if (this.started) {
      const key = (s: Scene) => JSON.stringify([s.title, s.bodies.map((b) => b.name), s.shapes.length, s.signals.map((x) => x.name)]);
      if (key(scene) !== key(this.scene)) return location.reload();
      this.scene.time = scene.time;
      this.events = scene.events;
      this.span(scene.time.first, scene.time.last);
      this.eventsChanged();
      this.plots.refresh();
      void this.findPhases();
      this.onSummary(scene.summary, scene.notes);
      if (!scene.live) this.seek(this.t);
      return;
    }
    this.started = true;
    this.scene = scene;
    this.events = scene.events;
    this.following = scene.live;
    this.first = scene.time.first;
    this.last = scene.time.last;
    this.t = this.first;
    scene.bodies.forEach((b, i) => (this.jointNear[i] = b.joint && b.joint.nq === 1 ? scene.q[b.joint.q] ?? 0 : 0));
    document.title = `${scene.title} – soa`;
    byId('title').textContent = scene.title;
    byId('title').title = scene.text;
    byId('text').textContent = scene.text;
    byId('text').title = scene.text;
    byId('kind').textContent = this.source.served ? (scene.live ? (scene.source === 'model' ? 'live model' : 'live run') : 'replay') : 'report';
    this.makeView();
    this.makeTransport();
    this.makeSide();
    this.keys();
    onTheme((name) => {
      this.view?.setTheme(name);
      this.plots.redraw();
      this.line.invalidate();
      this.showPhase();
      this.eventsChanged();
    });
    void this.begin();
  }

  /** A replay opens at a moment that says something: the middle of the longest stretch with the most contacts. */
  private async begin(): Promise<void> {
    if (this.scene.live) {
      this.source.wantFrame(this.last);
      void this.findPhases();
      return;
    }
    let start = this.first + 0.35 * (this.last - this.first), found = false;
    const points = this.scene.signals.map((s, i) => ({ s, i })).filter(({ s }) => /^contact\..*\.points$/.test(s.name)).slice(0, 8).map(({ i }) => i);
    if (points.length) window.setTimeout(() => !found && !this.touched && this.seek(start), 700); // should the answer take long
    else this.seek(start);
    void this.findPhases();
    if (points.length && this.last > this.first) {
      const c = await this.source.curves('start', points, this.first, this.last, 400);
      if (c && c.x.length) {
        const sum = Array.from(c.x, (_, k) => c.lo.reduce((a, v) => a + (v[k] || 0), 0));
        const most = sum.reduce((a, b) => Math.max(a, b), 0);
        let best = [0, -1];
        for (let a = 0; most > 0 && a < sum.length; ++a) {
          let b = a;
          while (b < sum.length && sum[b] >= 0.99 * most) ++b;
          if (b - a > best[1] - best[0]) best = [a, b];
          a = Math.max(a, b - 1);
        }
        if (best[1] > best[0]) start = c.x[Math.floor((best[0] + best[1]) / 2)];
      }
    }
    found = true;
    if (this.touched) return;
    this.refit = true;
    this.seek(this.source.stepTime(start, 0));
  }
  private touched = false;
  private refit = false;

  private onFrame(f: Frame): void {
    if (this.source.served && this.scene.live) {
      if (f.id === 0 && !this.following) return;
      if (f.id !== 0 && this.following && this.frame && this.state?.playing) return;
      if (this.following) this.t = f.t;
    }
    this.frame = f;
    this.view?.setFrame(f);
    if (this.refit && Math.abs(f.t - this.t) < 1) {
      this.refit = false;
      this.view?.refit();
    }
    this.showTime();
  }

  private onState(s: State): void {
    const again = this.state && (s.last < this.state.last - 1e-9 || s.t < this.state.t - 1e-9);
    this.state = s;
    if (!this.started) return;
    if (again) {
      this.view?.clearTrails();
      this.bands = [];
      this.events = this.events.filter((e) => e.t <= s.last);
      this.eventsChanged();
    }
    const grew = s.last !== this.last || s.first !== this.first || again;
    this.span(s.first, s.last);
    if (this.scene.live) {
      if (this.following && s.t < this.t) this.t = s.t; // begun again; the record may end before the run
      if (s.speed !== this.speed && document.activeElement !== byId('speed')) this.setSpeed(s.speed, false);
      byId('factor').textContent = s.playing && s.factor > 0 ? `${s.factor.toPrecision(2)}× real time` : s.ended ? 'ended' : '';
    }
    if (grew) this.grown();
    if (!this.following && this.t > s.last) this.seek(s.last);
    this.showTransport();
    this.showTime();
  }

  private growing = 0;
  private grown(): void {
    if (this.growing) return;
    this.growing = window.setTimeout(() => {
      this.growing = 0;
      this.plots.refresh();
      void this.findPhases();
    }, 250);
  }

  private onEvents(from: number, list: Event[]): void {
    this.events = [...this.events.slice(0, Math.max(0, from)), ...list];
    if (this.started) this.eventsChanged();
  }
  private eventsChanged(): void {
    this.line.setEvents(this.events);
    this.listEvents();
  }

  private onConnection(up: boolean, why: string): void {
    const banner = byId('banner');
    banner.hidden = up;
    banner.textContent = up ? '' : this.started ? `The connection to the program is lost${why ? ` (${why})` : ''}; trying again …`
      : `No connection to the program${why ? ` (${why})` : ''}; trying again …`;
    if (!up && this.scene?.live && this.state) {
      this.state.playing = false;
      this.showTransport();
    }
  }

  private span(first: number, last: number): void {
    this.first = first;
    this.last = last;
    this.line.setSpan(first, last);
  }

  /** Phases as bands, from the smallest and largest number of the phase in columns. */
  private async findPhases(): Promise<void> {
    const signal = this.scene.signals.findIndex((s) => s.name === 'control.phase');
    if (signal < 0 || !(this.last > this.first)) return;
    const c = await this.source.curves('phases', [signal], this.first, this.last, 1000);
    if (!c) return;
    const bands: PhaseBand[] = [];
    for (let k = 0; k < c.x.length; ++k)
      for (const p of c.lo[0][k] === c.hi[0][k] ? [c.lo[0][k]] : [c.lo[0][k], c.hi[0][k]]) {
        const phase = Math.round(p);
        const old = bands[bands.length - 1];
        if (!Number.isFinite(p) || phase < 0) continue;
        if (old && old.phase === phase) old.t1 = c.x[k];
        else {
          if (old) old.t1 = c.x[k];
          bands.push({ t0: k ? c.x[k] : this.first, t1: c.x[k], phase });
        }
      }
    if (bands.length) bands[bands.length - 1].t1 = this.last;
    for (const b of bands) { // the events know it better
      const e = this.events.find((v) => v.kind === 'phase' && Math.abs(v.t - b.t0) < (1.5 * (this.last - this.first)) / Math.max(1, c.x.length - 1));
      if (e) {
        const before = bands[bands.indexOf(b) - 1];
        if (before) before.t1 = e.t;
        b.t0 = e.t;
      }
    }
    this.bands = bands;
    this.line.setPhases(bands, this.scene.phases);
    this.plots.redraw();
    this.showPhase();
  }
  private phaseColour = (phase: number): string => palette[theme()][((phase % 8) + 8) % 8];

  /* ---- time ---- */
  private seek(t: number, byHand = false): void {
    if (byHand) this.touched = true;
    this.t = clamp(t, this.first, this.last);
    if (this.scene.live && byHand && this.following) {
      this.following = false;
      this.playing = false;
      this.showTransport();
    }
    this.source.wantFrame(this.t);
    this.showTime();
  }
  private goLive(): void {
    this.following = true;
    this.playing = false;
    this.t = this.last;
    this.source.wantFrame(this.last);
    this.showTransport();
    this.showTime();
  }
  private direct(): boolean {
    return this.scene.live && this.following;
  }
  private running(): boolean {
    return this.direct() ? this.state?.playing ?? false : this.playing;
  }
  private toggle(): void {
    this.touched = true;
    if (this.direct()) return this.source.send({ do: this.running() ? 'pause' : 'play' });
    this.playing = !this.playing;
    if (this.playing) {
      if (this.t >= this.last - 1e-9) this.t = this.first;
      let before = performance.now();
      const go = (now: number) => {
        if (!this.playing) return;
        const passed = Math.min(0.25, Math.max(0, (now - before) / 1000)) * (this.speed || 10);
        before = now;
        const next = this.t + passed;
        if (next >= this.last) {
          this.playing = false;
          this.seek(this.last);
          this.showTransport();
          return;
        }
        this.seek(next);
        requestAnimationFrame(go);
      };
      requestAnimationFrame(go);
    }
    this.showTransport();
  }
  private step(by: number): void {
    this.touched = true;
    if (this.direct()) {
      if (by > 0) return this.source.send({ do: 'step', count: by });
      return this.seek(this.source.stepTime(this.last, by), true);
    }
    this.playing = false;
    this.seek(this.source.stepTime(this.t, by), true);
    this.showTransport();
  }
  private ends(last: boolean): void {
    this.touched = true;
    if (last && this.scene.live) return this.goLive();
    this.playing = false;
    this.seek(last ? this.last : this.first, true);
    this.showTransport();
  }
  private setSpeed(speed: number, tell: boolean): void {
    this.speed = speed;
    const select = byId<HTMLSelectElement>('speed');
    if (![...select.options].some((o) => Number(o.value) === speed)) select.add(new Option(`${speed}×`, String(speed)));
    select.value = String(speed);
    if (tell && this.scene.live) this.source.send({ do: 'speed', value: speed });
  }

  private showTime(): void {
    this.clockNow.data = `${this.t.toFixed(3)} `;
    this.clockEnd.textContent = `/ ${Math.max(this.t, this.last).toFixed(this.last < 100 ? 2 : 0)} `;
    this.line.setTime(this.t);
    this.plots.setTime(this.t);
    this.showPhase();
    this.showJoints();
    this.showCardValue();
  }
  private showPhase(): void {
    const badge = byId('phase');
    const band = this.bands.find((b) => this.t >= b.t0 && this.t < b.t1) ?? this.bands[this.bands.length - 1];
    let phase = this.frame && this.frame.phase >= 0 && Math.abs(this.frame.t - this.t) < 0.5 ? this.frame.phase : band ? band.phase : -1;
    if (!this.scene.phases.length) phase = -1;
    badge.hidden = phase < 0;
    if (phase >= 0) {
      const name = this.scene.phases[phase] ?? `phase ${phase}`;
      if (badge.textContent !== name) badge.textContent = name;
      badge.style.borderColor = this.phaseColour(phase);
    }
  }

  /* ---- the 3-D view ---- */
  private makeView(): void {
    const host = byId('view3');
    const scene = this.scene;
    if (!scene.bodies.length) {
      host.append(el('div', { class: 'nogl' }, el('p', {}, scene.text || 'The bodies of this run are not known: plots only.')));
    } else {
      try {
        this.view = new Scene3D(host, scene, {
          select: (body) => this.select(body),
          pullable: () => this.direct() && this.source.served,
          pull: (body, at, to) => this.source.send({ do: 'pull', body, at, to }),
          release: () => this.source.send({ do: 'release' }),
          layer: (layer, on) => {
            const box = document.querySelector<HTMLInputElement>(`#layers input[data-layer=${layer}]`);
            if (box) box.checked = on;
          },
        });
      } catch {
        host.append(el('div', { class: 'nogl' }, el('p', {}, 'This browser gives no WebGL, so there is no 3-D view. Time line, plots and lists work without it.')));
      }
    }
    const view = this.view;
    const tools = host.querySelector<HTMLElement>('.tools3');
    if (!view) {
      if (tools) tools.hidden = true;
      return;
    }
    const c = colours3[theme()];
    const names: [Layer, string, string?][] = [
      ['links', 'links'], ['skeleton', 'skeletons of all bodies'],
      ...(scene.shapes.some((s) => s.role === 'visual') ? [['collision', 'contact shapes'] as [Layer, string]] : []),
      ...(scene.frames.length ? [['frames', 'frames'] as [Layer, string]] : []), ['bodyframes', 'frames of bodies'],
      ['axes', 'joint axes', c.joint], ['contacts', 'contacts and forces', c.force], ['nearest', 'nearest points', c.nearest], ['com', 'centre of mass', c.com],
      ['momentum', 'momentum', c.momentum], ['trails', 'trails'], ['grid', 'grid'],
    ];
    byId('layers').querySelector('.popbody')?.append(...names.map(([layer, name, colour]) => {
      const box = el('input', { type: 'checkbox', 'data-layer': layer, change: () => view.setLayer(layer, box.checked) });
      box.checked = view.layers[layer];
      return el('label', {}, box, name, colour ? el('i', { style: `background:${colour}` }) : null);
    }));
    byId('presets').append(...(['iso', 'front', 'side', 'top', 'fit'] as Preset[]).map((p, i) =>
      el('button', { type: 'button', title: `${p === 'fit' ? 'fit into view' : `view: ${p}`} (${i + 1})`, click: () => view.preset(p) }, p[0].toUpperCase() + p.slice(1))));
    const follow = byId<HTMLSelectElement>('follow');
    follow.add(new Option('nothing', ''));
    scene.bodies.forEach((b, i) => i && follow.add(new Option(b.name, String(i))));
    follow.addEventListener('change', () => view.follow(follow.value ? Number(follow.value) : null));
    setIcon(byId('picture'), 'camera', 'save the picture as PNG');
    byId('picture').addEventListener('click', () => void view.picture().then((b) => b && save(b, `${fileName(scene.title)}-${this.t.toFixed(3)}s.png`)));
  }

  private select(body: number | null): void {
    this.selected = body;
    this.view?.select(body);
    this.markTree();
    const card = byId('card');
    card.hidden = body === null;
    if (body === null) return;
    const b = this.scene.bodies[body], j = b.joint;
    const row = (name: string, value: string | HTMLElement) => el('tr', {}, el('td', {}, name), el('td', {}, value));
    const value = el('output', { id: 'cardvalue' }, '–');
    card.replaceChildren(
      iconButton('close', 'close', () => this.select(null)), el('h2', {}, b.name),
      el('table', {}, el('tbody', {},
        row('part', b.part || '–'), row('mass', `${pretty(b.mass)} kg`), row('joint', j ? `${j.name} (${j.type})` : '–'), row('on', b.parent >= 0 ? this.scene.bodies[b.parent].name : '–'),
        row('value', value))),
      el('div', { class: 'group' },
        el('button', { type: 'button', class: 'small', click: () => {
          byId<HTMLSelectElement>('follow').value = String(body);
          this.view?.follow(body);
        } }, 'Follow'),
        el('button', { type: 'button', class: 'small', click: () => this.setTrail(body, !this.view?.trailed(body)) }, 'Trail'),
        el('button', { type: 'button', class: 'small', click: () => {
          this.view?.setVisible(body, !this.view.isVisible(body));
          this.markTree();
        } }, 'Hide')));
    this.showCardValue();
  }
  private showCardValue(): void {
    if (this.selected === null || !this.frame) return;
    const e = document.getElementById('cardvalue');
    if (!e) return;
    const b = this.scene.bodies[this.selected], k = 7 * this.selected, p = this.frame.places;
    const value = this.jointOf(this.selected);
    const text = value !== null ? `${pretty(value)} ${b.joint?.unit || (b.joint?.type === 'prismatic' ? 'm' : 'rad')}`
      : k + 7 <= p.length ? `at ${pretty(p[k])}, ${pretty(p[k + 1])}, ${pretty(p[k + 2])} m` : '–';
    if (e.textContent !== text) e.textContent = text;
  }
  private setTrail(body: number, on: boolean): void {
    this.view?.setTrail(body, on, on ? this.source.path(body, this.scene.bodies[body].com) : null);
    this.markTree();
  }
  private jointOf(body: number): number | null {
    if (!this.frame) return null;
    const value = jointValue(this.scene, this.frame.places, body, this.jointNear[body] ?? 0);
    if (value !== null) this.jointNear[body] = value;
    return value;
  }

  /* ---- the bar below ---- */
  private makeTransport(): void {
    const live = this.scene.live;
    byId('clock').replaceChildren(this.clockNow, this.clockEnd, 's');
    document.body.dataset.live = String(live);
    this.line = new Timeline(byId('timeline'), { seek: (t) => this.seek(t, true), step: (by) => this.step(by), ends: (l) => this.ends(l) });
    this.line.colour = this.phaseColour;
    this.line.setSpan(this.first, this.last);
    this.line.setEvents(this.events);
    this.playButton = iconButton('play', 'play (space)', () => this.toggle());
    this.playButton.id = 'play';
    const b = byId('buttons');
    const first = iconButton('first', 'to the beginning (Home)', () => this.ends(false));
    const back = iconButton('back', 'one frame back (←)', () => this.step(-1));
    const next = iconButton('next', live ? 'one step (→)' : 'one frame on (→)', () => this.step(1));
    const last = iconButton('last', live ? 'to the newest (End)' : 'to the end (End)', () => this.ends(true));
    back.id = 'stepback', next.id = 'step', first.id = 'first', last.id = 'last';
    b.append(first, back, this.playButton, next, last);
    if (live) {
      const reset = iconButton('reset', 'begin again (R)', () => this.reset());
      reset.id = 'reset';
      b.append(reset);
    }
    const speed = byId<HTMLSelectElement>('speed');
    for (const s of [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 50]) speed.add(new Option(`${s}×`, String(s)));
    if (live) speed.add(new Option('fastest', '0'));
    this.setSpeed(1, false);
    speed.addEventListener('change', () => this.setSpeed(Number(speed.value), this.direct()));
    const go = byId('golive');
    go.hidden = !live;
    go.addEventListener('click', () => this.goLive());
    this.showTransport();
  }
  private reset(): void {
    if (!this.scene.live) return;
    this.following = true;
    this.source.send({ do: 'reset' });
    this.showTransport();
  }
  private showTransport(): void {
    const on = this.running();
    setIcon(this.playButton, on ? 'pause' : 'play', this.direct() ? (on ? 'pause the run (space)' : 'run (space)') : on ? 'pause (space)' : 'play (space)');
    if (this.scene.live) {
      byId('golive').classList.toggle('on', this.following);
      byId('golive').setAttribute('aria-pressed', String(this.following));
      byId('badgelive').textContent = this.following ? '' : 'looking back into the record';
    }
    document.body.dataset.playing = String(on);
    document.body.dataset.following = String(this.following);
    this.sliders.forEach((s) => (s.input.disabled = !this.direct()));
  }

  /* ---- the lists beside ---- */
  private makeSide(): void {
    const scene = this.scene;
    const jointed = scene.bodies.some((b) => b.joint?.nq === 1);
    if (scene.source === 'model' && scene.live && jointed) this.tab = 'joints'; // nothing to plot yet
    const tabs = document.querySelector<HTMLElement>('.tabs')!, panels = document.querySelector<HTMLElement>('.tabpanels')!;
    const add = (id: string, name: string): HTMLElement => {
      const panel = el('div', { id: `panel-${id}`, role: 'tabpanel', 'aria-labelledby': `tab-${id}`, tabindex: '-1' });
      panel.hidden = id !== this.tab;
      panels.append(panel);
      tabs.append(el('button', { type: 'button', role: 'tab', id: `tab-${id}`, 'aria-controls': `panel-${id}`, 'aria-selected': String(id === this.tab), tabindex: id === this.tab ? '0' : '-1', click: () => this.showTab(id) }, name));
      return panel;
    };
    tabs.addEventListener('keydown', (e) => {
      const all = [...tabs.querySelectorAll('button')], i = all.indexOf(document.activeElement as HTMLButtonElement);
      const to = e.key === 'ArrowRight' ? i + 1 : e.key === 'ArrowLeft' ? i - 1 : -2;
      if (to === -2) return;
      e.preventDefault();
      e.stopPropagation();
      const b = all[(to + all.length) % all.length];
      b.click();
      b.focus();
    });
    const plotHost = add('plots', 'Plots');
    this.plots = new Plots(plotHost, {
      title: scene.title, signals: scene.signals,
      curves: (key, signals, t0, t1, columns) => this.source.curves(key, signals, t0, t1, columns),
      samples: (signals, t0, t1) => this.source.samples(signals, t0, t1),
      whole: () => [this.first, this.last > this.first ? this.last : this.first + 1],
      seek: (t) => this.seek(t, true),
      zoomed: (range) => this.line.setRange(range),
      phases: () => this.bands,
      phaseColour: this.phaseColour,
    });
    if (this.tab !== 'plots') this.plots.setVisible(false);
    if (scene.bodies.length > 1) {
      this.makeTree(add('bodies', 'Bodies'));
      if (jointed) this.makeJoints(add('joints', 'Joints'));
    }
    this.makeEvents(add('events', 'Events'));
    if (scene.summary.length || scene.notes.length) {
      add('summary', 'Summary').append(el('table', { class: 'summary' }, el('tbody', { id: 'rows' })), el('div', { id: 'notelist', class: 'notelist' }, el('h2', {}, 'Notes'), el('ul', {})));
      this.onSummary(scene.summary, scene.notes, true);
    }
    if (scene.scenario || scene.text)
      add('scenario', 'Scenario').append(el('div', { class: 'scenario' }, el('p', {}, scene.text),
        scene.scenario ? el('details', { open: true }, el('summary', {}, 'The scenario as it was run'), el('pre', {}, scene.scenario)) : null));
    this.splitter();
  }
  /** Rows and notes of a summary, also of one that changes while it is looked at: only what differs is written. */
  private onSummary(rows: Scene['summary'], notes: string[], first = false): void {
    const body = document.getElementById('rows');
    if (!body) return;
    while (body.children.length > rows.length) body.lastElementChild!.remove();
    rows.forEach((row, i) => {
      if (i >= body.children.length) body.append(el('tr', {}, el('th', { scope: 'row' }), el('td', {})));
      row.forEach((text, k) => {
        const cell = body.children[i].children[k];
        if (cell.textContent !== text) cell.textContent = text;
      });
    });
    const fresh = first ? notes[0] : notes.find((n) => !this.scene.notes.includes(n));
    if (!first && !fresh) return;
    this.scene.notes = notes;
    byId('notelist').hidden = !notes.length;
    byId('notelist').querySelector('ul')!.replaceChildren(...notes.map((n) => el('li', {}, n)));
    if (fresh) this.showNote(fresh);
  }
  /** What could not be shown, in one line over the 3-D view until it is closed; all of it is in a list. */
  private showNote(note: string): void {
    const { notes } = this.scene;
    document.querySelector('.noterow')?.remove();
    const line = el('div', { class: 'noterow' }, el('div', { id: 'notes', role: 'status' }, el('span', { title: note }, note),
      el('button', { type: 'button', class: 'small', click: () => this.showTab('summary') }, notes.length > 1 ? `all ${notes.length} notes` : 'notes'),
      iconButton('close', 'close the note', () => line.remove())));
    (document.querySelector('.tools3:not([hidden])') ?? byId('view3')).append(line);
  }
  private showTab(id: string): void {
    this.tab = id;
    for (const b of document.querySelectorAll<HTMLElement>('.tabs button')) {
      const on = b.id === `tab-${id}`;
      b.setAttribute('aria-selected', String(on));
      b.tabIndex = on ? 0 : -1;
    }
    for (const p of document.querySelectorAll<HTMLElement>('.tabpanels > div')) p.hidden = p.id !== `panel-${id}`;
    this.plots.setVisible(id === 'plots');
    if (id === 'events') this.listEvents();
    this.showTime();
  }

  private makeTree(host: HTMLElement): void {
    const scene = this.scene, view = this.view;
    const parts = new Map<string, number[]>();
    scene.bodies.forEach((b, i) => parts.set(i ? b.part || scene.title : 'world', [...(parts.get(i ? b.part || scene.title : 'world') ?? []), i]));
    const rows: { body: number; row: HTMLElement; show: HTMLInputElement; trail: HTMLInputElement }[] = [];
    const depth = (i: number): number => (i > 0 && scene.bodies[i].parent > 0 && scene.bodies[scene.bodies[i].parent].part === scene.bodies[i].part ? 1 + depth(scene.bodies[i].parent) : 0);
    const tree = el('div', { class: 'tree' });
    if (!view) tree.append(el('p', { class: 'muted' }, 'Without a 3-D view there is nothing to show or hide.'));
    for (const [part, list] of parts) {
      const all = el('input', { type: 'checkbox', checked: true, 'aria-label': `show ${part}`, change: () => {
        list.forEach((i) => view?.setVisible(i, all.checked));
        this.markTree();
      } });
      all.checked = true;
      const details = el('details', { open: list.length <= 40 }, el('summary', {}, all, ` ${part} `, el('span', { class: 'muted' }, String(list.length))));
      for (const i of list) {
        const b = scene.bodies[i];
        const show = el('input', { type: 'checkbox', 'aria-label': `show ${b.name}`, change: () => {
          view?.setVisible(i, show.checked);
          this.markTree();
        } });
        const trail = el('input', { type: 'checkbox', 'aria-label': `trail of ${b.name}`, change: () => this.setTrail(i, trail.checked) });
        const label = i && b.part && b.name.startsWith(`${b.part}.`) ? b.name.slice(b.part.length + 1) : b.name;
        const row = el('div', { class: 'treerow', style: `padding-left:${4 + 10 * Math.min(8, depth(i))}px` }, show, el('span', { class: 'swatch', style: `background:${view?.partColour(i) ?? '#888'}` }),
          el('button', { type: 'button', class: 'link', title: b.name, click: () => this.select(i ? i : null) }, label), i ? el('label', {}, trail, 'trail') : null);
        rows.push({ body: i, row, show, trail });
        details.append(row);
      }
      tree.append(details);
    }
    host.append(tree);
    this.markTree = () => rows.forEach((r) => {
      r.row.classList.toggle('on', r.body === this.selected);
      r.show.checked = view?.isVisible(r.body) ?? true;
      r.trail.checked = view?.trailed(r.body) ?? false;
    });
    this.markTree();
  }

  private makeJoints(host: HTMLElement): void {
    const scene = this.scene;
    const list = scene.bodies.map((b, i) => ({ b, i })).filter(({ b }) => b.joint?.nq === 1);
    const rows: [string, HTMLElement][] = [];
    if (list.length > 12) {
      const search = el('input', { type: 'search', placeholder: 'search joints', 'aria-label': 'search joints', input: () => rows.forEach(([name, row]) => (row.hidden = !name.includes(search.value.toLowerCase()))) });
      host.append(el('div', { class: 'search' }, search));
    }
    host.append(el('p', { class: 'muted pad' }, scene.live ? 'Drag: paused, the joint is put there; running, it is pulled there while you hold it.' : 'Values at the time shown.'));
    for (const { b, i } of list) {
      const j = b.joint!;
      const wide = j.type === 'prismatic' ? 1 : Math.PI;
      const q = this.jointNear[i];
      const lower = j.lower ?? Math.min(-wide, q - wide / 2), upper = j.upper ?? Math.max(wide, q + wide / 2);
      const unit = j.unit || (j.type === 'prismatic' ? 'm' : 'rad');
      const input = el('input', { type: 'range', min: lower, max: upper, step: 'any', 'aria-label': `${j.name} in ${unit}`, disabled: !scene.live });
      const out = el('output', {}, `${digits(q)} ${unit}`);
      input.value = String(q);
      const s = { body: i, input, out, held: false, timer: 0 };
      let sent = 0;
      const release = () => {
        if (!s.held) return;
        s.held = false;
        this.source.send({ do: 'joint', q: j.q, value: Number(input.value) });
        if (this.state?.playing) this.source.send({ do: 'joint', q: j.q });
      };
      input.addEventListener('input', () => {
        s.held = true;
        out.textContent = `${digits(Number(input.value))} ${unit}`;
        const now = performance.now();
        if (now - sent > 25) {
          sent = now;
          this.source.send({ do: 'joint', q: j.q, value: Number(input.value) });
        }
        window.clearTimeout(s.timer);
        if (!dragging) s.timer = window.setTimeout(release, 800); // by key: held for a moment
      });
      let dragging = false;
      input.addEventListener('pointerdown', () => (dragging = true));
      for (const name of ['pointerup', 'pointercancel'])
        input.addEventListener(name, () => {
          dragging = false;
          window.clearTimeout(s.timer);
          window.setTimeout(release, 0);
        });
      this.sliders.push(s);
      const row = el('div', { class: 'joint' }, el('span', { title: `${j.name} (${j.type})` }, j.name), out, input,
        el('small', {}, el('span', {}, j.lower === null ? 'no limit' : pretty(lower)), el('span', {}, j.upper === null ? '' : pretty(upper))));
      rows.push([j.name.toLowerCase(), row]);
      host.append(row);
    }
  }
  private showJoints(): void {
    if (this.tab !== 'joints' || !this.frame) return;
    for (const s of this.sliders) {
      const value = this.jointOf(s.body);
      if (value === null || s.held) continue;
      const j = this.scene.bodies[s.body].joint!;
      s.input.value = String(value);
      const text = `${digits(value)} ${j.unit || (j.type === 'prismatic' ? 'm' : 'rad')}`;
      if (s.out.textContent !== text) s.out.textContent = text;
    }
  }

  /** Only the rows in sight exist. */
  private makeEvents(host: HTMLElement): void {
    const tall = 28;
    const list = el('div', { class: 'events' });
    host.append(list);
    const draw = () => {
      if (this.tab !== 'events') return;
      list.style.height = `${tall * this.events.length}px`;
      const a = Math.max(0, Math.floor(host.scrollTop / tall) - 4), b = Math.min(this.events.length, a + Math.ceil(host.clientHeight / tall) + 8);
      list.replaceChildren(...(this.events.length ? [] : [el('p', { class: 'muted pad' }, 'No events so far.')]));
      for (let i = a; i < b; ++i) {
        const e = this.events[i];
        list.append(el('button', { type: 'button', class: 'row', style: `top:${tall * i}px`, title: e.text, click: () => this.seek(e.t, true) },
          el('span', {}, e.t.toFixed(3)), el('span', { style: `color:${e.kind === 'phase' ? css('--text') : eventColour(e.kind)}` }, e.kind), el('span', {}, e.text)));
      }
    };
    host.addEventListener('scroll', draw);
    new ResizeObserver(draw).observe(host);
    this.listEvents = draw;
  }

  private splitter(): void {
    const bar = byId('splitter'), work = document.querySelector<HTMLElement>('.work')!;
    const set = (px: number) => work.style.setProperty('--side', `${Math.round(clamp(px, 260, Math.max(260, work.clientWidth - 320)))}px`);
    let down = false;
    bar.addEventListener('pointerdown', (e) => {
      down = true;
      bar.setPointerCapture(e.pointerId);
    });
    bar.addEventListener('pointermove', (e) => down && set(work.getBoundingClientRect().right - e.clientX - 3));
    bar.addEventListener('pointerup', () => (down = false));
    bar.addEventListener('keydown', (e) => {
      const by = e.key === 'ArrowLeft' ? 24 : e.key === 'ArrowRight' ? -24 : 0;
      if (!by) return;
      e.preventDefault();
      e.stopPropagation();
      set(document.querySelector<HTMLElement>('.side')!.clientWidth + by);
    });
  }

  /* ---- keys ---- */
  private keys(): void {
    setIcon(byId('theme'), 'theme', 'dark or light (T)');
    setIcon(byId('help'), 'help', 'help (?)');
    document.addEventListener('pointerdown', (e) => {
      for (const pop of document.querySelectorAll<HTMLDetailsElement>('details.pop[open]')) if (!pop.contains(e.target as Node)) pop.open = false;
    });
    byId('theme').addEventListener('click', toggleTheme);
    byId('help').addEventListener('click', () => this.help());
    document.addEventListener('keydown', (e) => {
      const on = e.target as HTMLElement;
      if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector('dialog[open]')) return;
      const writing = on.matches('input:not([type=checkbox]), select, textarea');
      const button = on.matches('button, summary, input[type=checkbox], a');
      const run = (f: () => void) => {
        e.preventDefault();
        f();
      };
      if (e.key === 'Escape') {
        const pop = document.querySelector<HTMLDetailsElement>('details.pop[open]');
        if (!pop) return this.select(null);
        pop.open = false;
        return pop.querySelector('summary')?.focus();
      }
      if (writing && !(on.matches('input[type=range]') && e.key === ' ')) return;
      switch (e.key) {
        case ' ': return button ? undefined : run(() => this.toggle());
        case 'ArrowLeft': return run(() => (e.shiftKey ? this.seek(this.t - 1, true) : this.step(-1)));
        case 'ArrowRight': return run(() => (e.shiftKey ? this.seek(this.t + 1, true) : this.step(1)));
        case 'PageUp': return run(() => this.event(-1));
        case 'PageDown': return run(() => this.event(1));
        case 'Home': return run(() => this.ends(false));
        case 'End': return run(() => this.ends(true));
        case 'l': case 'L': return this.scene.live ? run(() => this.goLive()) : undefined;
        case 'r': case 'R': return run(() => this.reset());
        case 't': case 'T': return run(toggleTheme);
        case '+': case '=': return run(() => this.plots.zoomBy(0.5, this.t));
        case '-': return run(() => this.plots.zoomBy(2, this.t));
        case '0': return run(() => this.plots.setRange(null));
        case '1': case '2': case '3': case '4': case '5':
          return run(() => this.view?.preset((['iso', 'front', 'side', 'top', 'fit'] as Preset[])[Number(e.key) - 1]));
        case '?': return run(() => this.help());
      }
    });
  }
  /** To the event before or after. */
  private event(by: number): void {
    const list = by > 0 ? this.events.find((e) => e.t > this.t + 1e-6) : [...this.events].reverse().find((e) => e.t < this.t - 1e-6);
    if (list) this.seek(list.t, true);
  }
  private help(): void {
    const keys: [string, string][] = [
      ['Space', this.scene.live ? 'run or pause' : 'play or pause'], ['← →', this.scene.live ? 'back into the record, one step on' : 'one frame back or on'], ['Shift ← →', 'one second'],
      ['Page ↑ ↓', 'event before or after'], ['Home End', this.scene.live ? 'to the beginning, to the newest' : 'to the beginning or end'],
      ...(this.scene.live ? [['L', 'follow the live run'], ['R', 'begin again']] as [string, string][] : []),
      ['1 2 3 4 5', 'camera: iso, front, side, top, fit'], ['+ − 0', 'zoom the plots, whole time'], ['T', 'dark or light'], ['Esc', 'choose nothing'], ['?', 'this help'],
    ];
    const dialog = el('dialog', { 'aria-label': 'help' },
      el('form', { method: 'dialog', class: 'dialoghead' }, el('h2', {}, 'Keys and mouse'), el('button', { type: 'submit', class: 'primary' }, 'Close')),
      el('div', { class: 'keys' }, ...keys.flatMap(([k, what]) => [el('span', {}, ...k.split(' ').flatMap((x) => [el('kbd', {}, x), ' '])), el('span', {}, what)])),
      el('p', {}, this.scene.live ? 'In the 3-D view: drag a body to pull it, drag elsewhere to turn, wheel to zoom, right drag to move. ' : 'In the 3-D view: click a body to see what it is, drag to turn, wheel to zoom, right drag to move. ',
        'In a plot: click or drag moves the time; Shift and drag, or Ctrl and wheel, zooms; double click shows the whole time.'));
    dialog.addEventListener('close', () => dialog.remove());
    dialog.addEventListener('click', (e) => e.target === dialog && dialog.close());
    document.body.append(dialog);
    dialog.showModal();
  }

  /** For tests. */
  probe(): object {
    return {
      t: this.t, first: this.first, last: this.last, playing: this.started && this.running(), following: this.following, drawn: this.view?.frames ?? 0,
      frameTime: this.frame?.t ?? null, selected: this.selected, places: this.frame ? Array.from(this.frame.places) : [],
    };
  }
}

function start(): App | null {
  const scene = document.getElementById('soa-scene');
  try {
    if (scene) return new App(new EmbeddedSource(scene.textContent ?? '', document.getElementById('soa-data')?.textContent ?? ''));
    if (!/^https?:$/.test(location.protocol)) throw new Error('this file holds no run; open it with "soa view", or make a report with "soa report"');
    const token = new URLSearchParams(location.search).get('token');
    return new App(new SocketSource(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/socket${token ? `?token=${encodeURIComponent(token)}` : ''}`));
  } catch (e) {
    const banner = byId('banner');
    banner.hidden = false;
    banner.textContent = `Nothing can be shown: ${e instanceof Error ? e.message : String(e)}`;
    return null;
  }
}
(window as unknown as { soa: App | null }).soa = start();

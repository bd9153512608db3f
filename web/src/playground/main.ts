// The playground: a machine in the browser, moved by hand or let go, and operator expressions run on its state.
import '../shared/style.css';
import './playground.css';
import factory from 'soa-core/playground.js';
import models from 'soa-core/models.json';
import { byId, el } from '../shared/dom';
import { icon, iconButton, setIcon } from '../shared/icons';
import { pretty } from '../shared/numbers';
import type { Scene, Shape, Vec3 } from '../data/protocol';
import { readScene } from '../data/read-json';
import { Scene3D } from '../scene3d/scene3d';
import type { Layer, Preset } from '../scene3d/types';
import { reducedMotion as calm, css, onTheme, toggleTheme } from '../shared/theme';
import { Core, type Session } from './core.js';
import { Bars, components, MatrixView } from './result';
import { drawSweep, readExplained, recursionLine, steps, type Sweep } from './sweeps';

type Expression = ReturnType<Session['expression']>;
const clamp = (x: number, a: number, b: number) => Math.max(a, Math.min(b, x));
const TICK = 1e-3; // s, of the motion

const examples: [string, string][] = [
  ['FD1', 'forward dynamics, RK88-I (4.17)'], ['FD2', 'link accelerations, RK88-I (5.5)'], ['FD3', 'forward dynamics, RK88-I (5.8)'],
  ['FD4', 'forward dynamics, RK88-I (5.14)'], ['ID', 'inverse dynamics, RK88-I (3.19)'], ["J inv(Mass) J'", 'Omega: what a force at the tips does to them'],
  ["inv(J inv(Mass) J')", 'Lambda: the inertia felt at the tips'], ['inv(Mass) T', 'accelerations due to T'], ['Mass', 'the mass matrix'],
  ["phi' H' thd", 'link velocities'], ['phi', 'the composition operator'], ['psi', 'the same for articulated bodies'],
];

const usual = () => ({ T: 'unit', thdd: '1', f0: '0' });

function toast(text: string): void {
  const e = el('div', { class: 'toast' }, text);
  const all = byId('toasts');
  while (all.children.length > 2) all.firstElementChild?.remove();
  all.append(e);
  setTimeout(() => e.remove(), 6000);
}
const bytesOf = (base64: string): Uint8Array => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
const words = (e: unknown): string => (e instanceof Error ? e.message : String(e));

interface Loose { name: string; frame: number; parent: number; mass: number; com: Vec3; inertia: number[]; joint: { type: string } }
/** What floats gets a body: the solid box of its mass and inertia, in its own axes. */
function boxOf(b: Loose, i: number): Shape[] {
  const [x, y, z] = b.inertia, half = [y + z - x, z + x - y, x + y - z].map((s) => Math.sqrt(Math.max(0, (1.5 * s) / b.mass))) as Vec3;
  return half.every((h) => h > 0) ? [{ name: b.name, group: b.name, body: i, place: [...b.com, 1, 0, 0, 0], role: 'contact', type: 'box', half, radius: 0, colour: null, vertices: [], faces: [] }] : [];
}

class Playground {
  private session!: Session;
  private scene!: Scene;
  private view: Scene3D | null = null;
  private home: number[] = [];
  private t = 0;
  private running = false;
  private pulling = false;
  private sliders: { q: number; input: HTMLInputElement; out: HTMLOutputElement; held: boolean }[] = [];
  private tipNames: string[] = [];
  private expression: Expression | null = null;
  private shown: { set(values: Float64Array): void; draw?(): void } | null = null;
  private massView: MatrixView | null = null;
  private sweepsShown: Sweep[] = [];
  private flow: { list: number[]; at: number; since: number; again: boolean } | null = null;
  private timer = 0;
  private lastTime = 0;
  private denseAt = 0;
  private denseCost = 0; // ms
  private slowAt = 0;
  private stale = true; // something moved since the last picture
  private queued = false;
  private vectors = usual();
  private text!: HTMLTextAreaElement;
  private asWritten!: HTMLInputElement;
  private panels: Record<string, HTMLElement> = {};

  constructor(private core: Core) {
    this.makeFrame();
    this.makeExpression();
    onTheme((name) => {
      this.view?.setTheme(name);
      this.shown?.draw?.();
      this.massView?.draw();
      this.paintFlow(performance.now());
    });
    this.keys();
    const wanted = decodeURIComponent(location.hash.slice(1));
    this.pick(models.some((m) => m.spec === wanted) ? wanted : models[0].spec);
  }

  /* ---- machines ---- */
  private pick(spec: string): void {
    const m = models.find((x) => x.spec === spec) ?? models[0];
    byId<HTMLSelectElement>('machine').value = m.spec;
    this.load(bytesOf(m.bytes), m.text, m.q);
  }
  private own = (): boolean => false; // the file opened last, again
  private load(bytes: Uint8Array, text: string, q: number[]): boolean {
    let session: Session;
    try {
      session = this.core.open(bytes);
    } catch (e) {
      toast(words(e));
      return false;
    }
    this.session?.close();
    this.session = session;
    this.running = this.pulling = false;
    this.t = 0;
    const leaves = (session.scene.bodies as Loose[]).filter((_, i, all) => i && !all.some((c, k) => k > i && c.parent === i)).slice(0, 8);
    if (leaves.length) session.tips(leaves.map((b) => b.frame)); // tip space: the ends of all branches
    this.tipNames = session.scene.tips.map((f: number) => session.scene.frames[f].name);
    this.scene = readScene(session.scene);
    this.scene.frames = []; // links' own frames say nothing new
    this.scene.shapes = session.scene.bodies.flatMap((b: Loose, i: number) => (i && b.parent === 0 && b.joint.type === 'free' ? boxOf(b, i) : []));
    if (q.length === session.nq) session.set('q', q);
    this.home = Array.from(session.vector('q'));
    const floats = this.scene.bodies.some((b) => b.parent === 0 && b.joint?.type === 'free');
    const own: number[] = session.scene.gravity;
    byId<HTMLInputElement>('gravity').checked = !floats && own.some((g) => g !== 0);
    this.setGravity();
    byId('text').textContent = byId('text').title = `${text} · ${session.nv} degrees of freedom, ${this.scene.bodies.length - 1} bodies, ${pretty(session.scene.mass)} kg`;
    document.title = `${this.scene.title} – soa playground`;
    if (this.setVectors()) this.vectors = usual(); // lists for another machine
    this.setVectors();
    this.makeView();
    this.makeState();
    this.makeMachine();
    this.showRunning();
    this.give();
    this.changed();
    return true;
  }
  private setGravity(): void {
    const own: number[] = this.session.scene.gravity;
    const down = own.some((g) => g !== 0) ? own : [0, 0, -9.81];
    this.session.gravity(byId<HTMLInputElement>('gravity').checked ? down : [0, 0, 0]);
    this.changed();
  }

  private makeView(): void {
    const layers = this.view?.layers;
    this.view?.dispose();
    this.view = null;
    this.flow = null;
    try {
      this.view = new Scene3D(byId('view3'), this.scene, {
        select: (body) => this.view?.select(body),
        pullable: () => true,
        pull: (body, at, to) => this.pull(body, at, to),
        release: () => this.release(),
      });
      this.view.setLayer('skeleton', true);
      if (layers) for (const [name, on] of Object.entries(layers)) this.view.setLayer(name as Layer, on);
    } catch {
      if (!document.querySelector('.nogl')) byId('view3').append(el('div', { class: 'nogl' }, 'This browser shows no 3-D pictures (WebGL is missing). Everything else works.'));
    }
  }

  /* ---- motion ---- */
  private pull(body: number, at: ArrayLike<number>, to: ArrayLike<number>): void {
    try {
      this.session.pull(body, at, to);
      this.pulling = true;
      this.wake();
    } catch (e) {
      toast(words(e));
    }
  }
  private release(): void {
    this.session.release();
    if (this.pulling && !this.running) this.session.vector('v').fill(0);
    this.pulling = false;
    this.changed();
  }
  private showRunning(): void {
    const b = byId('swing');
    b.replaceChildren(icon(this.running ? 'pause' : 'play'), this.running ? 'Pause' : 'Let go');
    b.setAttribute('aria-pressed', String(this.running));
    b.title = 'space';
  }
  private toggle(): void {
    this.running = !this.running;
    this.showRunning();
    this.wake();
  }
  private reset(): void {
    this.running = this.pulling = false;
    this.session.release();
    this.session.set('q', this.home);
    this.session.vector('v').fill(0);
    this.t = 0;
    this.showRunning();
    this.changed();
  }
  private changed(): void {
    this.stale = true;
    this.wake();
  }
  private wake(): void {
    if (this.queued) return;
    this.queued = true;
    this.lastTime = 0;
    requestAnimationFrame(this.turn);
  }
  private turn = (now: number): void => {
    const passed = this.lastTime ? clamp((now - this.lastTime) / 1000, 0, 0.05) : 1 / 60;
    this.lastTime = now;
    if (this.running || this.pulling) {
      const count = Math.max(1, Math.round(passed / TICK));
      try {
        // paused, a pulled body comes along without weight and without swinging
        if (this.running) this.session.move(TICK, count, Number(byId<HTMLSelectElement>('losses').value), false), (this.t += count * TICK);
        else this.session.move(TICK, count, 12, true);
      } catch (e) {
        this.session.vector('v').fill(0);
        this.running = this.pulling = false;
        this.session.release();
        this.showRunning();
        toast(`${words(e)}: stopped`);
      }
      this.stale = true;
    }
    if (this.stale) this.refresh(now);
    if (this.flow) this.paintFlow(now);
    if (this.running || this.pulling || this.flow?.again || (this.flow && !calm())) requestAnimationFrame(this.turn);
    else {
      this.queued = false;
      if (this.stale || this.slowAt < this.denseAt) this.refresh(Infinity);
    }
  };

  /** Everything that depends on the state; what is slow at most four times a second. */
  private refresh(now: number): void {
    const s = this.session, slow = now - this.slowAt > 250 || !(this.running || this.pulling);
    this.stale = false;
    try {
      const places = Float32Array.from(s.compute('places')), h = s.compute('momentum');
      const com = Float32Array.from([h[6], h[7], h[8], h[3], h[4], h[5], h[0], h[1], h[2]]);
      this.view?.setFrame({ t: this.t, places, com, contacts: new Float32Array(), lines: new Float32Array() });
    } catch (e) {
      toast(words(e));
    }
    const q = s.vector('q');
    for (const x of this.sliders) {
      if (!x.held) x.input.value = String(q[x.q]);
      x.out.textContent = pretty(q[x.q]);
    }
    byId('clock').textContent = `${this.t.toFixed(2)} s`;
    const energy = s.compute('energy');
    byId('energy').textContent = `energy ${pretty(energy[0] + energy[1])} J`;
    if (slow) {
      this.slowAt = Number.isFinite(now) ? now : performance.now();
      if (/hold|unit/.test(this.vectors.T)) this.setVectors();
      this.showMachine(energy, s);
    }
    this.run(slow);
  }

  /* ---- the frame of the page ---- */
  private makeFrame(): void {
    const machine = byId<HTMLSelectElement>('machine');
    for (const m of models) machine.append(el('option', { value: m.spec, title: m.text }, m.name));
    machine.addEventListener('change', () => {
      if (machine.value === 'own') return void this.own();
      history.replaceState(null, '', `#${encodeURIComponent(machine.value)}`);
      this.pick(machine.value);
    });
    const file = byId<HTMLInputElement>('file');
    const take = async (f: File | undefined) => {
      if (!f) return;
      const bytes = new Uint8Array(await f.arrayBuffer());
      if (!this.load(bytes, f.name, [])) return;
      machine.querySelector('[value=own]')?.remove();
      machine.append(el('option', { value: 'own' }, f.name));
      machine.value = 'own';
      this.own = () => this.load(bytes, f.name, []);
    };
    byId('open').title = 'a model saved by: soa save robot.urdf -o robot.soam';
    byId('open').addEventListener('click', () => file.click());
    file.addEventListener('change', () => void take(file.files?.[0]).then(() => (file.value = '')));
    document.addEventListener('dragover', (e) => e.preventDefault());
    document.addEventListener('drop', (e) => {
      e.preventDefault();
      void take(e.dataTransfer?.files[0]);
    });

    setIcon(byId('theme'), 'theme', 'dark or light (t)');
    byId('theme').addEventListener('click', toggleTheme);
    setIcon(byId('help'), 'help', 'help (?)');
    byId('help').addEventListener('click', () => this.help());
    byId('swing').addEventListener('click', () => this.toggle());
    byId('reset').append(icon('reset'), 'Reset');
    byId('reset').title = 'r';
    byId('reset').addEventListener('click', () => this.reset());
    byId('gravity').addEventListener('change', () => this.setGravity());
    for (const [value, name] of [['0', 'none'], ['0.1', 'small'], ['0.5', 'some'], ['3', 'large']]) byId('losses').append(el('option', { value }, name));
    byId<HTMLSelectElement>('losses').value = '0.1';
    byId('losses').title = 'all speeds die away at this rate';
    const presets: [Preset, string][] = [['iso', 'Iso'], ['front', 'Front'], ['side', 'Side'], ['top', 'Top'], ['fit', 'Fit']];
    presets.forEach(([name, label], k) => byId('presets').append(el('button', { type: 'button', title: String(k + 1), click: () => this.view?.preset(name) }, label)));
    const layers: [Layer, string][] = [['axes', 'joint axes'], ['bodyframes', 'frames of bodies'], ['com', 'centre of mass'], ['momentum', 'momentum'], ['grid', 'ground grid']];
    for (const [name, label] of layers) {
      const box = el('input', { type: 'checkbox', change: () => this.view?.setLayer(name, box.checked) });
      box.checked = name === 'grid';
      byId('layers').querySelector('.popbody')!.append(el('label', {}, box, label));
    }

    const tabs = document.querySelector('.tabs')!, panels = document.querySelector('.tabpanels')!;
    const choose = (id: string) => {
      for (const b of tabs.querySelectorAll('button')) b.setAttribute('aria-selected', String(b.dataset.tab === id)), (b.tabIndex = b.dataset.tab === id ? 0 : -1);
      for (const [name, p] of Object.entries(this.panels)) p.hidden = name !== id;
    };
    const names: [string, string][] = [['expression', 'Expression'], ['state', 'State'], ['numbers', 'Machine']];
    for (const [id, label] of names) {
      tabs.append(el('button', { type: 'button', role: 'tab', id: `tab-${id}`, 'data-tab': id, 'aria-controls': `panel-${id}`, click: () => choose(id) }, label));
      panels.append((this.panels[id] = el('div', { role: 'tabpanel', id: `panel-${id}`, 'aria-labelledby': `tab-${id}`, tabindex: 0 })));
    }
    tabs.addEventListener('keydown', (e) => {
      const all = [...tabs.querySelectorAll('button')], k = all.indexOf(document.activeElement as HTMLButtonElement);
      const to = { ArrowRight: k + 1, ArrowLeft: k - 1, Home: 0, End: all.length - 1 }[(e as KeyboardEvent).key];
      if (k < 0 || to === undefined) return;
      e.preventDefault();
      const b = all[(to + all.length) % all.length];
      b.focus(), b.click();
    });
    choose('expression');
  }
  private keys(): void {
    document.addEventListener('keydown', (e) => {
      const on = e.target as HTMLElement;
      if (e.ctrlKey || e.metaKey || e.altKey || on.matches('textarea, input:not([type=range]):not([type=checkbox]), select') || document.querySelector('dialog[open]')) return;
      const preset = ['iso', 'front', 'side', 'top', 'fit'][Number(e.key) - 1];
      if (e.key === ' ' && !on.matches('button, summary, input')) this.toggle();
      else if (e.key === 'r') this.reset();
      else if (e.key === 't') toggleTheme();
      else if (e.key === '?') this.help();
      else if (e.key === 'e') this.text.focus();
      else if (preset) this.view?.preset(preset as Preset);
      else return;
      e.preventDefault();
    });
  }
  private help(): void {
    const d = el('dialog', { 'aria-label': 'help' });
    const key = (k: string, what: string) => [el('kbd', {}, k), el('span', {}, what)];
    d.append(el('div', { class: 'dialoghead' }, el('h2', {}, 'Playground'), iconButton('close', 'close', () => d.close())),
      el('p', {}, 'Spatial operators, run in this page by libsoa compiled to WebAssembly; nothing is sent anywhere. Drag a body to pull it, drag the ground to turn the view, let the machine go, ' +
        'and write an expression: its recursions, its numbers at the present state and their difference from plain matrix arithmetic follow.'),
      el('p', {}, 'The machines are ideal: no friction, springs or rotors, and limits of joints are only those of the sliders. Open a saved model of your own with Open… or drop its file here; ',
        el('code', {}, 'soa save robot.urdf -o robot.soam'), ' makes one.'),
      el('div', { class: 'keys' }, ...key('space', 'let go, pause'), ...key('r', 'reset'), ...key('e', 'write an expression'), ...key('1 … 5', 'views'), ...key('t', 'dark or light'), ...key('?', 'this')));
    d.addEventListener('close', () => d.remove());
    document.body.append(d);
    d.showModal();
  }

  /* ---- state ---- */
  private makeState(): void {
    const host = this.panels.state, own = this.scene.bodies.filter((b) => b.joint?.nq === 1);
    const field = (name: keyof typeof this.vectors, what: string) => {
      const input = el('input', { type: 'text', id: `vector-${name}`, value: this.vectors[name], spellcheck: 'false', autocomplete: 'off' });
      const wrong = el('small', { class: 'wrong', role: 'alert' });
      input.addEventListener('input', () => {
        this.vectors[name] = input.value;
        wrong.textContent = this.setVectors();
        input.setAttribute('aria-invalid', String(!!wrong.textContent));
        this.changed();
      });
      return el('div', { class: 'vector' }, el('label', { for: input.id }, el('b', {}, name), ` ${what}`), input, wrong);
    };
    this.sliders = own.map((b) => {
      const j = b.joint!, unit = j.unit || (j.type === 'prismatic' ? 'm' : 'rad'), span = j.type === 'prismatic' ? 1 : Math.PI;
      const lower = j.lower ?? -span, upper = j.upper ?? span;
      const input = el('input', { type: 'range', min: lower, max: upper, step: 'any', 'aria-label': `${j.name} in ${unit}` }), out = el('output');
      const s = { q: j.q, input, out, held: false };
      input.addEventListener('pointerdown', () => (s.held = true));
      input.addEventListener('input', () => {
        if (this.running) {
          s.held = true;
          this.session.lead(j.q, Number(input.value));
        } else {
          this.session.vector('q')[j.q] = Number(input.value);
          this.session.vector('v').fill(0);
        }
        this.changed();
      });
      const end = () => {
        s.held = false;
        if (!this.pulling) this.session.release();
      };
      for (const name of ['pointerup', 'pointercancel', 'blur', 'keyup']) input.addEventListener(name, end);
      return s;
    });
    host.replaceChildren(
      el('div', { class: 'vectors' }, field('T', 'joint moments: numbers; hold (against gravity); unit (every joint would gain speed by 1 a second)'), field('thdd', 'joint accelerations, for ID'),
        field('f0', 'moment and force at each tip, on the environment')),
      el('p', { class: 'muted pad' }, own.length ? 'Paused, a slider puts its joint there; running, it leads it there while you hold it.' : 'No joint of this machine has a single coordinate: pull its bodies.'),
      ...own.map((b, k) => el('div', { class: 'joint' }, el('span', { title: `${b.joint!.name} (${b.joint!.type})` }, b.joint!.name), this.sliders[k].out, this.sliders[k].input)));
  }
  /** What is wrong, or nothing. */
  private setVectors(): string {
    const s = this.session;
    const read = (text: string, to: Float64Array, repeat: number): string => {
      const parts = text.trim().split(/[\s,;]+/).filter(Boolean), numbers = parts.map(Number);
      if (numbers.some((x) => !Number.isFinite(x))) return `'${parts[numbers.findIndex((x) => !Number.isFinite(x))]}' is no number`;
      if (numbers.length !== 1 && numbers.length !== repeat && numbers.length !== to.length) return `1 or ${to.length} numbers are wanted, not ${numbers.length}`;
      for (let i = 0; i < to.length; ++i) to[i] = numbers[i % numbers.length];
      return '';
    };
    const word = this.vectors.T.trim();
    if (word === 'hold') s.set('tau', s.compute('gravity'));
    else if (word === 'unit') {
      const mass = s.compute('mass'), n = s.nv;
      s.set('tau', Array.from({ length: n }, (_, i) => mass.subarray(i * n, i * n + n).reduce((a, x) => a + x, 0)));
    } else {
      const wrong = read(this.vectors.T, s.vector('tau'), s.nv);
      if (wrong) return `T: ${wrong}`;
    }
    const wrong = read(this.vectors.thdd, s.vector('a'), s.nv), wrong2 = read(this.vectors.f0, s.vector('f0'), 6);
    return wrong ? `thdd: ${wrong}` : wrong2 ? `f0: ${wrong2}` : '';
  }

  /* ---- the machine in numbers ---- */
  private makeMachine(): void {
    const names = components('joint', this.scene.bodies, []).map((c) => [c.group, c.name].filter(Boolean).join(' '));
    this.massView = new MatrixView(this.session.nv, this.session.nv, names, names);
    const speed = el('button', { type: 'button', class: 'small', click: () => {
      let count = 1000, ms = 0;
      this.session.repeat(20000); // the browser compiles anew what is often used
      while (ms < 100 && count < 1e7) {
        const start = performance.now();
        this.session.repeat((count *= 2));
        ms = performance.now() - start;
      }
      time.textContent = `${pretty((1e3 * ms) / count)} µs, ${pretty(count / ms)} thousand a second`;
    } }, 'Measure'), time = el('span');
    this.panels.numbers.replaceChildren(
      el('table', { class: 'summary' }, ...['kinetic energy', 'potential energy', 'centre of mass', 'momentum', 'angular momentum'].map((n, k) => el('tr', {}, el('th', {}, n), el('td', { id: `machine-${k}` }))),
        el('tr', {}, el('th', {}, 'one forward dynamics'), el('td', {}, speed, ' ', time))),
      el('h3', {}, 'Mass matrix'), el('div', { class: 'pad' }, this.massView.host));
  }
  private showMachine(energy: Float64Array, s: Session): void {
    if (this.panels.numbers.hidden && this.massView?.host.dataset.drawn) return;
    const h = s.compute('momentum'), three = (k: number) => [h[k], h[k + 1], h[k + 2]].map((x) => pretty(Math.abs(x) < 1e-12 ? 0 : x)).join('  ');
    [`${pretty(energy[0])} J`, `${pretty(energy[1])} J`, `${three(6)} m`, `${three(3)} N s`, `${three(0)} N m s`].forEach((text, k) => (byId(`machine-${k}`).textContent = text));
    this.massView?.set(s.compute('mass'));
    if (this.massView) this.massView.host.dataset.drawn = '1';
  }

  /* ---- expressions ---- */
  private makeExpression(): void {
    const host = this.panels.expression;
    this.text = el('textarea', { id: 'expression', rows: 2, spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off', 'aria-describedby': 'mistake' });
    this.text.value = 'FD3';
    this.text.addEventListener('input', () => this.later(200));
    this.text.addEventListener('keydown', (e) => {
      if (e.key === 'Enter' && !e.shiftKey) e.preventDefault(), this.later(0);
      else if (e.key === 'Escape') this.text.blur();
    });
    this.asWritten = el('input', { type: 'checkbox', id: 'aswritten', change: () => this.later(0) });
    const list = el('div', { class: 'examples', role: 'group', 'aria-label': 'examples' });
    for (const [text, what] of examples)
      list.append(el('button', { type: 'button', class: 'small', title: what, click: () => {
        this.text.value = text;
        this.later(0);
      } }, text));
    host.append(
      el('div', { class: 'exprhead' }, el('label', { for: 'expression' }, 'Operator expression'),
        el('label', { class: 'tick', title: 'otherwise an equal expression with fewer sweeps is looked for first' }, this.asWritten, 'as written')),
      this.text, el('pre', { id: 'mistake', class: 'mistake', role: 'alert', hidden: true }), list,
      el('details', { id: 'words', class: 'words' }, el('summary', {}, 'What may be written')),
      el('div', { id: 'outcome' }));
  }
  private fillWords(): void {
    const box = byId('words');
    if (box.childElementCount > 1) return;
    const { leaves } = this.session.names();
    const rows = el('div', { class: 'wordlist' });
    for (const l of leaves)
      rows.append(el('button', { type: 'button', class: 'small', click: () => {
        const [a, b] = [this.text.selectionStart, this.text.selectionEnd], v = this.text.value;
        const put = `${a && !/[\s(]$/.test(v.slice(0, a)) ? ' ' : ''}${l.name} `;
        this.text.value = v.slice(0, a) + put + v.slice(b);
        this.text.focus();
        this.text.setSelectionRange(a + put.length, a + put.length);
        this.later(200);
      } }, l.name), el('span', { class: 'muted' }, l.what));
    box.append(el('p', { class: 'muted' }, "X' is the adjoint, inv(X) the inverse; + − and numbers as usual. A product that starts from a vector is a vector, otherwise an operator: its matrix is shown."), rows);
  }
  private later(wait: number): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.give(), wait);
  }
  /** Checks and plans what is written; then, unless it is to stay so, looks for a cheaper form. */
  private give(): void {
    clearTimeout(this.timer);
    this.fillWords();
    const text = this.text.value.replace(/\s+/g, ' ').trim();
    if (!text) return;
    this.accept(text, true, !this.asWritten.checked);
    if (this.expression && !this.asWritten.checked) this.timer = window.setTimeout(() => this.accept(text, false, false), 60);
  }
  private accept(text: string, asWritten: boolean, more: boolean): void {
    const mistake = byId('mistake');
    try {
      this.expression = this.session.expression(text, asWritten);
      mistake.hidden = true;
      this.text.removeAttribute('aria-invalid');
    } catch (e) {
      this.expression = null;
      this.text.setAttribute('aria-invalid', 'true');
      mistake.textContent = aim(words(e), 46);
      mistake.hidden = false;
      this.shown = null;
      this.flow = null;
      this.view?.setFlow([], css('--accent'));
      byId('outcome').replaceChildren();
      return;
    }
    this.showOutcome(this.expression, more);
    this.denseAt = 0;
    this.changed();
  }

  private showOutcome(x: Expression, more: boolean): void {
    const host = byId('outcome');
    const vector = x.from === 'one', named = (space: string) => components(space, this.scene.bodies, this.tipNames);
    const flat = (space: string) => named(space).map((c) => [c.group, c.name].filter(Boolean).join(' '));
    const view = vector ? new Bars(named(x.to)) : new MatrixView(x.rows, x.columns, flat(x.to), flat(x.from));
    this.shown = view;
    const c = x.count, explained = readExplained(x.explain);
    this.sweepsShown = explained.sweeps;
    this.flow = null;
    this.view?.setFlow([], css('--accent'));
    const facts = explained.notes.slice(0, 1); // how many sweeps and recursions
    if (c) facts.push(`${c.multiplications} multiplications, ${c.additions} additions, ${c.divisions} divisions, ${c.sines} sines and cosines${c.on ? ` on ${c.on}` : ''}`);
    host.replaceChildren(
      el('div', { class: 'facts' }, el('span', { class: 'badge' }, vector ? `vector in ${x.to} space` : `${x.from} → ${x.to}, ${x.rows} × ${x.columns}`), el('span', { class: 'badge' }, x.causality),
        el('span', { id: 'verdict', class: 'badge verdict' })),
      x.what ? el('p', { class: 'what' }, x.what) : '',
      el('h3', {}, vector ? 'Result' : 'Matrix'), view.host,
      el('p', { id: 'failed', class: 'failed muted', hidden: true }),
      ...(x.planned ? [
        el('div', { class: 'sweephead' }, el('h3', {}, 'Recursion'), el('button', { type: 'button', class: 'small', id: 'playsweeps', click: () => this.playAll() }, '▶ along the machine')),
        el('p', { class: 'muted factline' }, facts.join(' · ')),
        el('pre', { class: 'planned' }, x.expression),
        ...explained.sweeps.map((s, k) => this.sweepCard(s, k)),
        el('p', { class: 'muted factline' }, `Result: ${explained.result}. k is a body, p its parent, c its children; φ and ψ turn from frame to frame as well.`),
      ] : [el('p', { class: 'muted factline' }, x.message)]),
      more ? el('p', { class: 'muted factline' }, 'Looking for a cheaper form …') : x.steps.length > 1 ? el('details', { class: 'words' }, el('summary', {}, `How it was rewritten: ${x.steps.length - 1} step${x.steps.length === 2 ? '' : 's'}`),
        ...x.steps.map((s, k) => el('div', { class: 'step' }, el('code', {}, (k ? '= ' : '') + s.result), k ? el('small', { class: 'muted' }, s.rule) : null))) : '');
  }
  private sweepCard(s: Sweep, k: number): HTMLElement {
    const button = el('button', { type: 'button', class: 'sweepbutton', 'aria-pressed': 'false', 'data-sweep': k, click: () => this.playOne(k) },
      el('b', { class: 'order' }, String(k + 1)), el('span', {}, s.inward ? '← tips to base' : 'base to tips →'), drawSweep(this.scene.bodies, s.inward) as unknown as HTMLElement);
    button.title = 'show it on the machine';
    return el('div', { class: `sweepcard ${s.inward ? 'inward' : 'outward'}` }, button, el('div', { class: 'recursion' }, ...s.lines.map(recursionLine)));
  }

  private run(slow: boolean): void {
    const verdict = document.getElementById('verdict'), failed = document.getElementById('failed');
    if (!this.expression || !this.shown || !verdict || !failed) return;
    const say = (text: string) => {
      failed.hidden = !text;
      if (failed.textContent !== text) failed.textContent = text;
    };
    try {
      if (this.expression.planned) {
        this.shown.set(this.session.run());
        say('');
        if (slow && !(this.denseCost > 20 && (this.running || this.pulling))) {
          const start = performance.now(), { difference } = this.session.runDense();
          this.denseCost = performance.now() - start;
          const good = difference <= 1e-9;
          verdict.textContent = good ? `✓ dense matrices agree to ${difference < 1e-16 ? '1e−16' : difference.toExponential(0).replace('-', '−')}` : `✗ dense matrices differ by ${pretty(difference)}${/inv\(/.test(this.expression.given) ? ': singular here?' : ''}`;
          verdict.className = `badge verdict ${good ? 'good' : 'bad'}`;
          this.denseAt = this.slowAt;
        }
      } else {
        this.shown.set(this.session.runDense().numbers);
        verdict.textContent = 'by dense matrices';
        verdict.className = 'badge verdict';
      }
    } catch (e) {
      say(words(e));
      verdict.textContent = '';
    }
  }

  /* ---- sweeps on the machine ---- */
  private playAll(): void {
    this.startFlow(this.sweepsShown.map((_, k) => k), false);
  }
  private playOne(k: number): void {
    const on = this.flow?.again && this.flow.list[0] === k;
    if (on) this.stopFlow();
    else this.startFlow([k], true);
  }
  private startFlow(list: number[], again: boolean): void {
    this.flow = { list, at: 0, since: performance.now(), again };
    this.wake();
  }
  private stopFlow(): void {
    this.flow = null;
    this.markSweep(-1);
    this.view?.setFlow([], css('--accent'));
  }
  private markSweep(k: number): void {
    for (const b of document.querySelectorAll<HTMLElement>('.sweepbutton')) b.setAttribute('aria-pressed', String(Number(b.dataset.sweep) === k));
  }
  private paintFlow(now: number): void {
    const f = this.flow;
    if (!f || !this.view) return;
    const k = f.list[f.at], sweep = this.sweepsShown[k];
    if (!sweep) return this.stopFlow();
    const all = steps(this.scene.bodies, sweep.inward), ranks = Math.max(...all.map((s) => s.rank)) + 1;
    const each = clamp(1600 / ranks, 90, 300), done = calm() ? ranks : (now - f.since) / each;
    this.markSweep(k);
    this.view.setFlow(all.filter((s) => s.rank <= done).map((s) => [s.from, s.to] as [number, number]), css(sweep.inward ? '--inward' : '--outward'));
    if (done > ranks + 600 / each && !(calm() && f.again)) {
      f.since = now;
      if (f.again) return;
      if (++f.at >= f.list.length) this.stopFlow();
    }
  }
}

/** A message with its caret, cut to what fits beside it. */
function aim(message: string, width: number): string {
  const lines = message.split('\n'), caret = lines.findIndex((l) => /^\s*\^/.test(l));
  if (caret < 1) return message;
  const at = lines[caret].indexOf('^'), from = Math.max(0, Math.min(at - Math.floor(width / 2), lines[caret - 1].length - width));
  if (lines[caret - 1].length <= width) return message;
  const cut = lines[caret - 1].slice(from, from + width);
  lines[caret - 1] = `${from ? '…' : ''}${cut}${from + width < lines[caret - 1].length ? '…' : ''}`;
  lines[caret] = `${' '.repeat(at - from + (from ? 1 : 0))}^`;
  return lines.join('\n');
}

Core.start(factory).then((core) => void new Playground(core), (e) => {
  const banner = byId('banner');
  banner.textContent = `WebAssembly could not be started: ${words(e)}`;
  banner.hidden = false;
});

// The playground: a machine that is moved by hand or let go, and operator expressions that are run
// on its state.  This file connects the parts.
import models from 'soa-core/models.json';
import { Scene3D } from '../scene3d/scene3d';
import type { Layer } from '../scene3d/types';
import { byId, el, errorText, toast } from '../shared/dom';
import { pretty } from '../shared/numbers';
import { Tabs } from '../shared/tabs';
import { onTheme } from '../shared/theme';
import { addControls, showRunning } from './controls';
import type { Core } from './core.js';
import { ExpressionPanel } from './expression-panel';
import { listenToKeys, showHelp } from './keyboard';
import { type Machine, openMachine, setGravity, startsWithGravity } from './machine';
import { MachinePanel } from './machine-panel';
import { Motion } from './motion';
import { Outcome } from './outcome';
import { StatePanel } from './state-panel';
import { SweepPlayer } from './sweep-player';
import { dependsOnState, setVectors, usualVectors } from './vectors';

/** ms between two updates of what is slow. */
const SLOW_EVERY = 250;
const NO_WEBGL = 'This browser offers no WebGL, so there is no 3-D view. Everything else works.';

const bytesOf = (base64: string): Uint8Array =>
  Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));

export class Playground {
  private machine!: Machine;
  private motion!: Motion;
  private statePanel!: StatePanel;
  private machinePanel!: MachinePanel;
  private view: Scene3D | null = null;
  private outcome: Outcome | null = null;
  private vectors = usualVectors();
  private readonly player: SweepPlayer;
  private readonly expressionPanel: ExpressionPanel;
  private readonly stateHost: HTMLElement;
  private readonly machineHost: HTMLElement;
  private isStale = true; // something moved since the last picture
  private isQueued = false;
  private lastTurn = 0;
  private lastSlow = 0;

  constructor(private readonly core: Core) {
    const bodies = () => this.machine.scene.bodies;
    this.player = new SweepPlayer(
      bodies,
      () => this.view,
      () => this.wake(),
    );
    addControls({
      pick: (spec) => this.pick(spec),
      openFile: (bytes, name) => this.load(bytes, name, []),
      help: showHelp,
      toggle: () => this.toggle(),
      reset: () => this.reset(),
      setGravity: () => this.applyGravity(),
      preset: (name) => this.view?.preset(name),
      setLayer: (layer, on) => this.view?.setLayer(layer, on),
    });
    const tabs = new Tabs('expression', () => {}, true);
    this.expressionPanel = this.makeExpressionPanel(tabs.add('expression', 'Expression'));
    this.stateHost = tabs.add('state', 'State');
    this.machineHost = tabs.add('numbers', 'Machine');
    listenToKeys({
      toggle: () => this.toggle(),
      reset: () => this.reset(),
      writeExpression: () => this.expressionPanel.focus(),
      preset: (name) => this.view?.preset(name),
    });
    onTheme((name) => {
      this.view?.setTheme(name);
      this.outcome?.redraw();
      this.machinePanel.redraw();
      this.player.draw(performance.now());
    });
    this.pick(decodeURIComponent(location.hash.slice(1)));
  }

  private makeExpressionPanel(host: HTMLElement): ExpressionPanel {
    return new ExpressionPanel(host, {
      session: () => this.machine.session,
      accepted: (expression, isFinal) => {
        this.outcome = new Outcome(expression, this.machine, this.player, isFinal);
        this.changed();
      },
      refused: () => {
        this.outcome = null;
        this.player.setSweeps([]);
        byId('outcome').replaceChildren();
      },
    });
  }

  /* ---- machines ---- */

  /** Opens one of the machines that come with the page. */
  private pick(spec: string): void {
    const model = models.find((m) => m.spec === spec) ?? models[0];
    byId<HTMLSelectElement>('machine').value = model.spec;
    this.load(bytesOf(model.bytes), model.text, model.q);
  }

  private load(bytes: Uint8Array, text: string, q: number[]): boolean {
    let machine: Machine;
    try {
      machine = openMachine(this.core, bytes, q);
    } catch (e) {
      toast(errorText(e));
      return false;
    }
    this.machine?.session.close();
    this.machine = machine;
    const losses = () => Number(byId<HTMLSelectElement>('losses').value);
    this.motion = new Motion(machine.session, losses, () => showRunning(false));
    this.outcome = null;
    byId<HTMLInputElement>('gravity').checked = startsWithGravity(machine);
    this.showHeading(text);
    this.applyVectors();
    this.makeView();
    const changed = () => this.changed();
    const { stateHost, motion, vectors } = this;
    this.statePanel = new StatePanel(stateHost, machine, motion, vectors, changed);
    this.machinePanel = new MachinePanel(this.machineHost, machine);
    showRunning(false);
    this.applyGravity();
    this.expressionPanel.evaluate();
    return true;
  }

  private showHeading(text: string): void {
    const { session, scene } = this.machine;
    const facts = [
      `${session.nv} degrees of freedom`,
      `${scene.bodies.length - 1} bodies`,
      `${pretty(session.scene.mass)} kg`,
    ];
    byId('text').textContent = `${text} · ${facts.join(', ')}`;
    byId('text').title = byId('text').textContent;
    document.title = `${scene.title} – soa playground`;
  }

  /** Lists of numbers that were typed in for another machine are dropped. */
  private applyVectors(): void {
    if (!setVectors(this.machine.session, this.vectors)) return;
    this.vectors = usualVectors();
    setVectors(this.machine.session, this.vectors);
  }

  private applyGravity(): void {
    setGravity(this.machine, byId<HTMLInputElement>('gravity').checked);
    this.changed();
  }

  /** A new view for the machine, with the layers of the one before. */
  private makeView(): void {
    const layers = this.view?.layers;
    this.player.stop();
    this.view?.dispose();
    this.view = null;
    const host = byId('view3');
    try {
      this.view = new Scene3D(host, this.machine.scene, {
        select: (body) => this.view?.select(body),
        pullable: () => true,
        pull: (body, at, to) => {
          this.motion.pull(body, at, to);
          this.wake();
        },
        release: () => {
          this.motion.release();
          this.changed();
        },
      });
    } catch {
      if (!host.querySelector('.nogl')) host.append(el('div', { class: 'nogl' }, NO_WEBGL));
      return;
    }
    this.view.setLayer('skeleton', true);
    for (const [name, on] of Object.entries(layers ?? {})) this.view.setLayer(name as Layer, on);
  }

  /* ---- motion ---- */

  private toggle(): void {
    this.motion.isRunning = !this.motion.isRunning;
    showRunning(this.motion.isRunning);
    this.wake();
  }

  private reset(): void {
    this.motion.reset(this.machine.home);
    showRunning(false);
    this.changed();
  }

  /** The state changed: everything that depends on it is computed again. */
  private changed(): void {
    this.isStale = true;
    this.wake();
  }

  private wake(): void {
    if (this.isQueued) return;
    this.isQueued = true;
    this.lastTurn = 0;
    requestAnimationFrame((now) => this.turn(now));
  }

  /** One picture: moves the machine, then shows it. */
  private turn(now: number): void {
    const { motion, player } = this;
    const passed = this.lastTurn ? (now - this.lastTurn) / 1000 : 1 / 60;
    this.lastTurn = now;
    if (motion.isMoving) {
      motion.advance(passed);
      this.isStale = true;
    }
    if (this.isStale) this.refresh(now);
    player.draw(now);
    if (motion.isMoving || player.isMoving) {
      requestAnimationFrame((next) => this.turn(next));
      return;
    }
    this.isQueued = false;
    if (this.outcome && !this.outcome.isJudged) this.refresh(now);
  }

  /** Everything that depends on the state; what is slow at most four times a second. */
  private refresh(now: number): void {
    const { motion, machine } = this;
    const { session } = machine;
    const mayBeSlow = now - this.lastSlow > SLOW_EVERY || !motion.isMoving;
    this.isStale = false;
    this.showBodies();
    this.statePanel.show(session.vector('q'));
    byId('clock').textContent = `${motion.t.toFixed(2)} s`;
    const energy = session.compute('energy');
    byId('energy').textContent = `energy ${pretty(energy[0] + energy[1])} J`;
    if (mayBeSlow) {
      this.lastSlow = now;
      if (dependsOnState(this.vectors)) setVectors(session, this.vectors);
      this.machinePanel.show(energy);
    }
    this.outcome?.run(mayBeSlow, motion.isMoving);
  }

  private showBodies(): void {
    const { session } = this.machine;
    try {
      const places = Float32Array.from(session.compute('places'));
      const h = session.compute('momentum'); // angular, linear, centre of mass
      const com = Float32Array.from([...h.slice(6, 9), ...h.slice(3, 6), ...h.slice(0, 3)]);
      const none = new Float32Array();
      this.view?.setFrame({ t: this.motion.t, places, com, contacts: none, lines: none });
    } catch (e) {
      toast(errorText(e));
    }
  }
}

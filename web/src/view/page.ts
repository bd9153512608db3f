// The page of a run: connects its parts.  What arrives from the source goes to the parts that show
// it; what the user does goes to the playback, which decides what time is shown.
import type { Event, Frame, Scene, State } from '../data/protocol';
import type { Source } from '../data/source';
import { Plots } from '../plots/plots';
import type { Scene3D } from '../scene3d/scene3d';
import { byId } from '../shared/dom';
import { onTheme } from '../shared/theme';
import { BodyCard } from './body-card';
import { showHeading } from './heading';
import { showHelp } from './help';
import { JointValues } from './joint-values';
import { listenToKeys } from './keyboard';
import { openRecord } from './opening';
import { Phases } from './phases';
import { Playback } from './playback';
import { plotData } from './plot-data';
import { SideLists } from './side-lists';
import { Timeline } from './timeline';
import { TransportBar } from './transport-bar';
import { openView } from './view-tools';

/** ms: plots of a growing record are requested again at most this often. */
const GROW_EVERY = 250;

export class Page {
  private readonly playback: Playback;
  private readonly view: Scene3D | null;
  private readonly timeline: Timeline;
  private readonly transport: TransportBar;
  private readonly phases: Phases;
  private readonly card: BodyCard;
  private readonly plots: Plots;
  private readonly lists: SideLists;
  private events: Event[];
  private frame: Frame | null = null;
  private selected: number | null = null;
  private wantsRefit = false;
  private growTimer = 0;

  constructor(
    private readonly source: Source,
    readonly scene: Scene,
    state: State | null,
  ) {
    this.events = scene.events;
    showHeading(scene, source.served);
    const { first, last } = scene.time;
    this.playback = new Playback(source, scene.live, first, last, {
      timeChanged: () => this.showTime(),
      modeChanged: () => this.showMode(),
    });
    this.playback.state = state;
    this.phases = new Phases(source, scene);
    this.view = this.openView();
    this.timeline = new Timeline(byId('timeline'), this.phases, (t) => this.playback.seek(t, true));
    this.timeline.setSpan(first, last);
    this.timeline.setEvents(this.events);
    this.transport = new TransportBar(this.playback);
    const joints = new JointValues(scene);
    this.card = this.makeCard(joints);
    this.lists = this.makeLists(joints);
    this.plots = this.makePlots();
    this.listen();
  }

  /* ---- parts ---- */

  private openView(): Scene3D | null {
    const hooks = {
      select: (body: number | null) => this.select(body),
      pullable: () => this.playback.isDirect && this.source.served,
      pull: (body: number, at: number[], to: number[]) =>
        this.source.send({ do: 'pull', body, at, to }),
      release: () => this.source.send({ do: 'release' }),
    };
    return openView(this.scene, hooks, () => this.playback.t);
  }

  private makeCard(joints: JointValues): BodyCard {
    return new BodyCard(this.scene, joints, {
      close: () => this.select(null),
      follow: (body) => {
        byId<HTMLSelectElement>('follow').value = String(body);
        this.view?.follow(body);
      },
      toggleTrail: (body) => this.setTrail(body, !this.view?.hasTrail(body)),
      toggleVisible: (body) => {
        this.view?.setVisible(body, !this.view.isVisible(body));
        this.lists.mark(this.selected);
      },
    });
  }

  private makeLists(joints: JointValues): SideLists {
    return new SideLists(this.scene, this.view, joints, this.source, this.playback, {
      opened: (tab) => {
        this.plots.setVisible(tab === 'plots');
        this.showTime();
      },
      select: (body) => this.select(body),
      setTrail: (body, on) => this.setTrail(body, on),
    });
  }

  private makePlots(): Plots {
    const { source, scene, playback, phases } = this;
    const data = plotData(source, scene, playback, phases, (r) => this.timeline.setRange(r));
    const plots = new Plots(this.lists.plotHost, data);
    if (this.lists.tab !== 'plots') plots.setVisible(false);
    return plots;
  }

  private listen(): void {
    const help = () => showHelp(this.scene.live);
    byId('help').addEventListener('click', help);
    listenToKeys(this.playback, {
      select: (body) => this.select(body),
      toEvent: (by) => this.playback.seekEvent(this.events, by),
      preset: (name) => this.view?.preset(name),
      zoomPlots: (factor) => this.plots.zoomBy(factor, this.playback.t),
      showWholeTime: () => this.plots.setRange(null),
      help,
    });
    onTheme((name) => {
      this.view?.setTheme(name);
      this.plots.redraw();
      this.timeline.invalidate();
      this.phases.showBadge(this.playback.t, this.frame);
      this.showEvents();
    });
  }

  /* ---- opening ---- */

  /** A live run is followed; a record is opened at a moment that shows something. */
  async open(): Promise<void> {
    void this.findPhases();
    if (this.scene.live) {
      this.source.wantFrame(this.playback.last);
      return;
    }
    await openRecord(this.source, this.scene, this.playback, () => {
      this.wantsRefit = true;
    });
  }

  private async findPhases(): Promise<void> {
    const { first, last } = this.playback;
    if (!(await this.phases.find(first, last, this.events))) return;
    this.timeline.setPhases(this.phases.bands);
    this.plots.redraw();
    this.phases.showBadge(this.playback.t, this.frame);
  }

  /* ---- what arrives ---- */

  /** The same scene again, after the connection was lost. */
  takeScene(scene: Scene): void {
    this.scene.time = scene.time;
    this.events = scene.events;
    this.setSpan(scene.time.first, scene.time.last);
    this.showEvents();
    this.plots.refresh();
    void this.findPhases();
    this.takeSummary(scene.summary, scene.notes);
    if (!scene.live) this.playback.seek(this.playback.t);
  }

  takeFrame(frame: Frame): void {
    if (!this.playback.accepts(frame, this.frame !== null)) return;
    this.frame = frame;
    this.view?.setFrame(frame);
    if (this.wantsRefit && Math.abs(frame.t - this.playback.t) < 1) {
      this.wantsRefit = false;
      this.view?.refit();
    }
    this.showTime();
  }

  takeState(state: State): void {
    const { playback } = this;
    const isBegunAgain = playback.isBegunAgain(state);
    const isChanged = state.last !== playback.last || state.first !== playback.first;
    if (isBegunAgain) this.forget(state.last);
    this.setSpan(state.first, state.last);
    playback.takeState(state);
    if (this.scene.live) this.transport.showState(state);
    if (isChanged || isBegunAgain) this.grow();
    if (!playback.following && playback.t > state.last) playback.seek(state.last);
    this.showMode();
    this.showTime();
  }

  /** The run began again: what was after `last` is gone. */
  private forget(last: number): void {
    this.view?.clearTrails();
    this.phases.clear();
    this.events = this.events.filter((e) => e.t <= last);
    this.showEvents();
  }

  /** The record became longer: new curves, but not too often. */
  private grow(): void {
    if (this.growTimer) return;
    this.growTimer = window.setTimeout(() => {
      this.growTimer = 0;
      this.plots.refresh();
      void this.findPhases();
    }, GROW_EVERY);
  }

  /** from: index of the first of these events. */
  takeEvents(from: number, events: Event[]): void {
    this.events = [...this.events.slice(0, Math.max(0, from)), ...events];
    this.showEvents();
  }

  takeSummary(rows: Scene['summary'], notes: string[]): void {
    this.lists.setSummary(rows, notes);
  }

  disconnect(): void {
    this.playback.disconnect();
  }

  /* ---- what is shown ---- */

  private setSpan(first: number, last: number): void {
    this.playback.first = first;
    this.playback.last = last;
    this.timeline.setSpan(first, last);
  }

  private showTime(): void {
    const { t } = this.playback;
    this.transport.showTime();
    this.timeline.setTime(t);
    this.plots.setTime(t);
    this.phases.showBadge(t, this.frame);
    this.lists.showFrame(this.frame);
    this.card.showValue(this.frame);
  }

  private showMode(): void {
    this.transport.showMode();
    this.lists.showMode();
  }

  private showEvents(): void {
    this.timeline.setEvents(this.events);
    this.lists.setEvents(this.events);
  }

  private select(body: number | null): void {
    this.selected = body;
    this.view?.select(body);
    this.lists.mark(body);
    this.card.show(body, this.frame);
  }

  private setTrail(body: number, on: boolean): void {
    const path = on ? this.source.path(body, this.scene.bodies[body].com) : null;
    this.view?.setTrail(body, on, path);
    this.lists.mark(this.selected);
  }

  /** The state of the page, for tests. */
  probe(): object {
    const { t, first, last, following, isRunning } = this.playback;
    return {
      t,
      first,
      last,
      playing: isRunning,
      following,
      drawn: this.view?.frames ?? 0,
      frameTime: this.frame?.t ?? null,
      selected: this.selected,
      places: this.frame ? Array.from(this.frame.places) : [],
    };
  }
}

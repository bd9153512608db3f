// The tabs beside the 3-D view: plots, bodies, joints, events, summary, scenario.
import type { Event, Frame, Scene } from '../data/protocol';
import type { Source } from '../data/source';
import type { Scene3D } from '../scene3d/scene3d';
import { el } from '../shared/dom';
import { Tabs } from '../shared/tabs';
import { BodyTree, type TreeHooks } from './body-tree';
import { EventList } from './event-list';
import { JointSliders } from './joint-sliders';
import type { JointValues } from './joint-values';
import type { Playback } from './playback';
import { listenToSplitter } from './splitter';
import { Summary } from './summary';

export interface ListHooks extends TreeHooks {
  /** A tab was opened. */
  opened(tab: string): void;
}

function scenarioText(scene: Scene): HTMLElement {
  const source = el(
    'details',
    { open: true },
    el('summary', {}, 'The scenario as it was run'),
    el('pre', {}, scene.scenario),
  );
  const text = el('p', {}, scene.text);
  return el('div', { class: 'scenario' }, text, scene.scenario ? source : null);
}

export class SideLists {
  readonly plotHost: HTMLElement;
  private readonly tabs: Tabs;
  private readonly tree: BodyTree | null = null;
  private readonly sliders: JointSliders | null = null;
  private readonly events: EventList;
  private readonly summary: Summary | null = null;

  constructor(
    scene: Scene,
    view: Scene3D | null,
    joints: JointValues,
    source: Source,
    playback: Playback,
    hooks: ListHooks,
  ) {
    const hasJoints = scene.bodies.some((b) => b.joint?.nq === 1);
    const isMachine = scene.source === 'model' && scene.live; // nothing to plot yet
    this.tabs = new Tabs(isMachine && hasJoints ? 'joints' : 'plots', (tab) => {
      this.events.isVisible = tab === 'events';
      this.events.draw();
      hooks.opened(tab);
    });
    this.plotHost = this.tabs.add('plots', 'Plots');
    if (scene.bodies.length > 1) {
      this.tree = new BodyTree(this.tabs.add('bodies', 'Bodies'), scene, view, hooks);
      if (hasJoints) {
        const host = this.tabs.add('joints', 'Joints');
        this.sliders = new JointSliders(host, scene, joints, source, playback);
      }
    }
    const seek = (t: number) => playback.seek(t, true);
    this.events = new EventList(this.tabs.add('events', 'Events'), seek);
    this.events.set(scene.events);
    if (scene.summary.length || scene.notes.length) {
      const open = () => this.tabs.open('summary');
      const host = this.tabs.add('summary', 'Summary');
      this.summary = new Summary(host, scene.summary, scene.notes, open);
    }
    if (scene.scenario || scene.text)
      this.tabs.add('scenario', 'Scenario').append(scenarioText(scene));
    listenToSplitter();
  }

  /** The tab that is open. */
  get tab(): string {
    return this.tabs.current;
  }

  setEvents(events: Event[]): void {
    this.events.set(events);
  }

  setSummary(rows: Scene['summary'], notes: string[]): void {
    this.summary?.set(rows, notes);
  }

  /** Marks the chosen body. */
  mark(selected: number | null): void {
    this.tree?.mark(selected);
  }

  showMode(): void {
    this.sliders?.showMode();
  }

  showFrame(frame: Frame | null): void {
    if (frame && this.tab === 'joints') this.sliders?.show(frame);
  }
}

// What is drawn besides the bodies: contacts, momentum, nearest points, flow, trails, grid.
import type { Object3D } from 'three';
import type { Scene } from '../data/protocol';
import { Contacts } from './contacts';
import { Flow } from './flow';
import { Grid } from './grid';
import type { Materials } from './materials';
import { Momentum } from './momentum';
import { NearestLines } from './nearest';
import { Trails } from './trails';
import type { Layers, Moment, Scale } from './types';

export class Overlays {
  readonly contacts: Contacts;
  readonly momentum: Momentum;
  readonly nearest: NearestLines;
  readonly flow: Flow;
  readonly trails: Trails;
  readonly grid: Grid;

  constructor(parent: Object3D, scene: Scene, materials: Materials, scale: Scale) {
    this.contacts = new Contacts(parent, materials, scale);
    this.momentum = new Momentum(parent, materials, scale);
    this.nearest = new NearestLines(parent, materials);
    this.flow = new Flow(parent, materials, scale);
    const com = (body: number) => scene.bodies[body].com;
    this.trails = new Trails(parent, com, (body) => materials.partColour(body));
    this.grid = new Grid(parent);
  }

  show(layers: Layers): void {
    this.contacts.show(layers.contacts);
    this.momentum.show(layers);
    this.nearest.show(layers.nearest);
    this.trails.show(layers.trails);
  }

  set(moment: Moment, layers: Layers): void {
    this.contacts.set(moment.contacts);
    this.momentum.set(moment.com, layers);
    this.nearest.set(moment.lines, layers.nearest);
    this.trails.extend(moment);
    this.flow.draw(moment.places);
  }
}

// The 3-D view: bodies, what acts on them, and a camera.  z is up.  It does not know where frames
// come from; the playground uses it too.  This file connects the parts:
//   bodies    links, skeletons, marks     overlays  forces, momentum, trails, grid
//   camera    views and following         pointer   choosing and pulling
//   canvas    drawing when needed         captions  texts over the picture
import { Color, InstancedMesh, Line, Mesh, Scene as ThreeScene, Vector3 } from 'three';
import { hasPose, pointInWorld } from '../data/pose';
import type { Scene } from '../data/protocol';
import { sceneColours, type ThemeName } from '../shared/colours';
import { theme } from '../shared/theme';
import { Bodies, diagonal } from './bodies';
import { CameraRig, makeCamera } from './camera';
import { Canvas } from './canvas';
import { Captions } from './captions';
import { bestOblique, pointsToFit } from './framing';
import { addLights } from './lighting';
import { Materials } from './materials';
import { Overlays } from './overlays';
import { PointerTool } from './pointer';
import { distanceCaption, scaleBars } from './readings';
import { firstLayers, type Hooks, type Layer, type Moment, type Preset, type Scale } from './types';

export class Scene3D {
  readonly layers = firstLayers();
  private readonly three = new ThreeScene();
  private readonly canvas: Canvas;
  private readonly rig: CameraRig;
  private readonly materials: Materials;
  private readonly bodies: Bodies;
  private readonly overlays: Overlays;
  private readonly pointer: PointerTool;
  private readonly captions: Captions;
  private readonly watch: ResizeObserver;
  private readonly scale: Scale;
  private moment: Moment | null = null;
  private isFitted = false;
  private oblique: Vector3 | null = null; // the best oblique direction, once it is known
  private selected: number | null = null;

  /** Throws where there is no WebGL. */
  constructor(
    private readonly host: HTMLElement,
    private readonly scene: Scene,
    private readonly hooks: Hooks,
  ) {
    const camera = makeCamera();
    this.canvas = new Canvas(this.three, camera, () => this.drawCaptions());
    const keys = 'drag to turn, wheel to zoom, keys 1 to 5 for views';
    this.canvas.element.setAttribute('aria-label', `3-D view of ${scene.title}; ${keys}`);
    host.prepend(this.canvas.element);
    this.captions = new Captions(host);
    this.materials = new Materials(scene, this.canvas.slow);
    addLights(this.three, camera);
    this.bodies = new Bodies(scene, this.materials, this.three);
    this.scale = { size: this.bodies.firstSize, extent: 1 };
    this.overlays = new Overlays(this.three, scene, this.materials, this.scale);
    // the pointer listens before the camera does, so that pulling a body does not turn the view
    this.pointer = new PointerTool(this.canvas.element, camera, this.bodies, {
      ...hooks,
      setTurning: (on) => {
        this.rig.controls.enabled = on;
      },
      invalidate: () => this.invalidate(),
    });
    this.pointer.addMarks(this.three, this.materials);
    this.rig = new CameraRig(camera, this.canvas.element, () => this.invalidate());
    this.show();
    this.setTheme(theme());
    this.watch = new ResizeObserver(() => this.resize());
    this.watch.observe(host);
    this.resize();
  }

  /** Pictures drawn so far. */
  get frames(): number {
    return this.canvas.count;
  }

  partColour(body: number): string {
    return this.materials.partColour(body);
  }

  /* ---- what is shown ---- */

  private show(): void {
    this.bodies.show(this.layers);
    this.overlays.show(this.layers);
    this.overlays.grid.show(this.showsGrid);
    this.invalidate();
  }

  private get showsGrid(): boolean {
    return this.layers.grid && !this.bodies.hasGround;
  }

  setLayer(layer: Layer, on: boolean): void {
    this.layers[layer] = on;
    if (layer === 'nearest') this.overlays.nearest.isChosen = true;
    this.show();
    if (this.moment) this.setFrame(this.moment);
  }

  setVisible(body: number, on: boolean): void {
    this.bodies.setVisible(body, on);
    this.show();
  }
  isVisible(body: number): boolean {
    return this.bodies.isVisible(body);
  }

  select(body: number | null): void {
    this.selected = body;
    this.bodies.highlight(body, theme());
    this.invalidate();
  }

  setTheme(name: ThemeName): void {
    this.three.background = new Color(sceneColours[name].background);
    this.materials.setTheme(name);
    if (this.overlays.grid.isMade) this.makeGrid();
    this.bodies.highlight(this.selected, name);
    this.invalidate();
  }

  private makeGrid(): void {
    this.overlays.grid.make(this.bodies.bounds(), this.scale.size, theme(), this.showsGrid);
  }

  /* ---- frames ---- */

  setFrame(moment: Moment): void {
    const isFirst = this.moment === null;
    this.moment = moment;
    const count = this.bodies.setPoses(moment.places);
    if (!this.isFitted && count) this.fitFirst();
    const followed = this.rig.followedBody;
    if (followed !== null && followed < count) this.rig.moveAlong(this.comOf(followed)!, isFirst);
    this.limitNearest(moment.lines);
    this.overlays.set(moment, this.layers);
    this.invalidate();
  }

  private fitFirst(): void {
    this.isFitted = true;
    this.three.updateMatrixWorld(true);
    this.scale.size = Math.max(1e-3, diagonal(this.bodies.bounds()));
    this.pointer.setScale(this.scale);
    this.makeGrid();
    this.preset('iso', true);
  }

  /** Too many lines between nearest points are switched off. */
  private limitNearest(lines: Float32Array): void {
    if (!this.layers.nearest || !this.overlays.nearest.areTooMany(lines)) return;
    this.layers.nearest = false;
    this.hooks.layer?.('nearest', false);
  }

  /** Where a body's centre of mass is, if that is known. */
  private comOf(body: number): Vector3 | null {
    if (!this.moment || !hasPose(this.moment.places, body)) return null;
    const { com } = this.scene.bodies[body];
    return new Vector3(...pointInWorld(this.moment.places, 7 * body, com));
  }

  /** Arrows from body to body, until the next call. */
  setFlow(pairs: [number, number][], colour: string): void {
    this.overlays.flow.set(pairs, colour);
    this.overlays.flow.draw(this.moment?.places ?? []);
    this.invalidate();
  }

  hasTrail(body: number): boolean {
    return this.overlays.trails.has(body);
  }
  /** path: the whole path, if it is known; otherwise it grows frame by frame. */
  setTrail(body: number, on: boolean, path: Float64Array | null = null): void {
    if (on) this.overlays.trails.add(body, path, this.layers.trails);
    else this.overlays.trails.remove(body);
    if (this.moment) this.overlays.trails.extend(this.moment);
    this.invalidate();
  }
  clearTrails(): void {
    this.overlays.trails.clear();
  }

  /* ---- camera ---- */

  preset(name: Preset, atOnce = false): void {
    const bounds = this.bodies.bounds();
    this.scale.extent = Math.max(1e-3, diagonal(bounds));
    const contacts = this.moment?.contacts ?? new Float32Array();
    // the lengths of arrows depend on the extent
    if (this.moment) this.overlays.contacts.set(contacts);
    const tips = this.layers.contacts ? this.overlays.contacts.tips(contacts) : [];
    const points = pointsToFit(this.scene, this.bodies, tips);
    const direction = this.rig.direction(name, () => this.obliqueDirection());
    const middle = bounds.getCenter(new Vector3());
    this.rig.look(direction, points, middle, this.canvas.height, atOnce);
  }

  private obliqueDirection(): Vector3 {
    this.oblique ??= bestOblique(this.bodies);
    return this.oblique;
  }

  follow(body: number | null): void {
    this.rig.follow(body, body === null ? null : this.comOf(body));
    this.invalidate();
  }

  /** Fits again, for a moment chosen after the first frame, unless the user moved the camera. */
  refit(): void {
    if (this.rig.isMoved || !this.isFitted) return;
    this.oblique = null;
    this.three.updateMatrixWorld(true);
    this.preset('iso', true);
  }

  resize(): void {
    const width = Math.max(1, this.host.clientWidth);
    const height = Math.max(1, this.host.clientHeight);
    this.canvas.setSize(width, height);
    this.rig.setAspect(width / height);
    const isUntouched = this.isFitted && !this.rig.isMoved && !this.rig.isFollowing;
    if (isUntouched) this.preset('fit', true); // everything stays in view
    this.canvas.draw(); // at once: a canvas is empty after its size changed
  }

  /* ---- pictures ---- */

  invalidate(): void {
    this.canvas.invalidate();
  }

  /** The picture as a PNG. */
  picture(): Promise<Blob | null> {
    return this.canvas.picture();
  }

  private drawCaptions(): void {
    const { camera } = this.rig;
    const size: [number, number] = [this.canvas.width, this.canvas.height];
    const bars = scaleBars(this.overlays, this.layers);
    this.captions.setScales(bars, this.rig.pixelsPerMetre(this.canvas.height));
    const lines = this.layers.nearest ? this.moment?.lines : undefined;
    this.captions.setDistance(lines ? distanceCaption(lines) : null, camera, size);
    this.captions.setName(this.nameCaption(), camera, size);
  }

  private nameCaption(): { at: Vector3; text: string } | null {
    if (this.selected === null || !this.isVisible(this.selected)) return null;
    const at = this.comOf(this.selected);
    return at && { at, text: this.scene.bodies[this.selected].name };
  }

  /** Frees what the view holds, to make room for another one. */
  dispose(): void {
    this.watch.disconnect();
    this.rig.dispose();
    this.three.traverse((o) => {
      if (o instanceof Mesh || o instanceof Line) o.geometry.dispose();
      if (o instanceof InstancedMesh) o.dispose();
    });
    this.canvas.dispose();
    this.captions.dispose();
  }
}

// The pointer in the 3-D view: choosing bodies by a click, pulling them by dragging.
import {
  BufferGeometry,
  type Camera,
  Line,
  Mesh,
  type Object3D,
  Plane,
  Raycaster,
  SphereGeometry,
  Vector2,
  Vector3,
} from 'three';
import type { Bodies } from './bodies';
import { Z } from './geometry';
import type { Materials } from './materials';
import type { Hooks, Point, Scale } from './types';

/** Pixels: a shorter drag is a click. */
const DRAG = 4;
const CLICK = 5;
/** ms between two messages of a pull, and between two looks at what is below the pointer. */
const PULL_EVERY = 25;
const HOVER_EVERY = 60;

/** A body held by the pointer. */
interface Held {
  body: number;
  at: Point; // in the body
  to: Vector3; // in the world
  plane: Plane; // in which it is pulled: through the point, facing the camera
  active: boolean;
}

export interface PointerHooks extends Hooks {
  /** The camera may or may not be turned now. */
  setTurning(on: boolean): void;
  invalidate(): void;
}

export class PointerTool {
  private readonly ray = new Raycaster();
  private readonly pullLine: Line;
  private readonly pullBall: Mesh;
  private held: Held | null = null;
  private pressed: { x: number; y: number; body: number | null } | null = null;
  private lastHover = 0;
  private lastPull = 0;
  private pullTimer = 0; // a message that waits

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly camera: Camera,
    private readonly bodies: Bodies,
    private readonly hooks: PointerHooks,
  ) {
    this.pullLine = new Line(new BufferGeometry().setFromPoints([Z, Z]));
    this.pullBall = new Mesh(new SphereGeometry(1, 16, 12));
    canvas.addEventListener('pointerdown', (e) => this.press(e));
    canvas.addEventListener('pointermove', (e) => this.move(e));
    canvas.addEventListener('pointerup', (e) => this.release(e));
    canvas.addEventListener('pointercancel', (e) => this.release(e));
  }

  /** Adds the line from a body to the pointer that pulls it. */
  addMarks(parent: Object3D, materials: Materials): void {
    this.pullLine.material = materials.pullLine;
    this.pullBall.material = materials.flat.pull;
    for (const mark of [this.pullLine, this.pullBall]) {
      mark.renderOrder = 30;
      mark.frustumCulled = false;
      mark.visible = false;
      parent.add(mark);
    }
  }

  setScale(scale: Scale): void {
    this.pullBall.scale.setScalar(0.009 * scale.size);
  }

  private aim(e: PointerEvent): Raycaster {
    const box = this.canvas.getBoundingClientRect();
    const x = ((e.clientX - box.left) / box.width) * 2 - 1;
    const y = 1 - ((e.clientY - box.top) / box.height) * 2;
    this.ray.setFromCamera(new Vector2(x, y), this.camera);
    return this.ray;
  }

  /** The first visible body below the pointer. */
  private hit(e: PointerEvent): { body: number; point: Vector3 } | null {
    const isSeen = (o: Object3D | null): boolean => !o || (o.visible && isSeen(o.parent));
    for (const { object, point } of this.aim(e).intersectObjects(this.bodies.groups, true)) {
      const body = object.userData.body as number | undefined;
      if (object instanceof Mesh && body !== undefined && isSeen(object)) return { body, point };
    }
    return null;
  }

  private press(e: PointerEvent): void {
    if (e.button !== 0 || !e.isPrimary) return;
    const hit = this.hit(e);
    this.pressed = { x: e.clientX, y: e.clientY, body: hit?.body ?? null };
    if (!hit || hit.body === 0 || !this.hooks.pullable()) return;
    this.hooks.setTurning(false);
    const inverse = this.bodies.models[hit.body].group.matrixWorld.clone().invert();
    const facing = this.camera.getWorldDirection(new Vector3());
    this.held = {
      body: hit.body,
      at: hit.point.clone().applyMatrix4(inverse).toArray(),
      to: hit.point.clone(),
      plane: new Plane().setFromNormalAndCoplanarPoint(facing, hit.point),
      active: false,
    };
    this.canvas.setPointerCapture(e.pointerId);
  }

  private distancePressed(e: PointerEvent): number {
    if (!this.pressed) return Infinity;
    return Math.hypot(e.clientX - this.pressed.x, e.clientY - this.pressed.y);
  }

  private move(e: PointerEvent): void {
    if (!this.held) {
      this.hover(e);
      return;
    }
    if (!this.held.active && this.distancePressed(e) < DRAG) return;
    this.held.active = true;
    const to = this.aim(e).ray.intersectPlane(this.held.plane, new Vector3());
    if (to) this.held.to.copy(to);
    this.drawPull();
    this.schedulePull();
  }

  /** Sends where the body is pulled to: not too often, but always the last place. */
  private schedulePull(): void {
    if (this.pullTimer) return;
    const wait = Math.max(0, this.lastPull + PULL_EVERY - performance.now());
    if (wait === 0) this.sendPull();
    else this.pullTimer = window.setTimeout(() => this.sendPull(), wait);
  }

  private sendPull(): void {
    this.pullTimer = 0;
    if (!this.held) return;
    this.lastPull = performance.now();
    this.hooks.pull(this.held.body, this.held.at, this.held.to.toArray());
  }

  private hover(e: PointerEvent): void {
    const isFree = e.buttons === 0 && e.pointerType === 'mouse';
    if (!isFree || e.timeStamp - this.lastHover <= HOVER_EVERY) return;
    this.lastHover = e.timeStamp;
    const isOnBody = (this.hit(e)?.body ?? 0) > 0;
    const onBody = this.hooks.pullable() ? 'grab' : 'pointer';
    this.canvas.style.cursor = isOnBody ? onBody : '';
  }

  private release(e: PointerEvent): void {
    const { held, pressed } = this;
    const isClick = e.type === 'pointerup' && this.distancePressed(e) < CLICK;
    this.held = null;
    this.pressed = null;
    window.clearTimeout(this.pullTimer);
    this.pullTimer = 0;
    this.hooks.setTurning(true);
    if (held?.active) this.hooks.release();
    else if (isClick) this.hooks.select(pressed?.body || null);
    this.drawPull();
  }

  private drawPull(): void {
    const held = this.held?.active ? this.held : null;
    this.pullLine.visible = held !== null;
    this.pullBall.visible = held !== null;
    if (held) {
      const { matrixWorld } = this.bodies.models[held.body].group;
      const from = new Vector3(...held.at).applyMatrix4(matrixWorld);
      this.pullLine.geometry.setFromPoints([from, held.to]);
      this.pullBall.position.copy(held.to);
    }
    this.hooks.invalidate();
  }
}

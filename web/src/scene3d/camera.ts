// The camera: turned by the mouse, moved to fixed views, and following a body.
import { PerspectiveCamera, Vector3 } from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import { reducedMotion } from '../shared/theme';
import { fit } from './fit';
import { Z } from './geometry';
import type { Preset } from './types';

/** ms of a camera's move to another view. */
const MOVE_TIME = 280;

/** Towards the camera.  Slightly off the axes, so that "up" is always defined. */
const fixedDirections: Partial<Record<Preset, Vector3>> = {
  front: new Vector3(1, 0, 0.02),
  side: new Vector3(0, -1, 0.02),
  top: new Vector3(0, -0.001, 1),
};

export function makeCamera(): PerspectiveCamera {
  const camera = new PerspectiveCamera(38, 1, 0.01, 100);
  camera.up.copy(Z);
  camera.position.set(2.4, -2.8, 1.9);
  return camera;
}

export class CameraRig {
  readonly controls: OrbitControls;
  /** True once the user has moved the camera. */
  isMoved = false;
  private animation = 0;
  private followed: number | null = null;
  private readonly followedAt = new Vector3();

  constructor(
    readonly camera: PerspectiveCamera,
    canvas: HTMLCanvasElement,
    private readonly changed: () => void,
  ) {
    this.controls = new OrbitControls(camera, canvas);
    this.controls.zoomToCursor = true;
    this.controls.addEventListener('change', changed);
    this.controls.addEventListener('start', () => {
      this.isMoved = true;
    });
  }

  get isFollowing(): boolean {
    return this.followed !== null;
  }
  get followedBody(): number | null {
    return this.followed;
  }

  /** Pixels per metre at the point that the camera looks at. */
  pixelsPerMetre(height: number): number {
    const distance = this.camera.position.distanceTo(this.controls.target);
    return height / (2 * Math.tan((this.camera.fov * Math.PI) / 360) * distance);
  }

  setAspect(aspect: number): void {
    this.camera.aspect = aspect;
    this.camera.updateProjectionMatrix();
  }

  /** From what is looked at to the camera, for a preset; iso: the direction of the oblique one. */
  direction(preset: Preset, iso: () => Vector3): Vector3 {
    if (preset === 'iso') return iso().clone().normalize();
    const now = () => this.camera.position.clone().sub(this.controls.target);
    return (fixedDirections[preset]?.clone() ?? now()).normalize();
  }

  /** Looks along a direction so that all points are in view; height: of the view, in pixels. */
  look(
    direction: Vector3,
    points: Vector3[],
    middle: Vector3,
    height: number,
    atOnce: boolean,
  ): void {
    const { centre, distance } = fit(points, direction, middle, this.camera, height);
    this.camera.near = distance / 200;
    this.camera.far = distance * 60;
    this.camera.updateProjectionMatrix();
    this.moveTo(centre.clone().addScaledVector(direction, distance), centre, atOnce);
  }

  private moveTo(position: Vector3, target: Vector3, atOnce: boolean): void {
    const fromPosition = this.camera.position.clone();
    const fromTarget = this.controls.target.clone();
    const set = (u: number) => {
      this.controls.target.lerpVectors(fromTarget, target, u);
      this.camera.position.lerpVectors(fromPosition, position, u);
      this.controls.update();
      this.changed();
    };
    cancelAnimationFrame(this.animation);
    if (atOnce || reducedMotion()) {
      set(1);
      return;
    }
    const start = performance.now();
    const go = (now: number) => {
      const u = Math.min(1, Math.max(0, (now - start) / MOVE_TIME));
      set(u * u * (3 - 2 * u));
      if (u < 1) this.animation = requestAnimationFrame(go);
    };
    this.animation = requestAnimationFrame(go);
  }

  /** Follows a body; at: where it is now, if that is known. */
  follow(body: number | null, at: Vector3 | null): void {
    this.followed = body;
    if (body === null || !at) return;
    this.followedAt.copy(at);
    this.controls.target.copy(at);
    this.controls.update();
  }

  /** The followed body is here now; `isFirst`: there was no frame before. */
  moveAlong(at: Vector3, isFirst: boolean): void {
    if (!isFirst) {
      const by = at.clone().sub(this.followedAt);
      this.camera.position.add(by);
      this.controls.target.add(by);
    }
    this.followedAt.copy(at);
  }

  dispose(): void {
    cancelAnimationFrame(this.animation);
    this.controls.dispose();
  }
}

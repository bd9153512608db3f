// The grid below the model: it fades out with distance, and the lines through the origin are
// stronger.
import {
  BufferAttribute,
  Color,
  LineBasicMaterial,
  LineSegments,
  type Object3D,
  Vector3,
} from 'three';
import type { Box3 } from 'three';
import { sceneColours, type ThemeName } from '../shared/colours';
import { clamp, roundDown } from '../shared/numbers';
import { pointsGeometry } from './geometry';

/** Squares from the middle to each side. */
const HALF = 12;

export class Grid {
  private lines: LineSegments | null = null;
  /** Width of a square, m. */
  step = 1;

  constructor(private readonly parent: Object3D) {}

  get isMade(): boolean {
    return this.lines !== null;
  }
  get isVisible(): boolean {
    return this.lines?.visible ?? false;
  }
  show(on: boolean): void {
    if (this.lines) this.lines.visible = on;
  }

  /** Makes the grid again, around a box; size: of the model. */
  make(box: Box3, size: number, theme: ThemeName, visible: boolean): void {
    if (this.lines) {
      this.parent.remove(this.lines);
      this.lines.geometry.dispose();
    }
    this.step = roundDown(size / 4);
    const centre = box.getCenter(new Vector3());
    const z = box.min.z >= -0.02 * size ? 0 : box.min.z;
    const middle = new Vector3(
      Math.round(centre.x / this.step) * this.step,
      Math.round(centre.y / this.step) * this.step,
      z + 0.0002 * size, // above a ground at the same height
    );
    this.lines = this.build(middle, theme);
    this.lines.renderOrder = -1;
    this.lines.visible = visible;
    this.parent.add(this.lines);
  }

  private build(middle: Vector3, theme: ThemeName): LineSegments {
    const { step } = this;
    const points: number[] = [];
    const colours: number[] = [];
    const weak = new Color(sceneColours[theme].grid);
    const strong = new Color(sceneColours[theme].gridStrong);
    const background = new Color(sceneColours[theme].background);
    /** A point k squares off a line through the middle, e squares along it. */
    const add = (isAlongY: boolean, k: number, e: number) => {
      if (isAlongY) points.push(middle.x + k * step, middle.y + e * step, middle.z);
      else points.push(middle.x + e * step, middle.y + k * step, middle.z);
      const isThroughOrigin = Math.round((isAlongY ? middle.x : middle.y) / step) + k === 0;
      const fade = clamp(1.25 - 1.25 * (Math.hypot(k, e) / HALF), 0, 1);
      const colour = background.clone().lerp(isThroughOrigin ? strong : weak, fade);
      colours.push(...colour.toArray());
    };
    for (const isAlongY of [false, true])
      for (let k = -HALF; k <= HALF; ++k)
        for (let e = -HALF; e < HALF; ++e) {
          add(isAlongY, k, e);
          add(isAlongY, k, e + 1);
        }
    const geometry = pointsGeometry(points);
    geometry.setAttribute('color', new BufferAttribute(Float32Array.from(colours), 3));
    return new LineSegments(
      geometry,
      new LineBasicMaterial({ vertexColors: true, depthWrite: false }),
    );
  }
}

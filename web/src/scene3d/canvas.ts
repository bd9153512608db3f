// The canvas: draws the scene when something changed, and only then.
import { type Camera, type Scene as ThreeScene, WebGLRenderer } from 'three';

/** Without a graphics processor, pictures are coarse while things move and fine when they stop
 *  (ms without a new picture), instead of having smooth edges. */
const MOVING = 150;
const STILL = 250;

/** True where the processor itself draws the pictures. */
function isDrawnInSoftware(): boolean {
  const gl = document.createElement('canvas').getContext('webgl2');
  const info = gl?.getExtension('WEBGL_debug_renderer_info');
  const name = gl && info ? String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL)) : '';
  gl?.getExtension('WEBGL_lose_context')?.loseContext();
  return /swiftshader|llvmpipe|softpipe|software/i.test(name);
}

export class Canvas {
  readonly slow = isDrawnInSoftware();
  readonly element: HTMLCanvasElement;
  width = 1;
  height = 1;
  /** Pictures drawn so far. */
  count = 0;
  private readonly renderer: WebGLRenderer;
  private readonly pixelRatio = Math.min(window.devicePixelRatio || 1, 2);
  private isQueued = false;
  private isDisposed = false;
  private lastDrawn = 0;
  private fineTimer = 0;

  /** Throws where there is no WebGL.  drawn: called after each picture. */
  constructor(
    private readonly scene: ThreeScene,
    private readonly camera: Camera,
    private readonly drawn: () => void,
  ) {
    this.renderer = new WebGLRenderer({ antialias: !this.slow, powerPreference: 'low-power' });
    this.renderer.setPixelRatio(this.pixelRatio);
    this.element = this.renderer.domElement;
    this.element.tabIndex = 0;
    this.element.setAttribute('role', 'img');
  }

  setSize(width: number, height: number): void {
    this.width = width;
    this.height = height;
    this.renderer.setSize(width, height, false);
  }

  /** Asks for a new picture. */
  invalidate(): void {
    if (this.isQueued) return;
    this.isQueued = true;
    requestAnimationFrame(() => this.draw());
  }

  draw(fine = false): void {
    this.isQueued = false;
    if (this.isDisposed) return;
    if (this.slow) this.chooseRatio(fine);
    this.renderer.render(this.scene, this.camera);
    ++this.count;
    this.drawn();
  }

  private chooseRatio(fine: boolean): void {
    const now = performance.now();
    const isMoving = now - this.lastDrawn < MOVING;
    const coarse = isMoving ? 0.7 : 1;
    const ratio = this.pixelRatio * (fine ? 1.5 : coarse);
    if (this.renderer.getPixelRatio() !== ratio) this.renderer.setPixelRatio(ratio);
    this.lastDrawn = fine ? 0 : now;
    window.clearTimeout(this.fineTimer);
    if (!fine) this.fineTimer = window.setTimeout(() => this.draw(true), STILL);
  }

  /** The picture as a PNG. */
  picture(): Promise<Blob | null> {
    this.draw(true);
    return new Promise((resolve) => this.element.toBlob(resolve, 'image/png'));
  }

  dispose(): void {
    window.clearTimeout(this.fineTimer);
    this.isDisposed = true;
    this.renderer.dispose();
    this.renderer.forceContextLoss();
    this.element.remove();
  }
}

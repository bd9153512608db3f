// The 3-D view: bodies from their shapes (or as skeletons), what acts on them, and a camera.  Draws only when something
// changed.  z is up.  It knows nothing of where frames come from; the playground uses it too.
import {
  AmbientLight, Box3, BoxGeometry, BufferAttribute, BufferGeometry, Color, CylinderGeometry, DirectionalLight, DoubleSide, EdgesGeometry, FrontSide,
  Group, HemisphereLight, InstancedMesh, Line, LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshBasicMaterial, MeshLambertMaterial,
  MeshStandardMaterial, Object3D, PerspectiveCamera, Plane, PlaneGeometry, Quaternion, Raycaster, Scene as ThreeScene, SphereGeometry, Vector2,
  Vector3, WebGLRenderer,
} from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import { fit } from './fit';
import type { Frame, Place, Scene } from './protocol';
import { Arrows, axesGeometry, geometryOf, placed, upright, Z } from './shapes';
import { rotate } from './source';
import { Trails } from './trails';
import { calm, colours3, partColours, pretty, roundDown, theme, type ThemeName } from './theme';

export type Layer = 'links' | 'collision' | 'skeleton' | 'frames' | 'bodyframes' | 'axes' | 'contacts' | 'nearest' | 'com' | 'momentum' | 'trails' | 'grid';
export type Preset = 'iso' | 'front' | 'side' | 'top' | 'fit';
export interface Hooks {
  select(body: number | null): void;
  /** True if bodies may be pulled now. */
  pullable(): boolean;
  /** at: the point held, in the body; to: in the world. */
  pull(body: number, at: [number, number, number], to: [number, number, number]): void;
  release(): void;
  /** A layer was switched by the view itself. */
  layer?(layer: Layer, on: boolean): void;
}
type Matter = MeshStandardMaterial | MeshLambertMaterial;
type Pose = Pick<Frame, 't' | 'places' | 'com' | 'contacts' | 'lines'>;

const NEAREST = 12; // lines at most: the shortest
const MANY = 6; // more of them are not shown unless asked for
/** True where pictures are drawn by the processor. */
function drawnInSoftware(): boolean {
  const gl = document.createElement('canvas').getContext('webgl2');
  const info = gl?.getExtension('WEBGL_debug_renderer_info');
  const name = gl && info ? String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL)) : '';
  gl?.getExtension('WEBGL_lose_context')?.loseContext();
  return /swiftshader|llvmpipe|softpipe|software/i.test(name);
}

export class Scene3D {
  readonly canvas: HTMLCanvasElement;
  readonly layers: Record<Layer, boolean> = {
    links: true, collision: false, skeleton: false, frames: false, bodyframes: false, axes: false, contacts: true, nearest: true, com: false,
    momentum: false, trails: true, grid: true,
  };
  private renderer: WebGLRenderer;
  private three = new ThreeScene();
  private camera = new PerspectiveCamera(38, 1, 0.01, 100);
  private controls: OrbitControls;
  private bodies: Group[] = [];
  private linkParts: Object3D[][] = [];
  private collisionParts: Object3D[][] = [];
  private skeletonParts: Object3D[][] = [];
  private hasLinks: boolean[] = [];
  private boxes: Box3[] = [];
  private hidden = new Set<number>();
  private frameMarks: Object3D[] = [];
  private bodyMarks: Object3D[] = [];
  private axisMarks: Object3D[] = [];
  private edges: LineBasicMaterial;
  private basics: Record<string, MeshBasicMaterial> = {};
  private forces: Arrows;
  private momentum: Arrows;
  private angular: Arrows;
  private flow: Arrows;
  private flowing: [number, number][] = [];
  private dots: InstancedMesh;
  private nearest: LineSegments;
  private com: Mesh;
  private pullLine: Line;
  private pullBall: Mesh;
  private grid: LineSegments | null = null;
  private trails: Trails;
  private pose: Pose | null = null;
  private size = 1; // of the model
  private extent = 1; // of all that was to be seen when the camera was placed
  private fitted = false;
  private followed: number | null = null;
  private followedAt = new Vector3();
  private selected: number | null = null;
  private queued = false;
  private gone = false;
  private watch: ResizeObserver;
  private forceReference = 0;
  private momentumReference = [0, 0];
  private held: { body: number; at: [number, number, number]; plane: Plane; to: Vector3; active: boolean; x: number; y: number } | null = null;
  private legend: HTMLElement;
  private label: HTMLElement;
  private name: HTMLElement;
  private lastPull = 0;
  private legendText = '';
  private wide = 1;
  private tall = 1;
  private tween = 0;
  private moved = false;
  // seen from outside only, so that no wall hides what it bounds
  private ground = new MeshLambertMaterial({ side: FrontSide, polygonOffset: true, polygonOffsetFactor: 2, polygonOffsetUnits: 2 });
  private wall = new MeshLambertMaterial({ side: FrontSide, transparent: true, opacity: 0.3, depthWrite: false });
  private plateLines = new LineBasicMaterial();
  private plates: Object3D[] = []; // grids of plates
  private materials = new Map<string, Matter>();
  frames = 0; // pictures drawn

  constructor(private host: HTMLElement, private scene: Scene, private hooks: Hooks) {
    this.renderer = new WebGLRenderer({ antialias: !this.slow, powerPreference: 'low-power' }); // throws without WebGL
    this.renderer.setPixelRatio(this.ratio);
    this.canvas = this.renderer.domElement;
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', `3-D view of ${scene.title}; drag to turn, wheel to zoom, keys 1 to 5 for views`);
    host.prepend(this.canvas);
    const overlay = (className: string) => {
      const e = document.createElement('div');
      e.className = className;
      host.append(e);
      return e;
    };
    this.legend = overlay('legend3');
    this.label = overlay('label3');
    this.name = overlay('label3 name3');
    this.camera.up.copy(Z);
    this.camera.position.set(2.4, -2.8, 1.9);

    this.canvas.addEventListener('pointerdown', this.down);
    this.canvas.addEventListener('pointermove', this.move);
    this.canvas.addEventListener('pointerup', this.up);
    this.canvas.addEventListener('pointercancel', this.up);
    this.controls = new OrbitControls(this.camera, this.canvas);
    this.controls.addEventListener('change', () => this.invalidate());
    this.controls.addEventListener('start', () => (this.moved = true));
    this.controls.zoomToCursor = true;

    this.three.add(new AmbientLight('#ffffff', 0.35));
    const sky = new HemisphereLight('#ffffff', '#7d8492', 1.05);
    sky.position.copy(Z);
    this.three.add(sky);
    const sun = new DirectionalLight('#ffffff', 1.35);
    sun.position.set(2, -3, 5);
    this.three.add(sun);
    const head = new DirectionalLight('#ffffff', 0.7); // with the camera, so that nothing seen is dark
    head.position.set(-0.6, 0.8, 1);
    this.camera.add(head);
    this.three.add(this.camera);

    this.edges = new LineBasicMaterial({ transparent: true, opacity: 0.55 });
    for (const key of ['force', 'contact', 'momentum', 'angular', 'joint', 'com', 'pull', 'rod', 'flow'])
      this.basics[key] = new MeshBasicMaterial({ depthTest: key === 'joint', transparent: true });
    this.forces = new Arrows(this.basics.force, 20);
    this.momentum = new Arrows(this.basics.momentum, 18);
    this.angular = new Arrows(this.basics.angular, 18);
    this.flow = new Arrows(this.basics.flow, 24);
    this.trails = new Trails(this.three, (body) => scene.bodies[body].com, (body) => this.partColour(body));
    this.dots = this.makeDots(64);
    this.nearest = new LineSegments(new BufferGeometry(), new LineBasicMaterial({ depthTest: false, transparent: true }));
    this.com = new Mesh(new SphereGeometry(1, 20, 14), this.basics.com);
    this.pullLine = new Line(new BufferGeometry().setFromPoints([Z, Z]), new LineBasicMaterial({ depthTest: false, transparent: true }));
    this.pullBall = new Mesh(new SphereGeometry(1, 16, 12), this.basics.pull);
    for (const [o, order] of [[this.nearest, 16], [this.com, 17], [this.pullLine, 30], [this.pullBall, 30]] as [Object3D, number][]) {
      o.renderOrder = order;
      o.frustumCulled = false;
      o.visible = false;
      this.three.add(o);
    }
    this.three.add(this.forces.group, this.momentum.group, this.angular.group, this.flow.group);
    this.build();
    this.setTheme(theme());
    this.watch = new ResizeObserver(() => this.resize());
    this.watch.observe(host);
    this.resize();
  }

  /* ---- what is drawn ---- */
  private makeDots(room: number): InstancedMesh {
    const m = new InstancedMesh(new SphereGeometry(1, 14, 10), this.basics.contact, room);
    m.frustumCulled = false;
    m.renderOrder = 21;
    m.count = 0;
    this.three.add(m);
    return m;
  }

  private material(colour: string, shade: number): Matter {
    const key = `${colour}/${shade}`;
    let m = this.materials.get(key);
    if (!m) {
      const c = new Color(colour).offsetHSL(0, 0, shade);
      const looks = { color: c, side: DoubleSide, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 } as const;
      this.materials.set(key, (m = this.slow ? new MeshLambertMaterial(looks) : new MeshStandardMaterial({ ...looks, roughness: 0.62, metalness: 0.08 })));
    }
    return m;
  }

  partColour(body: number): string {
    if (!body) return '#8a909a';
    const parts = [...new Set(this.scene.bodies.slice(1).map((b) => b.part))];
    return partColours[Math.max(0, parts.indexOf(this.scene.bodies[body].part)) % partColours.length];
  }

  private build(): void {
    const { bodies, shapes } = this.scene;
    // joints that close loops, from each of their two bodies
    const closings = (this.scene.constraints ?? []).flatMap((c) => [{ body: c.a, place: c.placeA, joint: c.joint, scale: 1 }, { body: c.b, place: c.placeB, joint: c.joint, scale: 0.97 }])
      .filter((c): c is typeof c & { place: Place } => c.place !== null);
    // how thick bones are: by their typical length; where machines stand on the world tells nothing of it
    const far = (places: Place[]) => places.map((p) => Math.hypot(p[0], p[1], p[2])).filter((x) => x > 1e-6).sort((a, b) => a - b);
    const within = far([...bodies.filter((b) => b.parent > 0).map((b) => b.place), ...closings.filter((c) => c.body > 0).map((c) => c.place)]);
    const lengths = within.length ? within : far(bodies.slice(1).map((b) => b.place));
    const typical = lengths.length ? lengths[lengths.length >> 1] : 0.3;
    const smallest = shapes.filter((s) => s.body).map((s) => Math.max(...s.half) + s.radius).filter((x) => x > 0);
    const rod = Math.min(typical * (closings.length ? 0.05 : 0.065), ...(smallest.length ? [Math.max(...smallest) * 0.35] : [1])) || 0.02;
    const parity = bodies.map(() => 0);
    for (const [i, b] of bodies.entries()) {
      const group = new Group();
      group.matrixAutoUpdate = false;
      group.userData.body = i;
      this.three.add(group);
      this.bodies.push(group);
      if (i) parity[i] = parity[b.parent] ^ 1;
      const shade = parity[i] ? -0.035 : 0.035;
      const own = shapes.filter((s) => s.body === i);
      const visual = own.some((s) => s.role === 'visual');
      const links: Object3D[] = [], collision: Object3D[] = [], skeleton: Object3D[] = [];
      const box = new Box3(), seen: Box3[] = []; // of each shape that is a link's looks
      for (const s of own) {
        const g = geometryOf(s);
        if (!g) continue;
        if (!i && s.type === 'box' && s.half[2] < 0.02 * Math.min(s.half[0], s.half[1])) { // a wide plate stands for a half-space
          const level = Math.abs(1 - 2 * (s.place[4] ** 2 + s.place[5] ** 2)) > 0.5; // ground, not a wall
          const plate = new Mesh(new PlaneGeometry(2 * s.half[0], 2 * s.half[1]).translate(0, 0, s.half[2]), level ? this.ground : this.wall);
          placed(plate, s.place);
          plate.userData.body = i;
          const lines: number[] = [], step = roundDown(Math.max(s.half[0], s.half[1]) / 8);
          for (const [u, v] of [[0, 1], [1, 0]])
            for (let k = -Math.floor(s.half[u] / step); k * step <= s.half[u]; ++k)
              for (const end of [-1, 1]) lines.push(...(u ? [end * s.half[v], k * step] : [k * step, end * s.half[v]]), s.half[2]);
          const grid = new LineSegments(new BufferGeometry().setAttribute('position', new BufferAttribute(Float32Array.from(lines), 3)), this.plateLines);
          grid.visible = level;
          plate.add(grid);
          this.plates.push(grid);
          links.push(plate);
          group.add(plate);
          continue;
        }
        const second = visual && s.role !== 'visual'; // a contact shape of a body that has better looks
        const colour = s.colour ? `#${new Color(...(s.colour.map((c) => (c > 1 ? c / 255 : c)) as [number, number, number])).getHexString()}` : this.partColour(i);
        const mesh = new Mesh(g, this.material(colour, s.colour ? 0 : shade));
        placed(mesh, s.place);
        mesh.userData.body = i;
        mesh.userData.shape = s.name;
        if (s.type !== 'sphere' && s.type !== 'capsule' && g.getAttribute('position').count < 15000)
          mesh.add(new LineSegments(new EdgesGeometry(g, s.type === 'mesh' ? 40 : 25), this.edges));
        (second ? collision : links).push(mesh);
        group.add(mesh);
        g.computeBoundingBox();
        mesh.updateMatrix();
        const around = g.boundingBox!.clone().applyMatrix4(mesh.matrix);
        box.union(around);
        if (!second) seen.push(around);
      }
      if (i) {
        let bridged = false;
        const add = (g: BufferGeometry, colour: string, light: number, always = false) => {
          const mesh = new Mesh(g, this.material(colour, light));
          mesh.userData.body = i;
          mesh.userData.always = always;
          skeleton.push(mesh);
          group.add(mesh);
        };
        const knuckle = (type: string) => // what a joint looks like, its axis along z
          type === 'prismatic' ? new BoxGeometry(2.4 * rod, 2.4 * rod, 3 * rod)
            : type === 'revolute' || type === 'helical' || type === 'cylindrical' ? upright(new CylinderGeometry(1.4 * rod, 1.4 * rod, 3 * rod, 28))
            : new SphereGeometry(1.6 * rod, 24, 16);
        const bone = (to: number[], thick: number, joint = false) => {
          const v = new Vector3(...to), length = v.length();
          // shapes may be few, or some be lost: a joint that none of them reaches is joined to the body all the same
          const always = joint && length >= 1.2 * thick && seen.every((s) => s.distanceToPoint(v) > 0.1 * length);
          bridged ||= always;
          box.expandByPoint(v);
          if (length < 1.2 * thick) return;
          const g = upright(new CylinderGeometry(0.72 * thick, thick, length, 18)).translate(0, 0, length / 2);
          add(g.applyQuaternion(new Quaternion().setFromUnitVectors(Z, v.divideScalar(length))), this.partColour(i), shade, always);
        };
        const children = bodies.filter((c, k) => k > i && c.parent === i);
        for (const c of children) bone(c.place.slice(0, 3), rod, true);
        for (const f of this.scene.frames) if (f.body === i && !children.length) bone(f.place.slice(0, 3), 0.8 * rod);
        for (const s of own) if (Math.hypot(s.place[0], s.place[1], s.place[2]) > 0.5 * (Math.max(...s.half) + s.radius)) bone(s.place.slice(0, 3), 0.45 * rod);
        for (const c of closings) {
          if (c.body !== i) continue;
          bone(c.place.slice(0, 3), rod, true);
          if (c.joint === 'fixed') continue;
          const at = placed(new Object3D(), c.place);
          at.scale.setScalar(c.scale); // of two in one place one is seen
          at.updateMatrix();
          add(knuckle(c.joint).applyMatrix4(at.matrix), '#5c6470', 0, bridged);
        }
        bone(b.com, 0.55 * rod);
        const j = b.joint;
        if (j && j.type !== 'free' && j.type !== 'fixed') {
          const axis = j.axis ? new Vector3(...j.axis).normalize() : Z;
          add(knuckle(j.type).applyQuaternion(new Quaternion().setFromUnitVectors(Z, axis)), '#5c6470', 0, bridged);
        } else if (!own.length) add(new SphereGeometry(1.6 * rod, 24, 16), this.partColour(i), shade);
        box.expandByPoint(new Vector3());
      } else if (!own.length) {
        for (const c of bodies) // pedestals: where machines stand on the world
          if (c.parent === 0 && c.joint && c.joint.type !== 'free' && c !== b) box.expandByPoint(new Vector3(...c.place.slice(0, 3)));
        for (const c of closings) if (c.body === 0) box.expandByPoint(new Vector3(...c.place.slice(0, 3)));
      }
      // fingers alone would float: a body whose shapes stand away from it shows its bones too
      const away = own.length > 0 && !visual && i > 0 && own.every((s) => Math.hypot(s.place[0], s.place[1], s.place[2]) > 0.9 * (Math.min(...s.half.map((h) => h || Infinity), Infinity) + s.radius) && Math.hypot(s.place[0], s.place[1], s.place[2]) > Math.max(s.half[2], s.radius));
      this.hasLinks.push(links.length > 0 && !away);
      this.linkParts.push(links);
      this.collisionParts.push(collision);
      this.skeletonParts.push(skeleton);
      this.boxes.push(box);
    }
    const scale = Math.max(typical * 0.4, 4 * rod);
    const axes = axesGeometry(scale);
    const coloured = new MeshBasicMaterial({ vertexColors: true });
    for (const f of this.scene.frames) {
      const m = new Mesh(axes, coloured);
      placed(m, f.place);
      this.bodies[f.body].add(m);
      this.frameMarks.push(m);
    }
    for (const [i, b] of bodies.entries()) {
      const m = new Mesh(axes, coloured);
      m.scale.setScalar(i ? 0.7 : 1);
      this.bodies[i].add(m);
      this.bodyMarks.push(m);
      if (b.joint?.axis) {
        const g = upright(new CylinderGeometry(0.2 * rod, 0.2 * rod, 2 * scale, 8));
        const a = new Mesh(g.applyQuaternion(new Quaternion().setFromUnitVectors(Z, new Vector3(...b.joint.axis).normalize())), this.basics.joint);
        this.bodies[i].add(a);
        this.axisMarks.push(a);
      }
    }
    this.size = Math.max(typical * 3, 10 * rod);
    this.show();
  }

  /* ---- switches ---- */
  private show(): void {
    const l = this.layers;
    this.bodies.forEach((g, i) => {
      g.visible = !this.hidden.has(i);
      this.linkParts[i].forEach((o) => (o.visible = l.links));
      this.collisionParts[i].forEach((o) => (o.visible = l.collision));
      this.skeletonParts[i].forEach((o) => (o.visible = l.skeleton || (l.links && (!this.hasLinks[i] || o.userData.always === true))));
    });
    this.frameMarks.forEach((o) => (o.visible = l.frames));
    this.bodyMarks.forEach((o) => (o.visible = l.bodyframes));
    this.axisMarks.forEach((o) => (o.visible = l.axes));
    this.forces.group.visible = this.dots.visible = l.contacts;
    this.nearest.visible = l.nearest;
    this.com.visible = l.com && this.pose !== null;
    this.momentum.group.visible = this.angular.group.visible = l.momentum;
    this.trails.show(l.trails);
    if (this.grid) this.grid.visible = l.grid && !this.plates.some((o) => o.visible);
    this.plates.forEach((o) => (o.parent!.userData.level ??= o.visible, o.visible = l.grid && o.parent!.userData.level));
    this.invalidate();
  }
  setLayer(layer: Layer, on: boolean): void {
    this.layers[layer] = on;
    if (layer === 'nearest') this.nearestChosen = true;
    this.show();
    if (this.pose) this.setFrame(this.pose);
  }
  setVisible(body: number, on: boolean): void {
    if (on) this.hidden.delete(body);
    else this.hidden.add(body);
    this.show();
  }
  isVisible(body: number): boolean {
    return !this.hidden.has(body);
  }
  setTheme(name: ThemeName): void {
    const c = colours3[name];
    this.three.background = new Color(c.background);
    this.edges.color.set(c.edge);
    this.ground.color.set(c.ground);
    this.plateLines.color.set(c.gridStrong);
    this.wall.color.set(c.ground);
    for (const key of Object.keys(this.basics)) this.basics[key].color.set((c as unknown as Record<string, string>)[key] ?? '#888888');
    (this.nearest.material as LineBasicMaterial).color.set(c.nearest);
    (this.pullLine.material as LineBasicMaterial).color.set(c.pull);
    if (this.grid) this.makeGrid();
    this.highlight();
    this.invalidate();
  }

  private makeGrid(): void {
    const c = colours3[theme()];
    if (this.grid) {
      this.three.remove(this.grid);
      this.grid.geometry.dispose();
    }
    const box = this.bounds();
    const centre = box.getCenter(new Vector3());
    const step = roundDown(this.size / 4), n = 12;
    const z = box.min.z >= -0.02 * this.size ? 0 : box.min.z;
    const cx = Math.round(centre.x / step) * step, cy = Math.round(centre.y / step) * step;
    const points: number[] = [], colours: number[] = [];
    const weak = new Color(c.grid), strong = new Color(c.gridStrong), back = new Color(c.background);
    for (let k = -n; k <= n; ++k)
      for (const along of [0, 1])
        for (let m = -n; m < n; ++m) {
          const base = Math.round((along ? cx : cy) / step) + k === 0 ? strong : weak;
          for (const e of [m, m + 1]) {
            points.push(...(along ? [cx + k * step, cy + e * step] : [cx + e * step, cy + k * step]), z + 0.0002 * this.size);
            const fade = Math.min(1, Math.max(0, 1.25 - 1.25 * (Math.hypot(k, e) / n)));
            colours.push(...back.clone().lerp(base, fade).toArray());
          }
        }
    const g = new BufferGeometry();
    g.setAttribute('position', new BufferAttribute(Float32Array.from(points), 3));
    g.setAttribute('color', new BufferAttribute(Float32Array.from(colours), 3));
    this.grid = new LineSegments(g, new LineBasicMaterial({ vertexColors: true, depthWrite: false }));
    this.grid.renderOrder = -1;
    this.grid.visible = this.layers.grid && !this.plates.some((o) => o.visible);
    this.grid.userData.step = step;
    this.three.add(this.grid);
  }

  /* ---- frames ---- */
  setFrame(pose: Pose): void {
    const old = this.pose;
    this.pose = pose;
    const p = pose.places;
    const n = Math.min(this.bodies.length, p.length / 7);
    const at = new Vector3(), q = new Quaternion(), one = new Vector3(1, 1, 1);
    for (let i = 0; i < n; ++i) {
      const k = 7 * i;
      at.set(p[k], p[k + 1], p[k + 2]);
      q.set(p[k + 4], p[k + 5], p[k + 6], p[k + 3]);
      this.bodies[i].matrix.compose(at, q, one);
      this.bodies[i].matrixWorldNeedsUpdate = true;
    }
    if (!this.fitted && n) {
      this.fitted = true;
      this.three.updateMatrixWorld(true);
      const box = this.bounds();
      this.size = Math.max(1e-3, box.getSize(new Vector3()).length());
      this.makeGrid();
      this.preset('iso', true);
    }
    if (this.followed !== null && this.followed < n) {
      const now = new Vector3(...rotate(p, 7 * this.followed, this.scene.bodies[this.followed].com));
      if (old) {
        const by = now.clone().sub(this.followedAt);
        this.camera.position.add(by);
        this.controls.target.add(by);
      }
      this.followedAt.copy(now);
    }
    this.setContacts(pose);
    this.setMomentum(pose);
    this.setNearest(pose);
    this.trails.extend(pose);
    this.drawFlow();
    this.invalidate();
  }

  /** Arrows from body to body, until the next call: which way a recursion runs. */
  setFlow(pairs: [number, number][], colour: string): void {
    this.flowing = pairs;
    this.basics.flow.color.set(colour);
    this.drawFlow();
    this.invalidate();
  }
  private drawFlow(): void {
    const p = this.pose?.places;
    const at = (body: number) => new Vector3(p![7 * body], p![7 * body + 1], p![7 * body + 2]);
    this.flow.begin(this.flowing.length);
    for (const [from, to] of this.flowing) {
      if (!p || 7 * Math.max(from, to) + 7 > p.length) continue;
      const start = at(from), by = at(to).sub(start);
      if (by.length() > 0.01 * this.size) this.flow.add(start.addScaledVector(by, 0.08), by.multiplyScalar(0.84), 0.007 * this.size);
    }
    this.flow.end();
  }

  /** Arrow lengths: a reference momentum, 1, 2 or 5 times a power of ten, is drawn a sixth of the model's size long. */
  private static reference(old: number, largest: number): number {
    if (!(largest > 1e-9)) return old;
    return old > 0 && largest <= 2.6 * old && largest >= 0.3 * old ? old : roundDown(largest);
  }

  /** Metres for a newton. */
  private forceScale(): number {
    return this.forceReference > 1e-9 ? this.extent / 5 / this.forceReference : 0;
  }
  private setContacts(pose: Pose): void {
    const c = pose.contacts, n = Math.floor(c.length / 8);
    if (n > this.dots.instanceMatrix.count) {
      this.three.remove(this.dots);
      this.dots.dispose();
      this.dots = this.makeDots(2 * n);
      this.dots.visible = this.layers.contacts;
    }
    let largest = 0;
    for (let i = 0; i < n; ++i) largest = Math.max(largest, Math.hypot(c[8 * i + 3], c[8 * i + 4], c[8 * i + 5]) || 0);
    // the largest force so far is a fifth of what is in sight; after a blow that others would be too small beside, anew
    if (largest > this.forceReference || (largest > 1e-9 && largest < 0.1 * this.forceReference)) this.forceReference = largest;
    const scale = this.forceScale();
    const m = new Matrix4(), r = 0.006 * this.size;
    this.forces.begin(n);
    for (let i = 0; i < n; ++i) {
      const from = new Vector3(c[8 * i], c[8 * i + 1], c[8 * i + 2]);
      this.dots.setMatrixAt(i, m.makeScale(r, r, r).setPosition(from));
      this.forces.add(from, new Vector3(c[8 * i + 3], c[8 * i + 4], c[8 * i + 5]).multiplyScalar(scale), 0.0032 * this.size);
    }
    this.forces.end();
    this.dots.count = n;
    this.dots.instanceMatrix.needsUpdate = true;
  }

  private setMomentum(pose: Pose): void {
    const c = pose.com;
    if (c.length < 9) return;
    const at = new Vector3(c[0], c[1], c[2]);
    this.com.position.copy(at);
    this.com.scale.setScalar(0.011 * this.size);
    this.com.visible = this.layers.com;
    [this.momentum, this.angular].forEach((arrows, k) => {
      const v = new Vector3(c[3 + 3 * k], c[4 + 3 * k], c[5 + 3 * k]);
      this.momentumReference[k] = Scene3D.reference(this.momentumReference[k], v.length());
      arrows.begin(1);
      if (this.momentumReference[k]) arrows.add(at, v.multiplyScalar(this.size / 6 / this.momentumReference[k]), 0.004 * this.size);
      arrows.end();
    });
  }

  private nearestChosen = false;
  private setNearest(pose: Pose): void {
    const l = pose.lines;
    if (!this.nearestChosen && this.layers.nearest && l.length > 7 * MANY) {
      this.layers.nearest = false;
      this.hooks.layer?.('nearest', false);
    }
    const order = Array.from({ length: Math.floor(l.length / 7) }, (_, i) => i).sort((a, b) => l[7 * a + 6] - l[7 * b + 6]).slice(0, NEAREST);
    const n = order.length, points = new Float32Array(6 * n);
    order.forEach((from, i) => points.set(l.subarray(7 * from, 7 * from + 6), 6 * i));
    this.nearest.geometry.dispose();
    this.nearest.geometry = new BufferGeometry().setAttribute('position', new BufferAttribute(points, 3));
    this.nearest.visible = this.layers.nearest && n > 0;
  }

  /* ---- trails ---- */
  trailed(body: number): boolean {
    return this.trails.has(body);
  }
  setTrail(body: number, on: boolean, path: Float64Array | null = null): void {
    this.trails.set(body, on, path, this.layers.trails);
    if (this.pose) this.trails.extend(this.pose);
    this.invalidate();
  }
  clearTrails(): void {
    this.trails.clear();
  }

  /* ---- camera ---- */
  private bounds(): Box3 {
    const all = new Box3();
    this.bodies.forEach((g, i) => {
      if (i === 0 || this.hidden.has(i) || this.boxes[i].isEmpty()) return;
      all.union(this.boxes[i].clone().applyMatrix4(g.matrix));
    });
    const world = this.boxes[0]; // what stands on the world counts too, unless it is ground
    if (world && !world.isEmpty() && !this.hidden.has(0)) {
      const wide = (b: Box3) => b.getSize(new Vector3()).length();
      if (all.isEmpty() || wide(world) < 1.5 * wide(all)) all.union(world);
    }
    if (all.isEmpty()) all.set(new Vector3(-0.5, -0.5, 0), new Vector3(0.5, 0.5, 1));
    return all;
  }

  /** Corners of everything that counts for a fit. */
  private corners(): Vector3[] {
    const box = this.bounds(), out: Vector3[] = [];
    const add = (b: Box3, m: Matrix4) => {
      for (let k = 0; k < 8; ++k) out.push(new Vector3(k & 1 ? b.max.x : b.min.x, k & 2 ? b.max.y : b.min.y, k & 4 ? b.max.z : b.min.z).applyMatrix4(m));
    };
    this.bodies.forEach((g, i) => {
      if (!this.hidden.has(i) && !this.boxes[i].isEmpty() && (i > 0 || box.containsBox(this.boxes[0]))) add(this.boxes[i], g.matrix);
    });
    if (this.scene.source === 'model') { // a machine that will move: its reach, in part
      const reach = this.scene.bodies.map(() => 0), root = this.scene.bodies.map((_, i) => i);
      this.scene.bodies.forEach((b, i) => {
        if (!i || b.joint?.type === 'free') return;
        root[i] = b.parent > 0 ? root[b.parent] : i;
        reach[i] = (b.parent > 0 ? reach[b.parent] + Math.hypot(b.place[0], b.place[1], b.place[2]) : 0);
        const r = 0.7 * (reach[i] + this.boxes[i].getSize(new Vector3()).length() / 2);
        const at = new Vector3().setFromMatrixPosition(this.bodies[root[i]].matrix);
        for (const d of [[r, 0, 0], [-r, 0, 0], [0, r, 0], [0, -r, 0], [0, 0, r], [0, 0, -r]]) out.push(at.clone().add(new Vector3(...d)));
      });
    }
    const c = this.layers.contacts && this.pose ? this.pose.contacts : [], scale = this.forceScale();
    for (let k = 0; k + 8 <= c.length; k += 8) { // tips of arrows
      const tip = new Vector3(c[k] + scale * c[k + 3], c[k + 1] + scale * c[k + 4], c[k + 2] + scale * c[k + 5]);
      if (Number.isFinite(tip.lengthSq())) out.push(tip);
    }
    if (!out.length) add(box, new Matrix4());
    return out;
  }

  /** The oblique view that hides the fewest bodies behind others. */
  private best: Vector3 | null = null;
  private oblique(): Vector3 {
    if (this.best) return this.best;
    const turns = [0, 1, 7, 2, 6, 3, 5, 4].map((k) => new Vector3(1, -1.25, 0.8).applyAxisAngle(Z, (k * Math.PI) / 4));
    const solid = this.linkParts.slice(1).flat().filter((o) => o.visible) as Mesh[]; // skeletons hide little
    const triangles = solid.reduce((n, o) => n + (o.geometry.getAttribute('position')?.count ?? 0), 0);
    if (!solid.length || this.bodies.length * solid.length > 1000 || triangles > 60000 || !this.pose) return (this.best = turns[0]);
    let most = -1;
    for (const d of turns) {
      let free = 0;
      const back = d.clone().normalize();
      this.bodies.forEach((g, i) => {
        if (!i || this.boxes[i].isEmpty()) return;
        for (const at of [new Vector3(), this.boxes[i].getCenter(new Vector3())]) {
          this.ray.set(at.applyMatrix4(g.matrix), back);
          if (!this.ray.intersectObjects(solid.filter((o) => o.userData.body !== i), false).length) ++free;
        }
      });
      if (free > most * 1.02) (most = free), (this.best = d);
    }
    return this.best ?? turns[0];
  }

  preset(name: Preset, atOnce = false): void {
    this.extent = Math.max(1e-3, this.bounds().getSize(new Vector3()).length());
    if (this.pose) this.setContacts(this.pose);
    const points = this.corners();
    const direction = { iso: this.oblique().clone(), front: new Vector3(1, 0, 0.02), side: new Vector3(0, -1, 0.02), top: new Vector3(0, -0.001, 1),
      fit: this.camera.position.clone().sub(this.controls.target) }[name].normalize();
    const { centre, distance } = fit(points, direction, this.bounds().getCenter(new Vector3()), this.camera, this.tall);
    const to = centre.clone().addScaledVector(direction, distance);
    this.camera.near = distance / 200;
    this.camera.far = distance * 60;
    this.camera.updateProjectionMatrix();
    const from = this.camera.position.clone(), target = this.controls.target.clone();
    cancelAnimationFrame(this.tween);
    const set = (u: number) => {
      this.controls.target.lerpVectors(target, centre, u);
      this.camera.position.lerpVectors(from, to, u);
      this.controls.update();
      this.invalidate();
    };
    if (atOnce || calm()) return set(1);
    const start = performance.now();
    const go = (now: number) => {
      const u = Math.min(1, Math.max(0, (now - start) / 280));
      set(u * u * (3 - 2 * u));
      if (u < 1) this.tween = requestAnimationFrame(go);
    };
    this.tween = requestAnimationFrame(go);
  }
  follow(body: number | null): void {
    this.followed = body;
    if (body !== null && this.pose && 7 * body + 7 <= this.pose.places.length) {
      this.followedAt.set(...rotate(this.pose.places, 7 * body, this.scene.bodies[body].com));
      this.controls.target.copy(this.followedAt);
      this.controls.update();
    }
    this.invalidate();
  }
  /** Fits once more, for a moment that was chosen after the first frame; not if somebody moved the camera. */
  refit(): void {
    if (this.moved || !this.fitted) return;
    this.best = null;
    this.three.updateMatrixWorld(true);
    this.preset('iso', true);
  }
  resize(): void {
    const w = Math.max(1, this.host.clientWidth), h = Math.max(1, this.host.clientHeight);
    this.wide = w;
    this.tall = h;
    this.renderer.setSize(w, h, false);
    this.camera.aspect = w / h;
    this.camera.updateProjectionMatrix();
    if (this.fitted && !this.moved && this.followed === null) this.preset('fit', true); // nobody moved the camera: all stays in sight
    this.draw(); // at once: a canvas that changes its size is empty
  }

  invalidate(): void {
    if (this.queued) return;
    this.queued = true;
    requestAnimationFrame(() => this.draw());
  }
  /** Without a graphics processor: coarse while things move, fine when they stand still, instead of smoothed edges. */
  private slow = drawnInSoftware();
  private ratio = Math.min(window.devicePixelRatio || 1, 2);
  private lastDrawn = 0;
  private fine = 0;
  private setRatio(ratio: number): void {
    if (this.renderer.getPixelRatio() === ratio) return;
    this.renderer.setPixelRatio(ratio);
  }
  private draw(fine = false): void {
    this.queued = false;
    if (this.gone) return;
    if (this.slow) {
      const now = performance.now();
      this.setRatio(this.ratio * (fine ? 1.5 : now - this.lastDrawn < 150 ? 0.7 : 1));
      this.lastDrawn = fine ? 0 : now;
      window.clearTimeout(this.fine);
      if (!fine) this.fine = window.setTimeout(() => this.draw(true), 250);
    }
    this.renderer.render(this.three, this.camera);
    ++this.frames;
    this.captions();
  }
  /** Gives back what the view holds, to make room for another. */
  dispose(): void {
    cancelAnimationFrame(this.tween);
    window.clearTimeout(this.fine);
    this.gone = true;
    this.watch.disconnect();
    this.controls.dispose();
    this.three.traverse((o) => {
      if (o instanceof Mesh || o instanceof Line) o.geometry.dispose();
      if (o instanceof InstancedMesh) o.dispose();
    });
    this.renderer.dispose();
    this.renderer.forceContextLoss();
    for (const e of [this.canvas, this.legend, this.label, this.name]) e.remove();
  }
  /** The picture as a PNG. */
  picture(): Promise<Blob | null> {
    this.draw(true);
    return new Promise((resolve) => this.canvas.toBlob(resolve, 'image/png'));
  }

  /** Scales of arrows, the smallest distance, the chosen body's name. */
  private captions(): void {
    const perMetre = this.tall / (2 * Math.tan((this.camera.fov * Math.PI) / 360) * this.camera.position.distanceTo(this.controls.target));
    const rows: string[] = [];
    const row = (colour: string, length: number, value: number, unit: string) => { // a bar of a size that can be read
      let px = length * perMetre;
      for (let k = 0; k < 40 && px > 150; ++k) {
        const less = roundDown(0.99 * value);
        px *= less / value;
        value = less;
      }
      for (let k = 0; k < 40 && px > 0 && px < 24; ++k) (px *= 10), (value *= 10);
      if (px > 2 && px < 400) rows.push(`<span><i style="width:${Math.round(px)}px;background:${colour}"></i>${+value.toPrecision(2)} ${unit}</span>`);
    };
    const c = colours3[theme()];
    if (this.layers.contacts && this.forces.group.visible && this.dots.count && this.forceReference) {
      const round = roundDown(this.forceReference);
      row(c.force, round * this.forceScale(), round, 'N');
    }
    if (this.layers.momentum && this.pose) {
      if (this.momentumReference[0]) row(c.momentum, this.size / 6, this.momentumReference[0], 'N s');
      if (this.momentumReference[1]) row(c.angular, this.size / 6, this.momentumReference[1], 'N m s');
    }
    if (this.layers.grid && this.grid?.visible) row(c.gridStrong, this.grid.userData.step as number, this.grid.userData.step as number, 'm');
    const html = rows.join('');
    if (this.legendText !== html) this.legend.innerHTML = this.legendText = html;

    let best = -1;
    const l = this.pose?.lines;
    if (l && this.layers.nearest) for (let i = 0; 7 * i + 7 <= l.length; ++i) if (best < 0 || l[7 * i + 6] < l[7 * best + 6]) best = i;
    if (best >= 0 && l) {
      const k = 7 * best;
      const d = l[k + 6];
      this.caption(this.label, new Vector3((l[k] + l[k + 3]) / 2, (l[k + 1] + l[k + 4]) / 2, (l[k + 2] + l[k + 5]) / 2),
        Math.abs(d) < 0.1 ? `${pretty(d * 1000)} mm` : `${pretty(d)} m`);
    } else this.label.hidden = true;
    if (this.selected !== null && this.pose && 7 * this.selected + 7 <= this.pose.places.length && this.isVisible(this.selected)) {
      const b = this.scene.bodies[this.selected];
      this.caption(this.name, new Vector3(...rotate(this.pose.places, 7 * this.selected, b.com)), b.name);
    } else this.name.hidden = true;
  }
  private caption(e: HTMLElement, at: Vector3, text: string): void {
    const s = at.project(this.camera);
    const out = !(Math.abs(s.x) < 1 && Math.abs(s.y) < 1 && s.z < 1);
    if (e.hidden !== out) e.hidden = out;
    if (e.textContent !== text) e.textContent = text;
    e.style.transform = `translate(${Math.round(((s.x + 1) / 2) * this.wide)}px, ${Math.round(((1 - s.y) / 2) * this.tall)}px)`;
  }

  /* ---- the pointer ---- */
  select(body: number | null): void {
    this.selected = body;
    this.highlight();
    this.invalidate();
  }
  private glow = new Map<Matter, Matter>();
  private highlight(): void {
    this.bodies.forEach((g, i) =>
      g.children.forEach((o) => {
        if (!(o instanceof Mesh) || o.userData.body === undefined) return;
        const plain = (o.userData.plain ??= o.material) as Matter;
        if (i !== this.selected || !i) o.material = plain;
        else {
          let lit = this.glow.get(plain);
          if (!lit) {
            lit = plain.clone();
            this.glow.set(plain, lit);
          }
          lit.emissive.set(theme() === 'dark' ? '#ffffff' : '#ffb000');
          lit.emissiveIntensity = theme() === 'dark' ? 0.3 : 0.35;
          o.material = lit;
        }
      }));
  }

  private ray = new Raycaster();
  private aim(e: PointerEvent): Raycaster {
    const r = this.canvas.getBoundingClientRect();
    this.ray.setFromCamera(new Vector2(((e.clientX - r.left) / r.width) * 2 - 1, 1 - ((e.clientY - r.top) / r.height) * 2), this.camera);
    return this.ray;
  }
  private hit(e: PointerEvent): { body: number; point: Vector3 } | null {
    const ray = this.aim(e);
    const seen = (o: Object3D | null): boolean => !o || (o.visible && seen(o.parent));
    for (const h of ray.intersectObjects(this.bodies, true))
      if (h.object instanceof Mesh && h.object.userData.body !== undefined && seen(h.object)) return { body: h.object.userData.body as number, point: h.point };
    return null;
  }
  private start: { x: number; y: number; body: number | null } | null = null;
  private down = (e: PointerEvent): void => {
    if (e.button !== 0 || !e.isPrimary) return;
    const hit = this.hit(e);
    this.start = { x: e.clientX, y: e.clientY, body: hit?.body ?? null };
    if (hit && hit.body > 0 && this.hooks.pullable()) {
      this.controls.enabled = false;
      const at = hit.point.clone().applyMatrix4(this.bodies[hit.body].matrixWorld.clone().invert());
      this.held = { body: hit.body, at: [at.x, at.y, at.z], to: hit.point.clone(), active: false, x: e.clientX, y: e.clientY,
        plane: new Plane().setFromNormalAndCoplanarPoint(this.camera.getWorldDirection(new Vector3()), hit.point) };
      this.canvas.setPointerCapture(e.pointerId);
    }
  };
  private lastHover = 0;
  private move = (e: PointerEvent): void => {
    const held = this.held;
    if (!held) {
      if (e.buttons === 0 && e.pointerType === 'mouse' && e.timeStamp - this.lastHover > 60) {
        this.lastHover = e.timeStamp;
        const hit = this.hit(e);
        this.canvas.style.cursor = hit && hit.body > 0 ? (this.hooks.pullable() ? 'grab' : 'pointer') : '';
      }
      return;
    }
    if (!held.active && Math.hypot(e.clientX - held.x, e.clientY - held.y) < 4) return;
    held.active = true;
    const to = this.aim(e).ray.intersectPlane(held.plane, new Vector3());
    if (to) held.to.copy(to);
    this.drawPull();
    const now = performance.now();
    if (now - this.lastPull > 25) {
      this.lastPull = now;
      this.hooks.pull(held.body, held.at, [held.to.x, held.to.y, held.to.z]);
    }
  };
  private up = (e: PointerEvent): void => {
    const held = this.held;
    this.held = null;
    this.controls.enabled = true;
    if (held?.active) this.hooks.release();
    else if (e.type === 'pointerup' && this.start && Math.hypot(e.clientX - this.start.x, e.clientY - this.start.y) < 5)
      this.hooks.select(this.start.body && this.start.body > 0 ? this.start.body : null);
    this.start = null;
    this.drawPull();
  };
  private drawPull(): void {
    const held = this.held;
    this.pullLine.visible = this.pullBall.visible = held?.active ?? false;
    if (held?.active) {
      const from = new Vector3(...held.at).applyMatrix4(this.bodies[held.body].matrixWorld);
      this.pullLine.geometry.setFromPoints([from, held.to]);
      this.pullBall.position.copy(held.to);
      this.pullBall.scale.setScalar(0.009 * this.size);
    }
    this.invalidate();
  }
}

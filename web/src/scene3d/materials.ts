// Materials of the 3-D view, shared by all that looks alike.
import {
  Color,
  DoubleSide,
  FrontSide,
  LineBasicMaterial,
  MeshBasicMaterial,
  MeshLambertMaterial,
  MeshStandardMaterial,
} from 'three';
import type { Scene } from '../data/protocol';
import { partColours, sceneColours, type SceneColours, type ThemeName } from '../shared/colours';

export type Solid = MeshStandardMaterial | MeshLambertMaterial;

/** Materials without shading, for arrows and marks. */
type FlatName = 'force' | 'contact' | 'momentum' | 'angular' | 'joint' | 'com' | 'pull' | 'flow';
const flatNames: FlatName[] = [
  'force',
  'contact',
  'momentum',
  'angular',
  'joint',
  'com',
  'pull',
  'flow',
];

const WORLD_COLOUR = '#8a909a';
export const JOINT_COLOUR = '#5c6470';

/** Pushes a surface back a little, so that lines on it are seen. */
const behindLines = (by: number) => ({
  polygonOffset: true,
  polygonOffsetFactor: by,
  polygonOffsetUnits: by,
});

export class Materials {
  readonly edges = new LineBasicMaterial({ transparent: true, opacity: 0.55 });
  /** Ground and walls are seen from the front only, so that a wall never hides the room. */
  readonly ground = new MeshLambertMaterial({ side: FrontSide, ...behindLines(2) });
  readonly wall = new MeshLambertMaterial({
    side: FrontSide,
    transparent: true,
    opacity: 0.3,
    depthWrite: false,
  });
  readonly plateLines = new LineBasicMaterial();
  readonly nearest = new LineBasicMaterial({ depthTest: false, transparent: true });
  readonly pullLine = new LineBasicMaterial({ depthTest: false, transparent: true });
  readonly coloured = new MeshBasicMaterial({ vertexColors: true });
  readonly flat: Record<FlatName, MeshBasicMaterial>;
  private readonly solids = new Map<string, Solid>();
  private readonly glowing = new Map<Solid, Solid>();
  private readonly parts: string[];

  /** slow: no graphics processor, so cheaper shading. */
  constructor(
    private readonly scene: Scene,
    private readonly slow: boolean,
  ) {
    this.parts = [...new Set(scene.bodies.slice(1).map((b) => b.part))];
    // all but joint axes are drawn over the bodies
    const flat = flatNames.map((name) => [
      name,
      new MeshBasicMaterial({ depthTest: name === 'joint', transparent: true }),
    ]);
    this.flat = Object.fromEntries(flat) as Record<FlatName, MeshBasicMaterial>;
  }

  partColour(body: number): string {
    if (!body) return WORLD_COLOUR;
    const part = Math.max(0, this.parts.indexOf(this.scene.bodies[body].part));
    return partColours[part % partColours.length];
  }

  /** shade: added to the lightness. */
  solid(colour: string, shade: number): Solid {
    const key = `${colour}/${shade}`;
    const known = this.solids.get(key);
    if (known) return known;
    const looks = {
      color: new Color(colour).offsetHSL(0, 0, shade),
      side: DoubleSide,
      ...behindLines(1),
    };
    const made = this.slow
      ? new MeshLambertMaterial(looks)
      : new MeshStandardMaterial({ ...looks, roughness: 0.62, metalness: 0.08 });
    this.solids.set(key, made);
    return made;
  }

  /** The same material for a chosen body. */
  glow(plain: Solid, name: ThemeName): Solid {
    let lit = this.glowing.get(plain);
    if (!lit) {
      lit = plain.clone();
      this.glowing.set(plain, lit);
    }
    lit.emissive.set(name === 'dark' ? '#ffffff' : '#ffb000');
    lit.emissiveIntensity = name === 'dark' ? 0.3 : 0.35;
    return lit;
  }

  setTheme(name: ThemeName): void {
    const colours = sceneColours[name];
    this.edges.color.set(colours.edge);
    this.ground.color.set(colours.ground);
    this.wall.color.set(colours.ground);
    this.plateLines.color.set(colours.gridStrong);
    this.nearest.color.set(colours.nearest);
    this.pullLine.color.set(colours.pull);
    for (const key of flatNames)
      if (key in colours) this.flat[key].color.set(colours[key as keyof SceneColours]);
  }
}

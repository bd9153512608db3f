// Names of the components of vectors, by the space that a vector is in.
import type { Joint, Scene } from '../data/protocol';

export interface Component {
  group: string;
  name: string;
}

interface Named {
  scene: Scene;
  tipNames: string[];
}

const six = ['x turn', 'y turn', 'z turn', 'x', 'y', 'z']; // angular part first
const rateNames: Record<string, string[]> = {
  free: six,
  spherical: six.slice(0, 3),
  planar: ['x', 'y', 'angle'],
};

const sixOf = (group: string): Component[] => six.map((name) => ({ group, name }));

function jointComponents(joint: Joint | null): Component[] {
  if (!joint || !joint.nv) return [];
  if (joint.nv === 1) return [{ group: '', name: joint.name }];
  const names = rateNames[joint.type] ?? ['first', 'second'];
  return names.slice(0, joint.nv).map((name) => ({ group: joint.name, name }));
}

export function components(space: string, { scene, tipNames }: Named): Component[] {
  switch (space) {
    case 'one':
      return [{ group: '', name: '' }];
    case 'base':
      return sixOf('world');
    case 'tip':
      return tipNames.flatMap(sixOf);
    case 'link':
    case 'edge':
      return scene.bodies.slice(1).flatMap((b) => sixOf(b.name));
    default:
      return scene.bodies.flatMap((b) => jointComponents(b.joint));
  }
}

/** Group and name in one text. */
export const componentNames = (space: string, machine: Named): string[] =>
  components(space, machine).map((c) => [c.group, c.name].filter(Boolean).join(' '));

// Lights: sky and sun are fixed, one lamp moves with the camera.
import { AmbientLight, type Camera, DirectionalLight, HemisphereLight, type Object3D } from 'three';
import { Z } from './geometry';

export function addLights(parent: Object3D, camera: Camera): void {
  const sky = new HemisphereLight('#ffffff', '#7d8492', 1.05);
  sky.position.copy(Z);
  const sun = new DirectionalLight('#ffffff', 1.35);
  sun.position.set(2, -3, 5);
  const lamp = new DirectionalLight('#ffffff', 0.7); // so that nothing in view is dark
  lamp.position.set(-0.6, 0.8, 1);
  camera.add(lamp);
  parent.add(new AmbientLight('#ffffff', 0.35), sky, sun, camera);
}

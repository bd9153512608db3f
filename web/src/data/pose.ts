// Poses in frames: seven numbers per body, x y z and then the quaternion w x y z.

/** True if the pose of a body is among these. */
export const hasPose = (poses: ArrayLike<number>, body: number): boolean =>
  7 * body + 7 <= poses.length;

/** Where a point of a body is in the world; `at`: index of the first of the body's numbers. */
export function pointInWorld(
  poses: ArrayLike<number>,
  at: number,
  point: readonly number[],
): [number, number, number] {
  const [w, x, y, z] = [poses[at + 3], poses[at + 4], poses[at + 5], poses[at + 6]];
  const [a, b, c] = point;
  const tx = 2 * (y * c - z * b);
  const ty = 2 * (z * a - x * c);
  const tz = 2 * (x * b - y * a);
  return [
    poses[at] + a + w * tx + y * tz - z * ty,
    poses[at + 1] + b + w * ty + z * tx - x * tz,
    poses[at + 2] + c + w * tz + x * ty - y * tx,
  ];
}

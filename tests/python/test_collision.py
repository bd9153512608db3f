"""Distances of shapes, against closed forms and searches."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import soa
from soa.collision import Cache, Shape, distance, near_pairs, patch

CUBE = [[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]


def test_spheres_and_plane() -> None:
    a, b = Shape.sphere(0.3), Shape.sphere(0.2)
    d = distance(a, soa.pose([0, 0, 2]), b, soa.pose([0, 0, 0]))
    assert d.distance == pytest.approx(1.5)
    np.testing.assert_allclose(d.normal, [0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(d.point_a, [0, 0, 1.7], atol=1e-12)
    np.testing.assert_allclose(d.point_b, [0, 0, 0.2], atol=1e-12)
    assert distance(a, soa.pose([0, 0, 0.4]), b).distance == pytest.approx(-0.1)
    assert distance(a, soa.pose([5, 5, 1]), Shape.plane()).distance == pytest.approx(0.7)


@pytest.mark.parametrize("seed", range(8))
def test_hull_of_a_cube_is_a_box(seed: int) -> None:
    rng = np.random.default_rng(seed)
    hull, box, ball = Shape.hull(CUBE), Shape.box([1, 1, 1]), Shape.capsule(0.1, 0.6)
    at = soa.pose(rng.uniform(0.8, 2, 3), rpy=rng.uniform(-2, 2, 3))
    turned = soa.pose(rng.uniform(-0.1, 0.1, 3), rpy=rng.uniform(-2, 2, 3))
    first, second = distance(hull, turned, ball, at), distance(box, turned, ball, at, Cache())
    assert first.distance == pytest.approx(second.distance, abs=1e-10)
    between = first.point_a - first.point_b
    np.testing.assert_allclose(between, first.normal * first.distance, atol=1e-9)
    assert distance(ball, at, hull, turned).distance == pytest.approx(first.distance, abs=1e-10)


def test_patch_of_a_box_on_the_ground() -> None:
    box = Shape.box([0.4, 0.2, 0.1])
    found = patch(box, soa.pose([1, 2, 0.0505]), Shape.plane(), None, margin=1e-3)
    corners = sorted(map(tuple, np.round(found.points_a[:, :2], 9)))
    assert corners == [(0.8, 1.9), (0.8, 2.1), (1.2, 1.9), (1.2, 2.1)]
    np.testing.assert_allclose(found.distances, 0.0005, atol=1e-12)
    np.testing.assert_allclose(found.normal, [0, 0, 1], atol=1e-12)
    assert len(set(found.ids)) == 4
    assert found.nearest.distance == pytest.approx(0.0005)
    assert patch(box, soa.pose([1, 2, 0.06]), Shape.plane()).points_a.shape == (0, 3)


def test_hull() -> None:
    rng = np.random.default_rng(1)
    points = rng.normal(size=(200, 3))
    hull = Shape.hull(points)
    centre = hull.vertices.mean(axis=0)
    assert set(map(tuple, hull.vertices)) <= set(map(tuple, points))
    for face in hull.faces:  # all points behind every face
        a, b, c = hull.vertices[face[:3]]
        normal = np.cross(b - a, c - a)
        assert normal @ (a - centre) > 0
        assert (points @ normal <= a @ normal + 1e-9).all()
    low, high = hull.bounds()
    np.testing.assert_allclose(low, points.min(axis=0))
    np.testing.assert_allclose(high, points.max(axis=0))
    again = pickle.loads(pickle.dumps(hull))
    assert distance(again, soa.pose([5, 0, 0]), hull).distance == pytest.approx(
        distance(hull, soa.pose([5, 0, 0]), hull).distance)


def test_mesh(tmp_path: object) -> None:
    import pathlib

    path = pathlib.Path(str(tmp_path)) / "cube.obj"
    path.write_text("".join(f"v {x} {y} {z}\n" for x, y, z in CUBE) + "f 1 2 3\nf 2 3 4\nf 5 6 7\nf 6 7 8\n")
    try:
        mesh = Shape.mesh(path, scale=2.0)
    except soa.FileError as fault:
        pytest.skip(f"meshes cannot be read here: {fault}")
    low, high = mesh.bounds()
    np.testing.assert_allclose((low, high), ([-1] * 3, [1] * 3), atol=1e-7)


def test_near_pairs_are_those_of_all() -> None:
    rng = np.random.default_rng(2)
    shapes = [Shape.sphere(0.3), Shape.box([0.2, 0.4, 0.6]), Shape.cylinder(0.2, 0.5)] * 8
    poses = [soa.pose(rng.uniform(-1, 1, 3), rpy=rng.uniform(-2, 2, 3)) for _ in shapes]
    boxes = [s.bounds(p, 0.05) for s, p in zip(shapes, poses)]
    expected = [(i, j) for i in range(24) for j in range(i + 1, 24)
                if (boxes[i][0] <= boxes[j][1]).all() and (boxes[j][0] <= boxes[i][1]).all()]
    assert near_pairs(shapes, poses, 0.05) == expected
    assert near_pairs([], []) == []


def test_faults() -> None:
    with pytest.raises(soa.SoaError):
        Shape.sphere(-1.0)
    with pytest.raises(ValueError, match=r"\(n, 3\)"):
        Shape.hull([[1, 2]])
    with pytest.raises(ValueError):
        Shape.hull([[0, 0, float("nan")]])
    with pytest.raises(ValueError, match="pose"):
        distance(Shape.sphere(1), np.eye(3), Shape.sphere(1))
    with pytest.raises(soa.SoaError):
        distance(Shape.plane(), None, Shape.plane())
    with pytest.raises(ValueError, match="as many"):
        near_pairs([Shape.sphere(1)], [])
    assert repr(Shape.box([1, 1, 1])) == "<soa.Shape box: half sizes 0.5, 0.5, 0.5, radius 0>"
    assert pickle.loads(pickle.dumps(Shape.capsule(0.1, 1))).radius == 0.1

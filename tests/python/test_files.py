"""Remarks on a URDF, its shapes, and C code: against the program, an XML parser and a compiler."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as xml
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soa
from soa.files import Mesh, parse_looks, read_collisions, read_looks

ROOT = Path(__file__).parents[2]
CORPUS = sorted((ROOT / "tests" / "corpus" / "urdf").glob("*.urdf"))
PROGRAM = os.environ.get("SOA_PROGRAM", str(ROOT / "build" / "soa"))
COMPILER = shutil.which(os.environ.get("CC", "cc"))
needs_program = pytest.mark.skipif(
    not Path(PROGRAM).exists(), reason=f"the program {PROGRAM} is not there: set SOA_PROGRAM"
)
needs_compiler = pytest.mark.skipif(
    COMPILER is None, reason="no C compiler: generated code was NOT run"
)
TETRAHEDRON = b"""solid t
facet normal 0 0 -1 outer loop vertex 0 0 0 vertex 0 1 0 vertex 1 0 0 endloop endfacet
facet normal 0 -1 0 outer loop vertex 0 0 0 vertex 1 0 0 vertex 0 0 1 endloop endfacet
facet normal -1 0 0 outer loop vertex 0 0 0 vertex 0 0 1 vertex 0 1 0 endloop endfacet
facet normal 1 1 1 outer loop vertex 1 0 0 vertex 0 1 0 vertex 0 0 1 endloop endfacet
endsolid t
"""


def robot(*elements: str) -> str:
    return f"<robot name='r'><link name='a'>{''.join(elements)}</link></robot>"


# --- remarks --------------------------------------------------------------------------------------


@needs_program
@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_remarks_are_those_of_the_program(path: Path) -> None:
    """The program also tries the dynamics, which adds remarks."""
    found = soa.lint_urdf(path)
    run = subprocess.run(
        [PROGRAM, "check", str(path)], capture_output=True, timeout=60, check=False
    )
    printed = run.stdout.decode(errors="replace")
    if run.returncode == 2:  # the program does not take it for a URDF at all
        assert found.errors and path.stem in ("empty", "text_only")
        return
    for remark in found.remarks:
        assert f"{remark.level}: [{remark.rule}] " in printed, remark
        if remark.line:
            assert re.search(
                rf":{remark.line}: {remark.level}: \[{re.escape(remark.rule)}\]", printed
            ), remark
    assert found.errors == sum(remark.level == "error" for remark in found.remarks)
    assert found.warnings == sum(remark.level == "warning" for remark in found.remarks)
    assert bool(found) == (found.errors == 0)
    if found.errors:
        assert run.returncode != 0


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_text_as_file(path: Path) -> None:
    there, here = soa.lint_urdf(path), soa.lint_urdf_text(path.read_bytes(), path.parent)
    assert [(r.level, r.line, r.rule) for r in there.remarks] == [
        (r.level, r.line, r.rule) for r in here.remarks
    ]


def test_remarks_say_what_and_where() -> None:
    found = soa.lint_urdf_text(
        "<robot name='r'>\n<link name='a'/>\n<joint name='j' type='revolut'/>\n</robot>"
    )
    assert not found and found.errors >= 1
    (wrong,) = [remark for remark in found.remarks if "revolut" in remark.text][:1]
    assert (
        wrong.line == 3
        and str(wrong).startswith(f"line 3: {wrong.level}: ")
        and str(wrong) in str(found)
    )
    good = soa.lint_urdf(ROOT / "examples" / "arm.urdf")
    assert good and good.errors == 0


def test_no_file_to_lint(tmp_path: Path) -> None:
    with pytest.raises(soa.FileError, match="absent"):
        soa.lint_urdf(tmp_path / "absent.urdf")


# --- shapes ---------------------------------------------------------------------------------------


def geometry(tag: str) -> list[tuple[str, np.ndarray, str, dict[str, str]]]:
    """Link, position, kind and sizes of the elements of a corpus file, by Python's own parser."""
    found = []
    for link in (
        xml.parse(ROOT / "tests" / "corpus" / "urdf" / "geometry.urdf").getroot().iter("link")
    ):
        for element in link.findall(tag):
            origin, shape = element.find("origin"), element.find("geometry")[0]
            place = np.array(
                [float(n) for n in ("0 0 0" if origin is None else origin.get("xyz")).split()]
            )
            found.append((link.get("name"), place, shape.tag, dict(shape.attrib)))
    return found


def check_sizes(shape: Any, sizes: dict[str, str]) -> None:
    low, high = shape.bounds()
    if shape.type == "box":
        expected = np.array([float(n) for n in sizes["size"].split()])
    elif shape.type == "cylinder":
        expected = np.array([2 * float(sizes["radius"])] * 2 + [float(sizes["length"])])
    else:
        expected = np.full(3, 2 * float(sizes["radius"]))
    assert np.abs(high - low - expected).max() < 1e-12


def test_collisions_against_an_xml_parser() -> None:
    found = read_collisions(ROOT / "tests" / "corpus" / "urdf" / "geometry.urdf")
    expected = geometry("collision")
    assert len(found) == len(expected) >= 3
    for one, (link, place, kind, sizes) in zip(found, expected):
        assert (one.link, one.mesh, one.fault) == (link, None, None)
        assert (
            one.shape is not None
            and one.shape.type == kind
            and np.array_equal(one.place[:3, 3], place)
        )
        check_sizes(one.shape, sizes)


def test_collision_meshes_and_faults(tmp_path: Path) -> None:
    (tmp_path / "t.stl").write_bytes(TETRAHEDRON)
    path = tmp_path / "r.urdf"
    path.write_text(
        robot(
            "<collision name='one'><geometry>"
            "<mesh filename='t.stl' scale='2 2 2'/></geometry></collision>",
            "<collision><geometry><mesh filename='no.stl'/></geometry></collision>",
            "<collision><geometry><sphere radius='-1'/></geometry></collision>",
        )
    )
    good, missing, wrong = read_collisions(path)
    assert (
        good.name == "one" and good.fault is None and good.shape is None and good.mesh is not None
    )
    hull = soa.collision.Shape.mesh(good.mesh, good.scale)
    assert np.allclose(hull.bounds()[1], [2, 2, 2]) and len(hull.vertices) == 4
    assert missing.mesh == "no.stl" and missing.fault and missing.shape is None
    assert wrong.mesh is None and wrong.fault and wrong.shape is None


def test_looks() -> None:
    """The only <visual> is a mesh that is missing: a note says so."""
    path = ROOT / "tests" / "corpus" / "urdf" / "geometry.urdf"
    assert geometry("visual")[0][2] == "mesh"
    looks = read_looks(path)
    assert looks.shapes == () and len(looks.notes) == 1 and "package 'p'" in looks.notes[0]


def test_looks_from_text(tmp_path: Path) -> None:
    (tmp_path / "t.stl").write_bytes(TETRAHEDRON)
    urdf = robot(
        "<visual><origin xyz='0 0 1'/><geometry><mesh filename='t.stl'/></geometry></visual>",
        "<visual><geometry><box size='1 2 3'/></geometry>"
        "<material name='m'><color rgba='1 0.5 0 0.25'/></material></visual>",
    )
    looks = parse_looks(urdf, tmp_path)
    mesh, box = looks.shapes
    assert (
        isinstance(mesh.shape, Mesh)
        and mesh.link == "a"
        and mesh.place[2, 3] == 1
        and looks.notes == ()
    )
    corners = mesh.shape.vertices[mesh.shape.triangles]
    assert corners.shape == (4, 3, 3)
    volume = np.linalg.det(corners).sum() / 6
    assert abs(volume - 1 / 6) < 1e-12
    assert box.colour == (1, 0.5, 0, 0.25)
    check_sizes(box.shape, {"size": "1 2 3"})
    file = tmp_path / "r.urdf"
    file.write_text(urdf)
    assert [one.link for one in read_looks(file).shapes] == ["a", "a"]
    without = parse_looks(urdf)
    assert [one.shape.type for one in without.shapes] == [
        "box"
    ]  # meshes are not opened without a directory


def test_no_file_with_shapes(tmp_path: Path) -> None:
    for read in (read_looks, read_collisions):
        with pytest.raises(soa.FileError, match="absent"):
            read(tmp_path / "absent.urdf")
    with pytest.raises(soa.FileError):
        parse_looks("<robot")


# --- code -----------------------------------------------------------------------------------------


@needs_compiler
def test_generated_code_runs(tmp_path: Path) -> None:
    assert COMPILER is not None
    model = soa.Model.open("chain:2")
    source, library = tmp_path / "arm.c", tmp_path / "arm.so"
    assert model.generate_c(source, "arm") is None
    assert model.generate_c(prefix="arm") == source.read_text()
    subprocess.run(
        [COMPILER, "-O1", "-shared", "-fPIC", "-o", library, source, "-lm"], check=True, timeout=300
    )
    code = ctypes.CDLL(str(library))
    rng = np.random.default_rng(31)
    q, v, tau = rng.normal(size=(3, 2))
    qdd = np.zeros(2)

    def pointer(array: np.ndarray) -> Any:
        return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))

    assert code.arm_fd(*(pointer(one) for one in (q, v, tau, qdd))) == 0
    expected = model.aba(q, v, tau)
    assert np.abs(qdd - expected).max() <= 1e-10 * np.abs(expected).max()


def test_prefix_and_refusals(tmp_path: Path) -> None:
    named = soa.ModelDefinition("7 légs")
    named.add("a", "world", "revolute", inertia=soa.Inertia.sphere(1.0, 0.1))
    assert "int m7_l__gs_fd(" in named.build().generate_c()
    model = soa.Model.open("chain:2")
    for prefix in ("", "2legs", "a-b", "a b"):
        with pytest.raises(soa.InputError, match="prefix is"):
            model.generate_c(prefix=prefix)
    with pytest.raises(soa.FileError):
        model.generate_c(tmp_path / "no" / "file.c")
    with pytest.raises(soa.InputError, match="1,?000"):
        soa.Model.open("chain:1001").generate_c()

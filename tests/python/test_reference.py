"""The reference vectors in SOA_REFERENCE_DIR/vectors, through Python.

They come from another program: linear part first, quaternions x y z w, joints in its own order.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soa
from numpy.typing import NDArray

Array = NDArray[np.float64]
TOLERANCE = 1e-10
DIRECTORY = os.environ.get("SOA_REFERENCE_DIR")
FILES = sorted(file for file in (Path(DIRECTORY) / "vectors").glob("*.json") if not file.name.startswith("closed_")) \
    if DIRECTORY else []
SWAP = [3, 4, 5, 0, 1, 2]


class Reference:
    """One file: the model, and which of our numbers are which of its."""

    def __init__(self, file: Path) -> None:
        self.data: dict[str, Any] = json.loads(file.read_text())
        assert DIRECTORY
        urdf = Path(DIRECTORY) / "models" / Path(self.data["urdf"]).name
        self.model = soa.Model.open(urdf, floating=bool(self.data["floating"]), ideal=True).with_gravity(self.data["gravity"])
        self.v = np.zeros(self.data["nv"], dtype=int)  # v[i]: our index of its coordinate i
        for joint in self.data["joints"]:
            body, at = self.body(joint), joint["idx_v"]
            indices = np.arange(body.v.start, body.v.stop)
            self.v[at:at + len(indices)] = indices[SWAP] if len(indices) == 6 else indices

    def body(self, joint: dict[str, Any]) -> soa.Body:
        return self.model.joint("root" if joint["type"] == "floating" else joint["name"])

    def q_in(self, plain: list[float]) -> Array:
        q = self.model.neutral()
        for joint in self.data["joints"]:
            values = plain[joint["idx_q_plain"]:joint["idx_q_plain"] + joint["nq_plain"]]
            if len(values) == 7:
                values = [*values[:3], values[6], *values[3:6]]
            q[self.body(joint).q] = values
        return q

    def v_in(self, values: list[float]) -> Array:
        v = np.zeros(self.model.nv)
        v[self.v] = values
        return v

    def matrix_out(self, matrix: Array) -> Array:
        return matrix[np.ix_(self.v, self.v)]


def test_reference_directory_is_given() -> None:
    if not DIRECTORY:
        pytest.skip("SOA_REFERENCE_DIR is not set: NO reference vector was compared")
    assert FILES, f"{DIRECTORY}/vectors has no files"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_reference_vectors(file: Path) -> None:
    r = Reference(file)
    model, last = r.model, r.data["last_body"]
    worst: dict[str, float] = {}

    def compare(name: str, found: Any, expected: Any) -> None:
        found, expected = np.asarray(found), np.asarray(expected)
        assert found.shape == expected.shape, name
        assert np.isfinite(found).all(), name
        error = float(np.abs(found - expected).max()) / max(float(np.abs(expected).max()), 1e-3)
        worst[name] = max(worst.get(name, 0.0), error)

    for s in r.data["samples"]:
        q, v, a, tau = r.q_in(s["q_plain"]), r.v_in(s["v"]), r.v_in(s["a"]), r.v_in(s["tau"])
        wrench = soa.Wrench(s["fext"]["body"], s["fext"]["moment_world"] + s["fext"]["force_world"], "world")
        compare("rnea", model.rnea(q, v, a)[r.v], s["rnea"])
        compare("rnea_fext", model.rnea(q, v, a, [wrench])[r.v], s["rnea_fext"])
        compare("bias", model.bias_torque(q, v)[r.v], s["nle"])
        compare("gravity", model.gravity_torque(q)[r.v], s["gravity_torque"])
        compare("aba", model.aba(q, v, tau)[r.v], s["aba"])
        compare("aba_fext", model.aba(q, v, tau, [wrench])[r.v], s["aba_fext"])
        compare("mass", r.matrix_out(model.mass(q)), s["M"])
        compare("minv", r.matrix_out(model.minv(q)), s["Minv"])
        for joint, pose in zip(r.data["joints"], s["poses"], strict=True):
            X = model.pose(q, joint["child_link"])
            compare("pose", np.concatenate([X[:3, :3].ravel(), X[:3, 3]]), pose["R"] + pose["p"])
        compare("jacobian", model.jacobian(q, last)[SWAP][:, r.v], s["J_last"])
        compare("jacobian_dot_v", model.jacobian_dot_v(q, v, last)[SWAP], s["Jdotv_last"])
        compare("kinetic", model.energy(q, v)[0], s["kinetic_energy"])
        if r.data["floating"]:  # otherwise the other program leaves out what is fixed to the world, or not
            compare("com", model.centre_of_mass(q)[0], s["com"])
            compare("momentum", model.momentum(q, v)[SWAP], s["centroidal_momentum"])
        daba, drnea = model.aba_derivatives(q, v, tau), model.rnea_derivatives(q, v, a)
        for name, ours in zip(("daba_dq", "daba_dv", "Minv"), daba, strict=True):
            compare(name, r.matrix_out(ours), s[name])
        for name, ours in zip(("drnea_dq", "drnea_dv", "M"), drnea, strict=True):
            compare(name, r.matrix_out(ours), s[name])
    assert max(worst.values()) <= TOLERANCE, worst

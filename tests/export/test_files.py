"""Trajectories as files: what other programs read back is where the particles were."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from pxr import Usd, UsdGeom
from rerun.chunk import RrdReader

from pbd_gym import Scene
from pbd_gym.colliders import Box, Plane, Sphere
from pbd_gym.export import Part, Trajectory, write_trajectory
from pbd_gym.geometry.tetmeshes import ball
from pbd_gym.runtime.extras import install_hint

MOMENTS = 3
FPS = 25.0


def scene_of_all() -> Scene:
    """Return a cloth, a soft ball, a rope, a loose particle, the ground, a ball and a box that moves."""
    scene = Scene()
    scene.add_cloth(3, 3, position=(0.0, 1.0, 0.0), lines=False)
    scene.add_soft_body(ball(0.2, 2), position=(1.0, 0.5, 0.0))
    scene.add_rope(np.linspace([-1.0, 1.0, 0.0], [-0.5, 1.2, 0.3], 6), lines=False)
    scene.add_particles([[0.0, 2.0, 0.0]], 1.0)
    scene.add_collider(Plane())
    scene.add_collider(Sphere((0.0, 0.3, 0.0), 0.3))
    scene.add_collider(Box((0.0, 0.1, 1.0), (0.2, 0.1, 0.3)), moving=True)
    return scene


@pytest.fixture(scope="module")
def trajectory() -> Trajectory:
    scene = scene_of_all()
    made, rng = Trajectory(scene, FPS), np.random.default_rng(0)
    for moment in range(MOMENTS):
        pose = [[0.1 * moment, 0.1, 1.0, 0.0, 0.0, 0.0, 1.0]]
        made.add(scene.positions + 0.1 * moment + 0.01 * rng.normal(size=scene.positions.shape), pose)
    return made


def named(trajectory: Trajectory, name: str) -> Part:
    return next(part for part in trajectory.parts() if part.name == name)


def test_parts_are_all_there_is(trajectory: Trajectory) -> None:
    """Guards the names, that colliders stand where they do at each moment, and that spheres are round."""
    parts = trajectory.parts()
    assert [part.name for part in parts] == ["body_0", "body_1", "body_2", "body_3", "sphere_1", "box_2"]
    box = named(trajectory, "box_2")
    np.testing.assert_allclose(box.points[2] - box.points[0], np.tile([0.2, 0.0, 0.0], (len(box.points[0]), 1)))
    np.testing.assert_allclose(box.points[0].min(axis=0), [-0.2, 0.0, 0.7])
    (sphere,) = named(trajectory, "sphere_1").points
    np.testing.assert_allclose(np.linalg.norm(sphere - [0.0, 0.3, 0.0], axis=1), 0.3)
    for name in ("sphere_1", "box_2", "body_1"):  # closed, and outward
        part = named(trajectory, name)
        mesh = trimesh.Trimesh(part.at(0), part.triangles, process=False)
        assert mesh.is_watertight and mesh.volume > 0
    rope = named(trajectory, "body_2")
    scene = trajectory.scene
    ends = scene.lines[[0, -1]].ravel()[[0, -1]]
    np.testing.assert_array_equal(rope.points[1, rope.chains[0][[0, -1]]], trajectory.positions[1, ends])


def test_ropes_of_a_body_are_there_as_well() -> None:
    """Guards bodies of several kinds: a loose particle joins a cloth and a rope, and another hangs from a rope."""
    scene = Scene()
    scene.add_cloth(3, 3, lines=False)
    scene.add_particles([[0.0, 2.0, 0.0]], 1.0)
    scene.add_rope(np.linspace([1.0, 0.0, 0.0], [2.0, 0.0, 0.0], 5), lines=False)
    scene.add_distance_constraints([[0, 9], [9, 10]])
    scene.add_rope(np.linspace([1.0, 0.0, 1.0], [2.0, 0.0, 1.0], 4), lines=False)
    scene.add_particles([[2.0, -1.0, 1.0]], 1.0)
    scene.add_distance_constraints([[18, 19]])
    made = Trajectory(scene, FPS)
    made.add(scene.positions)
    cloth, rope, other, weight = made.parts()
    assert [part.name for part in made.parts()] == ["body_0", "body_0_ropes", "body_1", "body_1_points"]
    assert len(cloth.triangles) == 8
    np.testing.assert_array_equal(rope.chains[0], np.arange(10, 15))
    np.testing.assert_array_equal(other.chains[0], np.arange(15, 19))
    np.testing.assert_array_equal(weight.at(0), [[2.0, -1.0, 1.0]])


def test_tubes_are_closed_round_their_curve(trajectory: Trajectory) -> None:
    rope = named(trajectory, "body_2")
    tube = rope.as_mesh()
    for moment in range(MOMENTS):
        mesh = trimesh.Trimesh(tube.at(moment), tube.triangles, process=False)
        assert mesh.is_watertight and mesh.volume > 0
        rings = tube.at(moment).reshape(-1, 8, 3)
        np.testing.assert_allclose(rings.mean(axis=1), rope.points[moment][rope.chains[0]], atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(rings - rings.mean(axis=1, keepdims=True), axis=2), rope.radius)


def test_obj_files_read_back(trajectory: Trajectory, tmp_path: Path) -> None:
    longer = Trajectory(trajectory.scene, FPS)
    for _ in range(MOMENTS + 2):
        longer.add(trajectory.scene.positions, [[0.0, 0.1, 1.0, 0.0, 0.0, 0.0, 1.0]])
    write_trajectory(tmp_path / "run.obj", longer)  # is written over
    folder = write_trajectory(tmp_path / "run.obj", trajectory)
    files = sorted(folder.glob("*.obj"))
    assert [file.name for file in files] == ["0000.obj", "0001.obj", "0002.obj"]
    for moment, file in enumerate(files):
        scene = trimesh.load_scene(file, process=False, maintain_order=True, split_objects=True)
        assert set(scene.geometry) == {"body_0", "body_1", "body_2", "sphere_1", "box_2"}
        for name, mesh in scene.geometry.items():
            part = named(trajectory, name).as_mesh()
            corners = part.at(moment)[part.triangles]
            np.testing.assert_allclose(np.asarray(mesh.vertices)[np.asarray(mesh.faces)], corners, atol=1e-8)


@pytest.mark.parametrize("suffix", [".usda", ".usdc"])
def test_usd_reads_back(trajectory: Trajectory, tmp_path: Path, suffix: str) -> None:
    """Guards places, times, sizes, and what each thing is, in single precision."""
    for _ in range(2):  # an older file is written over
        file = write_trajectory(tmp_path / "new" / f"run{suffix}", trajectory)
    stage: Any = Usd.Stage.Open(str(file))
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode(), stage.GetTimeCodesPerSecond()) == (0, MOMENTS - 1, FPS)
    assert UsdGeom.GetStageUpAxis(stage) == "Y" and UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    kinds = {"body_0": "Mesh", "body_1": "Mesh", "body_2": "BasisCurves", "body_3": "Points", "box_2": "Mesh"}
    for part in trajectory.parts():
        prim = stage.GetPrimAtPath(f"/World/{part.name}")
        assert prim.GetTypeName() == kinds.get(part.name, "Mesh")
        points = UsdGeom.PointBased(prim)
        order = np.concatenate(part.chains) if part.chains else slice(None)
        for moment in range(MOMENTS):
            expected = part.at(moment)[order].astype(np.float32)
            np.testing.assert_array_equal(np.array(points.GetPointsAttr().Get(moment)), expected)
            low, high = np.array(points.GetExtentAttr().Get(moment))
            assert (expected >= low - 1e-6).all() and (expected <= high + 1e-6).all()
        assert len(points.GetPointsAttr().GetTimeSamples()) == (MOMENTS if len(part.points) > 1 else 0)
    mesh = UsdGeom.Mesh(stage.GetPrimAtPath("/World/body_0"))
    indices = np.array(mesh.GetFaceVertexIndicesAttr().Get()).reshape(-1, 3)
    np.testing.assert_array_equal(indices, named(trajectory, "body_0").triangles)
    rope = UsdGeom.BasisCurves(stage.GetPrimAtPath("/World/body_2"))
    assert list(rope.GetCurveVertexCountsAttr().Get()) == [6]


def test_rerun_reads_back(trajectory: Trajectory, tmp_path: Path) -> None:
    """Guards recordings by rerun's own reader: each thing, where it was when, in single precision."""
    file = write_trajectory(tmp_path / "run.rrd", trajectory)
    columns = {"body_2": "LineStrips3D:strips", "body_3": "Points3D:positions"}
    found: dict[str, list[tuple[float, Any]]] = {}
    for chunk in RrdReader(file).stream():
        name = chunk.entity_path.strip("/")
        if name.split("_")[0] in ("body", "sphere", "box"):
            batch = chunk.to_record_batch()
            times = [time.total_seconds() for time in batch.column("time").to_pylist()]
            values = batch.column(columns.get(name, "Mesh3D:vertex_positions")).to_pylist()
            found.setdefault(name, []).extend(zip(times, values, strict=True))
    assert set(found) == {part.name for part in trajectory.parts()}
    for part in trajectory.parts():
        rows = sorted(found[part.name], key=lambda row: row[0])
        assert [time for time, _ in rows] == [moment / FPS for moment in range(len(part.points))]
        order = np.concatenate(part.chains) if part.chains else slice(None)
        for moment, (_, values) in enumerate(rows):
            places = np.array(values, dtype=np.float32).reshape(-1, 3)
            np.testing.assert_array_equal(places, part.at(moment)[order].astype(np.float32))


def test_what_cannot_be_written_is_refused(trajectory: Trajectory, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"ends in one of \.obj"):
        write_trajectory(tmp_path / "run.fbx", trajectory)
    empty = Trajectory(trajectory.scene, FPS)
    with pytest.raises(ValueError, match="at least one moment"):
        write_trajectory(tmp_path / "run.usda", empty)
    for positions, poses, message in (
        (np.zeros((2, 3)), np.zeros((1, 7)), "positions must be finite and of shape"),
        (np.full(trajectory.scene.positions.shape, np.nan), np.zeros((1, 7)), "positions must be finite"),
        (trajectory.scene.positions, None, r"poses must be finite and of shape \(1, 7\)"),
    ):
        with pytest.raises(ValueError, match=message):
            empty.add(positions, poses)
    assert len(empty) == 0
    with pytest.raises(ValueError, match="fps must be positive"):
        Trajectory(trajectory.scene, 0.0)


def test_a_missing_library_is_named(trajectory: Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rerun", None)
    with pytest.raises(ImportError, match=re.escape(f"rerun-sdk is needed for this file: {install_hint('export')}")):
        write_trajectory(tmp_path / "run.rrd", trajectory)

"""Writers of trajectories: one function per format, each using a library made for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pbd_gym.export.trajectory import Part, Trajectory
from pbd_gym.runtime.extras import load_optional

SUFFIXES = (".obj", ".usda", ".usdc", ".usd", ".rrd")
"""Suffixes that can be written; ``.obj`` names a folder."""


def write_trajectory(path: str | Path, trajectory: Trajectory) -> Path:
    """Write a trajectory.

    Args:
        path: a folder that ends in ``.obj``, for one OBJ file per moment (trimesh); a USD file, text or binary
            (usd-core); or ``.rrd``, a recording for rerun's viewer (rerun-sdk). Existing files are overwritten.
        trajectory: at least one moment.

    Returns:
        The path.

    Raises:
        ValueError: for an unknown suffix, or without a moment. ImportError: if the library is not installed.
    """
    file, suffix = Path(path), trajectory_suffix(path)
    parts = trajectory.parts()
    file.parent.mkdir(parents=True, exist_ok=True)
    {".obj": _write_obj, ".rrd": _write_rrd}.get(suffix, _write_usd)(file, trajectory, parts)
    return file


def trajectory_suffix(path: str | Path) -> str:
    """Return the suffix of a trajectory.

    Raises:
        ValueError: unless it is one of :data:`SUFFIXES`.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"a trajectory goes to a name that ends in one of {', '.join(SUFFIXES)}, got {str(path)!r}")
    return suffix


def _library(name: str) -> Any:
    package = {"pxr": "usd-core", "rerun": "rerun-sdk"}.get(name, name)
    return load_optional(name, "for this file", "export", package)


def _write_obj(folder: Path, trajectory: Trajectory, parts: list[Part]) -> None:
    """Write a file for each moment, with a group for each part; ropes become tubes, and loose points are omitted."""
    library = _library("trimesh")
    folder.mkdir(exist_ok=True)
    for file in folder.glob("*.obj"):  # remains of a longer earlier export would follow this one
        if file.stem.isdecimal() and int(file.stem) >= len(trajectory):
            file.unlink()
    meshes = [part.as_mesh() for part in parts]
    for moment in range(len(trajectory)):
        scene = library.Scene()
        for part in meshes:
            if len(part.triangles):
                scene.add_geometry(
                    library.Trimesh(part.at(moment), part.triangles, process=False), part.name, part.name
                )
        text = library.exchange.obj.export_obj(scene, include_normals=False, digits=9)
        (folder / f"{moment:04d}.obj").write_text(text)


def _write_usd(file: Path, trajectory: Trajectory, parts: list[Part]) -> None:
    """Write meshes, curves and points whose positions are sampled at every moment."""
    _library("pxr")
    from pxr import Gf, Usd, UsdGeom, Vt

    file.unlink(missing_ok=True)
    stage = Usd.Stage.CreateNew(str(file))
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    stage.SetTimeCodesPerSecond(trajectory.fps)
    stage.SetFramesPerSecond(trajectory.fps)
    stage.SetStartTimeCode(0)
    stage.SetEndTimeCode(len(trajectory) - 1)
    stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/World").GetPrim())
    for part in parts:
        path = f"/World/{part.name}"
        shape: Any
        if len(part.triangles):
            shape = UsdGeom.Mesh.Define(stage, path)
            shape.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(part.triangles), 3, np.int32)))
            shape.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(part.triangles.ravel().astype(np.int32)))
            shape.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
            shape.CreateDoubleSidedAttr(True)
        elif part.chains:
            shape = UsdGeom.BasisCurves.Define(stage, path)
            shape.CreateTypeAttr(UsdGeom.Tokens.linear)
            shape.CreateCurveVertexCountsAttr([len(chain) for chain in part.chains])
        else:
            shape = UsdGeom.Points.Define(stage, path)
        order = np.concatenate(part.chains) if part.chains else np.arange(part.points.shape[1])
        if not len(part.triangles):
            shape.CreateWidthsAttr([2.0 * part.radius])
            shape.SetWidthsInterpolation(UsdGeom.Tokens.constant)
        shape.CreateDisplayColorAttr([Gf.Vec3f(*(channel / 255.0 for channel in part.color))])
        attribute, extent = shape.CreatePointsAttr(), shape.CreateExtentAttr()
        for moment in range(len(part.points)):
            time = moment if len(part.points) > 1 else Usd.TimeCode.Default()
            points = part.points[moment, order].astype(np.float32)
            attribute.Set(Vt.Vec3fArray.FromNumpy(points), time)
            low, high = points.min(axis=0) - part.radius, points.max(axis=0) + part.radius
            extent.Set(Vt.Vec3fArray.FromNumpy(np.stack([low, high]).astype(np.float32)), time)
    stage.GetRootLayer().Save()


def _write_rrd(file: Path, trajectory: Trajectory, parts: list[Part]) -> None:
    """Write a recording with a timeline in seconds, ``time``."""
    rerun = _library("rerun")
    recording = rerun.RecordingStream("pbd_gym")
    recording.save(str(file))
    recording.log("/", rerun.ViewCoordinates.RIGHT_HAND_Y_UP, static=True)
    for moment in range(len(trajectory)):
        recording.set_time("time", duration=moment / trajectory.fps)
        for part in parts:
            if moment and len(part.points) == 1:
                continue
            points = part.at(moment).astype(np.float32)
            if len(part.triangles):
                entity = rerun.Mesh3D(
                    vertex_positions=points, triangle_indices=part.triangles, albedo_factor=[*part.color, 255]
                )
            elif part.chains:
                strips = [points[chain] for chain in part.chains]
                entity = rerun.LineStrips3D(strips, radii=part.radius, colors=[part.color])
            else:
                entity = rerun.Points3D(points, radii=part.radius, colors=[part.color])
            recording.log(part.name, entity)
    recording.flush()
    recording.disconnect()

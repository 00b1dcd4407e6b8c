"""pbd_gym: Gymnasium environments of cloth, ropes and soft bodies, simulated by XPBD in NVIDIA Warp kernels.

Importing this package registers the environment ids. It is cheap: Warp, pygame and torch are imported when they are
first used.
"""

from typing import TYPE_CHECKING

from pbd_gym._version import __version__
from pbd_gym.registry import register_all
from pbd_gym.runtime.lazy import lazy_names

if TYPE_CHECKING:
    from pbd_gym import colliders as colliders
    from pbd_gym import constraints as constraints
    from pbd_gym import envs as envs
    from pbd_gym import export as export
    from pbd_gym import formulas as formulas
    from pbd_gym import geometry as geometry
    from pbd_gym import rendering as rendering
    from pbd_gym import training as training
    from pbd_gym.colliders import Box as Box
    from pbd_gym.colliders import Capsule as Capsule
    from pbd_gym.colliders import Cylinder as Cylinder
    from pbd_gym.colliders import MeshCollider as MeshCollider
    from pbd_gym.colliders import Plane as Plane
    from pbd_gym.colliders import Sphere as Sphere
    from pbd_gym.materials.fabrics import Cord as Cord
    from pbd_gym.materials.fabrics import Fabric as Fabric
    from pbd_gym.materials.fluids import FluidMaterial as FluidMaterial
    from pbd_gym.materials.materials import ClothMaterial as ClothMaterial
    from pbd_gym.materials.materials import Plasticity as Plasticity
    from pbd_gym.materials.materials import RopeMaterial as RopeMaterial
    from pbd_gym.materials.materials import ShapeMaterial as ShapeMaterial
    from pbd_gym.materials.materials import SoftMaterial as SoftMaterial
    from pbd_gym.rendering.window.scene_viewer import view as view
    from pbd_gym.scene.rigid_bodies import RigidBody as RigidBody
    from pbd_gym.scene.scene import Scene as Scene
    from pbd_gym.sim.control import Control as Control
    from pbd_gym.sim.implicit_euler import ImplicitEuler as ImplicitEuler
    from pbd_gym.sim.memory_report import memory_report as memory_report
    from pbd_gym.sim.model import Model as Model
    from pbd_gym.sim.solver import Solver as Solver
    from pbd_gym.sim.state import State as State
    from pbd_gym.sim.substeps import needed_substeps as needed_substeps
    from pbd_gym.sim.substeps import substep_limits as substep_limits

_HOMES = {
    "Box": "pbd_gym.colliders",
    "Capsule": "pbd_gym.colliders",
    "ClothMaterial": "pbd_gym.materials.materials",
    "Control": "pbd_gym.sim.control",
    "Cord": "pbd_gym.materials.fabrics",
    "Cylinder": "pbd_gym.colliders",
    "Fabric": "pbd_gym.materials.fabrics",
    "ImplicitEuler": "pbd_gym.sim.implicit_euler",
    "FluidMaterial": "pbd_gym.materials.fluids",
    "MeshCollider": "pbd_gym.colliders",
    "Model": "pbd_gym.sim.model",
    "Plane": "pbd_gym.colliders",
    "Plasticity": "pbd_gym.materials.materials",
    "RigidBody": "pbd_gym.scene.rigid_bodies",
    "RopeMaterial": "pbd_gym.materials.materials",
    "Scene": "pbd_gym.scene.scene",
    "ShapeMaterial": "pbd_gym.materials.materials",
    "SoftMaterial": "pbd_gym.materials.materials",
    "Solver": "pbd_gym.sim.solver",
    "Sphere": "pbd_gym.colliders",
    "State": "pbd_gym.sim.state",
    "colliders": "pbd_gym.colliders",
    "constraints": "pbd_gym.constraints",
    "envs": "pbd_gym.envs",
    "export": "pbd_gym.export",
    "formulas": "pbd_gym.formulas",
    "geometry": "pbd_gym.geometry",
    "memory_report": "pbd_gym.sim.memory_report",
    "needed_substeps": "pbd_gym.sim.substeps",
    "rendering": "pbd_gym.rendering",
    "substep_limits": "pbd_gym.sim.substeps",
    "training": "pbd_gym.training",
    "view": "pbd_gym.rendering.window.scene_viewer",
}

__all__ = [*_HOMES, "__version__"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)

register_all()

"""pbd_gym: Gymnasium environments of cloth, ropes and soft bodies, simulated by XPBD in NVIDIA Warp kernels.

Importing this package registers the environment ids. It is cheap: Warp, pygame and torch are imported when they are
first used.
"""

from typing import TYPE_CHECKING

from pbd_gym._version import __version__ as __version__
from pbd_gym.registry import register_all
from pbd_gym.runtime.lazy import public_names

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
    from pbd_gym.envs.tools.filming import film as film
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
    from pbd_gym.sim.costs import memory_report as memory_report
    from pbd_gym.sim.implicit_euler import ImplicitEuler as ImplicitEuler
    from pbd_gym.sim.model import Model as Model
    from pbd_gym.sim.solver import Solver as Solver
    from pbd_gym.sim.state import State as State
    from pbd_gym.sim.substeps import needed_substeps as needed_substeps
    from pbd_gym.sim.substeps import substep_limits as substep_limits
    from pbd_gym.training.runs.loaded_agent import load_agent as load_agent

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(__name__, "__version__")

register_all()

"""Where hands hold rigid bodies in tests: at the corners of a face."""

import numpy as np

from pbd_gym import RigidBody, Scene


def corners(scene: Scene, body: RigidBody, axis: int, sign: float) -> list[int]:
    """Return the four vertices at the corners of the outermost face of a box in its scene, along an axis or against."""
    places = scene.positions[body.vertices]
    on = np.isclose(places[:, axis], (sign * places[:, axis]).max() * sign)
    spread = np.delete(places[on], axis, axis=1)
    ways = np.array([(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)])
    found: list[int] = body.vertices[on][(spread @ ways.T).argmax(axis=0)].tolist()
    return found

"""A scene of one's own in a window: a cloth falls over a ball, and the mouse drags it."""

import pbd_gym
from pbd_gym import Fabric, Plane, Scene, Sphere

scene = Scene(contact_radius=0.01)
scene.add_collider(Plane(friction=0.5))
scene.add_collider(Sphere(center=(0.0, 0.3, 0.0), radius=0.3, friction=0.5))
lying = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]  # without it a cloth hangs
towel = Fabric.preset("towel")
scene.add_cloth(32, 32, (1.2, 1.2), towel, position=(0.0, 0.8, 0.6), rotation=lying, lines=True)
pbd_gym.view(scene, damping=0.5)

"""The engine without Gymnasium: 64 cloths that hang by two corners, in one batch."""

from pbd_gym import Model, Plane, Scene, Solver

scene = Scene()
scene.add_collider(Plane(friction=0.5))
cloth = scene.add_cloth(rows=32, columns=32, size=(1.0, 1.0), position=(0.0, 1.5, 0.0))
scene.pin(cloth.corners[:2])

solver = Solver(Model(scene, num_envs=64))
state, control = solver.state(), solver.control()
state.set_parameters(stiffness=[0.1 * (i + 1) for i in range(64)])  # environments may differ
for _ in range(30):
    solver.step(state, control, ctrl_dt=1 / 30)
lowest = state.get_positions()[:, :, 1].min(axis=1)
print(f"after a second the softest hangs to {lowest[0]:.3f} m, the stiffest to {lowest[-1]:.3f} m")

from servo import run
from pbd_gym.sim.upload import fluid_bodies as fb, fluid as fl
fb.FELT=1.1
run(subs=(8,), heights=(0.08,), T=5)
real=fl.felt_volumes
fl.felt_volumes=lambda s: s.fluid.volumes*1.2
run(subs=(8,), heights=(0.08,), T=5)

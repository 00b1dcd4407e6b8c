from force import run
from pbd_gym.sim.upload import fluid_bodies as fb, fluid as fl
P=[-.06,-.03,0,.03,.06]
def go(**k): run(P, frames=40, show=(15,25,40), **k)
real=fl.felt_volumes
fb.FELT=1.0; go()
fb.FELT=1.15; go()
fl.felt_volumes=lambda s: s.fluid.volumes*1.2
go()
fl.felt_volumes=real; fb.FELT=1.0; go(sub=2)

from neutral import neutral
from pbd_gym.sim.upload import fluid_bodies as fb
fb.FELT=0.82
neutral()
neutral(spacing=.007)
neutral(spacing=.013)
neutral(body="ball", side=.07)
neutral(side=.04, y0=.07)
neutral(sub=4, sp=0.014)
neutral(sub=4)
neutral(sub=2)

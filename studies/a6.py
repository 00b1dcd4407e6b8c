from servo import run
from pbd_gym.sim.upload import fluid_bodies as fb
fb.FELT=1.1
run(subs=(8,), heights=(0.08,), T=1.4)
run(subs=(8,), heights=(0.08,), T=1.4, spacing=.007)
run(subs=(8,), heights=(0.08,), T=1.4, body="ball", side=.07)
run(subs=(4,), heights=(0.08,), T=1.4, sp=0.014, half=0.07)
fb.FELT=1.2
run(subs=(8,), heights=(0.08,), T=1.4)
run(subs=(8,), heights=(0.08,), T=1.4, body="ball", side=.07)

from arch import arch
import numpy as np
from pbd_gym.scene import wet_bodies as fb
for f in (0.85,0.78):
    fb.FELT=f; print("FELT",f)
    arch(sub=4, T=2, side=.04, half=.05, y0=.055, top=.11, ratios=np.array([.9,.95,1.05,1.1,1.3]))

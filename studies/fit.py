import sys, numpy as np
from pbd_gym import *
from pbd_gym import geometry
from pbd_gym.sim.upload import fluid_bodies as fb
from pbd_gym.materials.fluids import bell
from probe import probes
import time
B=geometry.box
for name, mesh, sp, kw in (("case", B((2,2,2),(.06,)*3), .01, dict(spacing=.01, radius=.005)),("fine8", B((2,2,2),(.06,)*3), .0075, dict(spacing=.0075, radius=.00375)),("finesamples", B((2,2,2),(.06,)*3), .01, dict(spacing=.007, radius=.0035)),("default", B((2,2,2),(.06,)*3), .01,{}),(".04", B((2,2,2),(.04,)*3), .01, dict(spacing=.01)),("4S", B((4,4,4),(.08,)*3), .02, dict(spacing=.02)),("ball", geometry.ball(.035,4), .02,{}),("ball2", geometry.ball(.03,4), .01,{})):
    s=Scene(); b=s.add_rigid_body(mesh,1000.0,**kw); s.add_fluid([[1,0,0]],spacing=sp); s.add_fluid_boundary(b.indices,b.volumes)
    t=time.time(); v=fb.felt_volumes(s); t=time.time()-t
    out=""
    for o in (.5,.25,0,-.25,-.5,-1):
        P=probes(mesh,o*sp); x=b.rest; K=s.fluid.smoothing.amplitude*bell(np.linalg.norm(P[:,None]-x[None],axis=2)/(2*sp)); 
        out+=" %.2f: %.3f+-%.3f (%.3f+-%.3f)"%(o,(K@v).mean(),(K@v).std(),(K@s.fluid.volumes).mean(),(K@s.fluid.volumes).std())
    print(name, fb._lattice_shares(s.fluid.smoothing.amplitude).round(3), out, "volumes", v.min().round(4), v.max().round(3), "sum ratio %.2f"%(v.sum()/s.fluid.volumes.sum()), "samples %.2f vertices %.3f"%(v[:len(b.samples)].mean(), v[-len(b.vertices):].mean()), "%.2f s"%t)

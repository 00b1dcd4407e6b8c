import numpy as np
from force import scene
from pbd_gym import Model, Solver
def neutral(sub=8, pushes=(-.08,-.04,0,.04,.08), first=10, last=26, **k):
    s, b = scene(**k); so = Solver(Model(s, num_envs=len(pushes)), substeps=sub); st, c = so.state(), so.control()
    mm = s.mass[b.indices]/s.mass[b.indices].sum(); W = s.V*9810
    f = np.zeros((len(pushes), s.particle_count, 3)); f[:, b.indices, 1] = np.array(pushes)[:, None]*W*mm
    c.set_forces(f); y=[]
    for i in range(last):
        so.step(st, c, 0.02); y.append((st.get_positions()[:, b.indices, 1]*mm).sum(1))
    d = y[-1]-y[first]; a, m = np.polyfit(pushes, d, 1)
    print(k, "sub", sub, "moved mm", (1e3*d).round(1), "buoyancy error %+.3f" % (m/a), flush=True)

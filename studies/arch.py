import numpy as np, time
from force import scene
from pbd_gym import Model, Solver
R=np.array([.5,.7,.9,.95,.97,1.03,1.05,1.1,1.3])
def arch(sub=4, T=4.0, side=.06, half=.07, y0=.08, ratios=R, **k):
    s, b = scene(side=side, half=half, y0=y0, **k); so = Solver(Model(s, num_envs=len(ratios)), substeps=sub); st, c = so.state(), so.control(); t=time.time()
    st.set_parameters(fluid_density=(1/ratios).tolist())
    mm = s.mass[b.indices]/s.mass[b.indices].sum(); fi=s.fluid.indices; out=[]
    for i in range(int(T/0.02)):
        so.step(st, c, 0.02)
        if i+1 in (50, int(T/0.02)): out.append((st.get_positions()[:, b.indices, 1]*mm).sum(1))
    level=(len(fi)*s.fluid.spacing**3+np.minimum(ratios,1)*s.V)/(4*half**2)
    H = side if k.get('body')!='ball' else side
    right=np.where(ratios<1, level+(0.5-ratios)*side, side/2)
    if k.get('body')=='ball':
        from numpy import roots
        for j,r in enumerate(ratios):
            if r<1:  # submerged height h of a sphere: h^2(3R-h)/4R^3 = r
                hh=[z.real for z in np.roots([-1,3*side/2,0,-4*(side/2)**3*r]) if abs(z.imag)<1e-9 and 0<=z.real<=side][0]; right[j]=level[j]+side/2-hh
    print(k, "sub", sub, f"{time.time()-t:.0f} s")
    for j,r in enumerate(ratios): print(f"   {r}: 1 s {out[0][j]:.4f}, end {out[1][j]:.4f}, right {right[j]:.4f}, off {(out[1][j]-right[j])/side*100:+.1f} % of its height", flush=True)

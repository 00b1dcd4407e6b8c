"""Cube held by a servo: mean force, displaced volume, density of water around it."""
import sys, numpy as np, time
from pbd_gym import Model, Solver
sys.path.insert(0, "/tmp/sub/w")
from force import scene
def run(subs=(2,4,8,16), T=2.0, iters=1, wr=False, half=0.07, heights=(0.08,), **k):
    s, b = scene(half=half, y0=heights[0], **k)
    n = len(heights)+1
    model = Model(s, num_envs=n)
    for sub in subs:
        so = Solver(model, substeps=sub, iterations=iters, wrenches=wr); st, c = so.state(), so.control(); t=time.time()
        x = st.get_positions(); x[-1, b.indices] += (0, 1.0, 0); 
        for j,h in enumerate(heights): x[j, b.indices, 1] += h-heights[0]
        st.set_positions(x)
        mm = s.mass[b.indices]/s.mass[b.indices].sum(); W = s.V*1000*9.81; F=[]; WR=[]; Y=[]; D=[]; V=[]
        y0 = np.array([*heights, 1.0+heights[0]])
        f = np.zeros((n, s.particle_count, 3)); last = np.zeros(n); fi=s.fluid.indices
        for i in range(int(T/0.02)):
            p = (st.get_positions()[:, b.indices, 1]*mm).sum(1)
            vy = (st.get_velocities()[:, b.indices, 1]*mm).sum(1)
            F_ = -100*(p-y0) - 2*vy; F_[-1]=W
            f[:, b.indices, 1] = F_[:,None]*mm
            c.set_forces(f); so.step(st, c, 0.02)
            if i > 20:
                F.append(F_); WR.append(st.get_wrenches()[:,:,1] if wr else 0); Y.append(st.get_positions()[:, fi, 1].mean(1)); D.append(st.get_fluid_density()); V.append(np.sqrt((st.get_velocities()[:, fi]**2).sum(2).mean(1)))
        k_=len(F)//2; F, Y, D = F[k_:], Y[k_:], D[k_:]; F, Y = np.mean(F,0), np.mean(Y,0); D=np.array(D); x=st.get_positions()
        A=4*half**2; N=len(fi); v=2*A*Y[-1]/N
        out=[]
        for j,h in enumerate(heights):
            # N v Y = A L^2/2 - V h, L = (N v + V)/A
            r=np.roots([1/(2*A), N*v/A-h, (N*v)**2/(2*A)-N*v*Y[j]]); r=r[np.abs(r-s.V).argmin()]
            out.append(f"[y {h}: force/W {F[j]/W:+.4f} displaced {r/s.V:.4f}]")
        wrs=np.mean(WR[len(WR)//2:],0); mw=s.mass[fi].sum()*9.81; mb=s.mass[b.indices].sum()*9.81
        if wr: print('vertical on colliders/W', (wrs/W).round(4).tolist(), 'water/W', mw/W, 'sum + water + body - servo', ((wrs.sum(1)+mw+mb-np.mean(F[len(F)//2:],0))/W).round(4), 'overflow', st.get_fluid_overflow().max())
        x_=st.get_positions(); print((x_[:, b.indices]*mm[:,None]).sum(1).round(3).tolist(), "max y", st.get_positions()[:, fi, 1].max(1).round(3), "escaped", [(np.abs(x_[fi][:, [0,2]]).max(1) > half).sum() for x_ in st.get_positions()]); dens=D[:,-1]; d0=[dens[:, (x[-1,fi,1]>a)&(x[-1,fi,1]<a+0.02)].mean() for a in (0,0.04,0.08)]
        print(k, "iters", iters, f"h {20/sub:.2f} ms", *out, "v/s^3", v/s.fluid.spacing**3, "density low, mid, high", np.round(d0,4), "rms", np.mean(V,0).round(3), f"{time.time()-t:.0f} s", flush=True)
if __name__ == "__main__": run(heights=(0.06,0.08,0.10))

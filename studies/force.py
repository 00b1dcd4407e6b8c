"""Neutral cube held at rest, then pushed by a share of the weight that it displaces."""
import sys, numpy as np
from pbd_gym import SoftMaterial, Box, FluidMaterial, Model, Plane, Scene, Solver, geometry
def scene(sp=0.01, half=0.07, side=0.06, y0=0.08, density=1000.0, top=0.15, body='cube', spacing=None, friction=None, **mat):
    s = Scene(contact_radius=sp / 2); fr={} if friction is None else dict(friction=friction); s.add_collider(Plane(**fr))
    for x, z, h in ((-half - .01, 0, (.01, .15, .09)), (half + .01, 0, (.01, .15, .09)), (0, -half - .01, (.09, .15, .01)), (0, half + .01, (.09, .15, .01))):
        s.add_collider(Box((x, 0.15, z), h, **fr))
    q = spacing or sp; inside = lambda p: (np.abs(p - (0, y0, 0)) < side / 2 + 0.45 * sp).all(axis=1)
    if body == 'cube': b = s.add_rigid_body(geometry.box((2, 2, 2), (side,) * 3), density, q, radius=q / 2, position=(0, y0, 0))
    elif body == 'ball': b = s.add_rigid_body(geometry.ball(side / 2, 4), density, q, position=(0, y0, 0)); inside = lambda p: np.linalg.norm(p - (0, y0, 0), axis=1) < side / 2 + 0.45 * sp
    elif body == 'soft': b = s.add_soft_body(geometry.box((round(side/q),)*3, (side,)*3), SoftMaterial(density, 3e5, 0.4), position=(0, y0, 0))
    g = np.arange(-half + sp / 2, half, sp)
    p = np.array([(x, y, z) for x in g for z in g for y in np.arange(sp / 2, top, sp)])
    p = p[~inside(p)]
    s.add_fluid(p, FluidMaterial(viscosity=1e-3, **mat), spacing=sp); V = b.volumes if body != 'soft' else geometry.box((round(side/q),)*3, (side,)*3).vertex_volumes(); s.add_fluid_boundary(b.indices, V); s.V = V.sum()
    return s, b
def run(pushes, sub=8, frames=100, show=(25,50,100), **k):
    s, b = scene(**k)
    so = Solver(Model(s, num_envs=len(pushes)), substeps=sub); st, c = so.state(), so.control(); 
    W = b.volumes.sum()*1000*9.81
    f = np.zeros((len(pushes), s.particle_count, 3)); f[:, b.indices, 1] = np.array(pushes)[:, None]*W*s.mass[b.indices]/b.mass
    c.set_forces(f); out=[]
    for i in range(frames):
        so.step(st, c, 0.02)
        if i+1 in show: out.append(st.get_rigid_poses()[:, b.index, 1].copy())
    v = st.get_velocities()[:, s.fluid.indices]
    print(k, "sub", sub, "volume", b.volumes.sum(), "mass", b.mass, "fluid rms speed", np.sqrt((v**2).sum(-1).mean(1)).round(4), flush=True)
    for j, p in enumerate(pushes): print("   push %+.3f: y" % p, " ".join("%.4f" % o[j] for o in out), flush=True)
if __name__ == "__main__":
    run([-.1,-.05, -.03, -0.02, 0.0, 0.02, .03, .05, 0.1])

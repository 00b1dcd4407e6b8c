import os,sys
tree=sys.argv[1]; os.chdir(tree); sys.path.insert(0,tree)
import numpy as np, gymnasium as gym, pbd_gym, pbd_gym.envs
n=16
env = gym.make_vec("PBDClothFlatten-v0", n, threads=1, starts=8, max_episode_steps=1000)
u=env.unwrapped; rng=np.random.default_rng(1); env.reset(seed=0)
s=u.scene; g=s.particle_contacts[0]; print("radius",g.radius,"extent",g.extent[:3], "substeps",u.solver.substeps, "ctrl", u.config.ctrl_dt)
t=u.model.data.particle_contacts; print("skin",t.skin,"margin",t.margin,"cell",t.cell,"cushion",t.cushion)
for kind in ("uniform","full","quiet"):
  for t in range(12 if kind!="quiet" else 20):
    if kind=="uniform": a=rng.uniform(-1,1,(n,8))
    elif kind=="quiet": a=np.zeros((n,8)); a[:,[3,7]]=-1
    else:
        if t%8==0: grips=rng.uniform(-1,1,(n,2))
        a=rng.choice([-1.,1.],(n,8)); a[:,[3,7]]=grips
    env.step(a.astype(np.float32))
  c=u.state.contacts; A=c.active.numpy(); N=c.counts.numpy()[...,-1]
  A=A.reshape(-1,A.shape[-1]); N=N.ravel(); room=A.shape[1]//3
  x=u.state.get_positions(); v=u.state.get_velocities(); m=u.model.data.particle_contacts.members.numpy()
  rows=[]
  for e in range(n):
    k=A[e,:N[e]],A[e,room:room+N[e]],A[e,2*room:2*room+N[e]]
    d=np.linalg.norm(x[e,m[k[0]]]-x[e,m[k[1]]],axis=1); vr=np.linalg.norm(v[e,m[k[0]]]-v[e,m[k[1]]],axis=1)
    sp=np.linalg.norm(v[e],axis=1)
    rows.append([N[e]]+[np.mean(k[2]==r) for r in range(3)]+[1e3*np.median(d),np.mean(d>0.019), np.mean(d<.012), np.median(vr),np.quantile(vr,.9),np.median(sp),sp.max()])
  R=np.array(rows); print(kind, np.round(R.mean(0),2)); w=R[:,0]; print("pairs by rank", (w[:,None]*R[:,1:4]).mean(0))

"""settle.py gen FILE | settle.py LABEL FILE : at rest after 4 s from the same states"""
import os, sys, time
import numpy as np, gymnasium as gym
import pbd_gym, pbd_gym.envs
from pbd_gym.geometry.edges import sides
from pbd_gym.geometry.surfaces import crossings
N=int(os.environ.get("N",128)); SEED=int(os.environ.get("SEED",0))
env = gym.make_vec("PBDClothFlatten-v0", N, threads=1, resolution=32, thickness=0.005, starts=8, max_episode_steps=1000)
u=env.unwrapped; env.reset(seed=SEED); rng=np.random.default_rng(SEED)
if sys.argv[1]=="gen":
    grips=np.zeros((N,2))
    for t in range(60):
        if t%8==0: grips=rng.uniform(-1,1,(N,2))
        a=rng.choice([-1.,1.],(N,8)); a[:,[3,7]]=grips
        env.step(a.astype(np.float32))
    a=np.zeros((N,8),np.float32); a[:,[3,7]]=-1
    for _ in range(4): env.step(a)
    np.savez(sys.argv[2],x=u.state.get_positions(),v=u.state.get_velocities())
    sys.exit()
d=np.load(sys.argv[2]); a=np.zeros((N,8),np.float32); a[:,[3,7]]=-1
env.step(a)
u.state.set_positions(d["x"]); u.state.set_velocities(d["v"])
t=time.process_time(); seen=[]
for k in range(50):
    info=env.step(a)[-1]
    if k>=40: seen.append(np.asarray(info["at_rest"]).copy())
t=time.process_time()-t
v=u.state.get_velocities(); sp=np.sqrt((v**2).sum(-1).mean(1))
seen=np.array(seen)
print(sys.argv[1],"rest %.3f"%seen[-1].mean(),"mean over last 10 steps %.3f"%seen.mean(),"rms %.4f"%np.sqrt((sp**2).mean()),"median %.4f"%np.median(sp),"restless",np.flatnonzero(~seen[-1]),"ms/env-step %.2f"%(1e3*t/N/50),flush=True)

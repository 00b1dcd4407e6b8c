import os,sys
sys.path.insert(0,os.getcwd())
import numpy as np, gymnasium as gym, pbd_gym
kw={"rows":12,"columns":12,"substeps":None}
env=gym.make_vec("PBDClothFold-v0",64,**kw); u=env.unwrapped
env.reset(seed=0); P=[];H=[]
for t in range(44):
    *_,info=env.step(u.expert()); P.append(info["normalized_performance"]); pass
P=np.array(P); bad=np.flatnonzero(P[29]<.8); print(os.getcwd(),"bad",bad)
print(np.round(P[::3,bad[:3]].T,2)); print("final share",(P[-1]>.8).mean()); good=np.flatnonzero(P[29]>.8)[:2]; print(np.round(P[::3,good].T,2))
x=u.state.get_positions(); b=bad[0]; print("heights mm",np.round(1e3*np.quantile(x[b,:,1],[0,.25,.5,.75,1]),1), np.round(1e3*np.quantile(x[good[0],:,1],[0,.25,.5,.75,1]),1), "speed",np.abs(u.state.get_velocities()[b]).max())

import numpy as np, sys
from pbd_gym import *
from pbd_gym import geometry
from pbd_gym.scene.fluids import boundary_volumes, Fluid
from pbd_gym.materials.fluids import FluidMaterial, bell
def probes(mesh, off):
    t = mesh.positions[mesh.triangles]; n=np.cross(t[:,1]-t[:,0],t[:,2]-t[:,0]); a=np.linalg.norm(n,axis=1)
    r=np.random.default_rng(0); k=r.choice(len(t),2000,p=a/a.sum()); u=r.uniform(size=(2000,2)); u[u.sum(1)>1]=1-u[u.sum(1)>1]
    p=t[k,0]+u[:,:1]*(t[k,1]-t[k,0])+u[:,1:]*(t[k,2]-t[k,0]); return p+off*n[k]/a[k,None]
def look(name, mesh, sp, spacing=None, **k):
    s=Scene(); b=s.add_rigid_body(mesh,1000.0,*( [spacing] if spacing else []),**k)
    f=Fluid(FluidMaterial(),sp,3); x=s.positions[b.indices]-b.origin
    v=b.volumes/sp**3; va=boundary_volumes(f,x); sm=f.smoothing
    out=[]
    for off in (0.3,0.5,0.7):
        P=probes(mesh,off*sp); K=sm.amplitude*bell(np.linalg.norm(P[:,None]-x[None],axis=2)/sm.support)
        out.append("%.2f: given %.3f+-%.3f akinci %.3f max %.3f wall %.3f"%(off,(K@v).mean(),(K@v).std(),(K@va).mean(),(K@np.maximum(v,va)).mean(), sm.wall_share(off*sp)))
    V=b.volumes.sum(); print(name, "samples", len(b.samples), "all", len(b.indices), "spacing/s %.2f"%((spacing or np.nan)/sp), "radius/s %.2f"%(b.radius/sp), "V/s3 %.0f akinci sum %.0f max %.0f"%(v.sum(), va.sum(), np.maximum(v,va).sum()), "| ".join(out))
B=geometry.box
if __name__=="__main__": look("case", B((2,2,2),(.06,)*3), .01, .01, radius=.005)
if __name__=="__main__": look("case fine water 8", B((2,2,2),(.06,)*3), .0075, .0075, radius=.00375)
if __name__=="__main__": look("case fine samples", B((2,2,2),(.06,)*3), .01, .007, radius=.0035)
if __name__=="__main__": look("case coarse samples", B((2,2,2),(.06,)*3), .01, .0125, radius=.00625)
if __name__=="__main__": look("test .04", B((2,2,2),(.04,)*3), .01, .01)
if __name__=="__main__": look("test 4S", B((4,4,4),(.08,)*3), .02, .02)
if __name__=="__main__": look("default spacing", B((2,2,2),(.06,)*3), .01)
if __name__=="__main__": look("ball .035", geometry.ball(.035,4), .02)
if __name__=="__main__": look("ball .03", geometry.ball(.03,4), .01)
if __name__=="__main__": look("ball .03 sp", geometry.ball(.03,4), .01, .01)

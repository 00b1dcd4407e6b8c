import numpy as np, force, servo
orig = force.scene
def scaled(fac):
    def scene(**k):
        s,b = orig(**k)
        import dataclasses
        s.fluid = dataclasses.replace(s.fluid, volumes=s.fluid.volumes*fac, lightest=s.fluid.lightest/fac)
        return s,b
    return scene
for f in (1.1,1.2,1.3):
    servo.scene = scaled(f); print("volumes x", f)
    servo.run(subs=(8,), heights=(0.08,), T=1.6, iterations=1, iters=4)

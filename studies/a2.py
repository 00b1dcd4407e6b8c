from servo import run
for k in (dict(xsph=0.1), dict(xsph=0.3), dict(iterations=12), dict(iterations=12, xsph=0.1), dict(regularization=1.0), dict(iterations=8,regularization=1.0,xsph=0.1)):
    run(subs=(2,), heights=(0.08,), T=2.0, **k)
run(subs=(8,), heights=(0.08,), T=1.6, iterations=16)
run(subs=(8,), heights=(0.08,), T=1.6, xsph=0.1)

from servo import run
run(subs=(8,), heights=(0.08,), T=2.0)
run(subs=(4,), heights=(0.08,), T=2.0)

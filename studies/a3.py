from servo import run
run(subs=(2,8), heights=(0.08,), T=1.6, iterations=1, iters=4)
run(subs=(2,), heights=(0.08,), T=2.0, iterations=1, iters=12)
run(subs=(2,), heights=(0.08,), T=2.0, iterations=1, iters=32)
run(subs=(2,), heights=(0.08,), T=2.0, iterations=2, iters=12)

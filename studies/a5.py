from servo import run
run(subs=(2,4,8), heights=(0.08,), T=1.6)

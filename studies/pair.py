"""Variants of the engine side by side, step by step in turn: python pair.py SPEC ...  SPEC = label:tree[:substeps[:FLAG=VALUE,...]]
Prints processor time per env-step of each, by kind of actions, and the ratio to the first (medians over steps)."""
import os, sys, time, subprocess, json
import numpy as np
N, PLAN = int(os.environ.get("N", 64)), json.loads(os.environ.get("PLAN", '[["uniform",24],["full",24],["quiet",10]]'))
def worker(substeps):
    import gymnasium as gym, pbd_gym, pbd_gym.envs
    env = gym.make_vec("PBDClothFlatten-v0", N, threads=1, starts=8, max_episode_steps=1000, **({"substeps": substeps} if substeps else {}))
    u = env.unwrapped; env.reset(seed=0)
    env.step(np.zeros((N, 8), np.float32)); env.reset(seed=0)
    step0 = u.solver.step; tt = [0.0]
    def timed(*a):
        s = time.process_time(); step0(*a); tt[0] += time.process_time() - s
    u.solver.step = timed
    print("ready", flush=True)
    rng = np.random.default_rng(1); grips = np.zeros((N, 2)); t = 0
    for kind, steps in PLAN:
        for _ in range(steps):
            if kind == "uniform": a = rng.uniform(-1, 1, (N, 8))
            elif kind == "quiet": a = np.zeros((N, 8)); a[:, [3, 7]] = -1
            else:
                if t % 8 == 0: grips = rng.uniform(-1, 1, (N, 2))
                a = rng.choice([-1.0, 1.0], (N, 8)); a[:, [3, 7]] = grips
            t += 1
            sys.stdin.readline(); tt[0] = 0.0
            env.step(a.astype(np.float32))
            x = u.state.get_positions()
            print(tt[0], float(x.astype(np.float64).sum()), flush=True)
def main(specs):
    procs = []
    for spec in specs:
        part = (spec.split(":") + ["", ""])[:4] if spec.count(":") < 3 else spec.split(":")
        label, tree, sub, flags = (spec.split(":") + ["", "", ""])[:4]
        e = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": tree} | dict(f.split("=") for f in flags.split(",") if f)
        procs.append((label, subprocess.Popen([sys.executable, __file__, "--worker", sub or "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=e, cwd=tree)))
        while (line := procs[-1][1].stdout.readline()).strip() != "ready":
            if not line: raise SystemExit(f"{label} failed")
    for kind, steps in PLAN:
        T, S = [], []
        for _ in range(steps):
            row, sums = [], []
            for label, p in procs:
                p.stdin.write("go\n"); p.stdin.flush()
                a, b = p.stdout.readline().split(); row.append(float(a)); sums.append(float(b))
            T.append(row); S.append(sums)
        T, S = np.array(T), np.array(S)
        for k, (label, _) in enumerate(procs):
            ratio = np.median(T[:, 0] / T[:, k])
            print(f"{kind:8s} {label:14s} {1e6*T[:,k].mean()/N:8.0f} us/env-step  {N/T[:,k].mean():7.0f}/s  speed-up median {ratio:.2f} (quartiles {np.quantile(T[:,0]/T[:,k],.25):.2f}-{np.quantile(T[:,0]/T[:,k],.75):.2f}) same bits as first: {np.mean(S[:,0]==S[:,k]):.2f}", flush=True)
    for _, p in procs: p.stdin.close(); p.wait()
if sys.argv[1] == "--worker": worker(int(sys.argv[2]))
else: main(sys.argv[1:])

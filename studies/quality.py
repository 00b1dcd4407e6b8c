"""Quality and speed of pulled-about towels by substeps: python quality.py LABEL [substeps ...] (env-step rate in processor time)."""
import os, sys, time
import numpy as np, gymnasium as gym
import pbd_gym, pbd_gym.envs
from pbd_gym.geometry.edges import sides
from pbd_gym.geometry.surfaces import crossings
N = int(os.environ.get("N", 192)); ACTIONS, REST = 80, 4.0; SEED = int(os.environ.get("SEED", 0)); ID = os.environ.get("ID", "PBDClothFlatten-v0")
def measure(label, substeps):
    env = gym.make_vec(ID, N, threads=1, resolution=32, thickness=0.005, starts=8, max_episode_steps=1000, **({"substeps": substeps} if substeps else {}))
    u = env.unwrapped
    env.reset(seed=SEED); rng = np.random.default_rng(SEED)
    tri = u.scene.triangles; edges = sides(tri)[0]
    rest = np.linalg.norm(np.diff(u.scene.positions[edges], axis=1)[:, 0], axis=1)
    strains, worst, t_engine, ended = [], [], 0.0, 0
    step0 = u.solver.step
    tt = [0.0]
    def timed(*a):
        s = time.process_time(); step0(*a); tt[0] += time.process_time() - s
    u.solver.step = timed
    grips = np.zeros((N, 2))
    for t in range(ACTIONS):
        if t % 8 == 0: grips = rng.uniform(-1, 1, (N, 2))
        a = rng.choice([-1.0, 1.0], (N, 8)); a[:, [3, 7]] = grips
        ended += int(env.step(a.astype(np.float32))[2].sum())
        L = np.linalg.norm(np.diff(u.state.get_positions()[:, edges], axis=2)[:, :, 0], axis=2)
        strains.append(np.percentile(L / rest - 1, 99)); worst.append(np.percentile(L / rest - 1, 99.99))
    busy = ACTIONS * N / tt[0]; tt[0] = 0.0
    a = np.zeros((N, 8), np.float32); a[:, [3, 7]] = -1
    n = round(REST / u.config.ctrl_dt)
    for _ in range(n):
        *_, te, _, info = env.step(a); ended += int(te.sum())
    calm = n * N / tt[0]
    p = u.state.get_positions(); v = u.state.get_velocities()
    clean = np.mean([crossings(x, tri, edges) == 0 for x in p])
    h = p[..., 1]
    print(f"{label} substeps={u.solver.substeps} N={N}: clean {clean:.3f} rest {np.mean(info['at_rest']):.3f} strain99 {np.mean(strains):.4f} strain99.99 {np.mean(worst):.3f} diverged {ended} rms {np.sqrt((v**2).sum(-1).mean()):.4f} mean height {1e3*h.mean():.2f} mm, busy {busy:.0f} calm {calm:.0f} env-steps/s (engine, CPU time)", flush=True)
    env.close()
for s in [int(x) for x in sys.argv[2:]] or [0]: measure(sys.argv[1], s)

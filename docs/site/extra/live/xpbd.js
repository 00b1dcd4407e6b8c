// Extended position-based dynamics (XPBD) of a cloth in plain JavaScript, float64: the program of docs/xpbd_in_numpy.py.
//
// Macklin, Mueller, Chentanez 2016, doi:10.1145/2994258.2994272; substeps: Macklin et al. 2019,
// doi:10.1145/3309486.3340247. Equation numbers are those of 2016. tests/docs/test_live_cloth.py compares trajectories
// with the engine's. It is a classic script, so that a page works from a file, and a module for node.
"use strict";

var XPBD = (() => {
  // A square sheet of rows x columns particles, flat in the plane y = 0 [m]; y is up. Its first row is at z = 0.
  class Cloth {
    constructor({ rows = 12, columns = 12, size = 0.5, density = 0.2, stretch = 1e-2, shear = 5e-2, bend = 5e-1 } = {}) {
      Object.assign(this, { rows, columns, size });
      const count = rows * columns;
      this.count = count;
      this.x = new Float64Array(3 * count); // positions [m]
      this.v = new Float64Array(3 * count); // velocities [m/s]
      this.before = new Float64Array(3 * count);
      this.free = new Float64Array(count); // inverse masses of particles that are neither pinned nor held [1/kg]
      this.w = new Float64Array(count); // inverse masses now: 0 for infinite mass
      this.pinned = new Uint8Array(count);
      this.held = -1;
      for (let r = 0; r < rows; ++r) {
        for (let c = 0; c < columns; ++c) {
          const i = r * columns + c;
          this.x[3 * i] = -size / 2 + (size * c) / (columns - 1);
          this.x[3 * i + 2] = (size * r) / (rows - 1);
        }
      }
      this.connect();
      this.setMaterial({ density, stretch, shear, bend });
    }

    // Threads of the weave resist stretch, diagonals of its cells shear, and pairs two apart bending.
    connect() {
      const pairs = [];
      const add = (family, down, across, fromRow, fromColumn) => {
        for (let r = fromRow; r + down < this.rows; ++r) {
          for (let c = fromColumn; c < this.columns - Math.max(across, 0); ++c) {
            const a = r * this.columns + c;
            pairs.push([a, a + down * this.columns + across, family]);
          }
        }
      };
      add(0, 0, 1, 0, 0);
      add(0, 1, 0, 0, 0);
      add(1, 1, 1, 0, 0);
      add(1, 1, -1, 0, 1);
      add(2, 0, 2, 0, 0);
      add(2, 2, 0, 0, 0);
      const order = colored(pairs, this.count);
      this.a = Int32Array.from(order, (k) => pairs[k][0]);
      this.b = Int32Array.from(order, (k) => pairs[k][1]);
      this.family = Uint8Array.from(order, (k) => pairs[k][2]);
      this.rest = Float64Array.from(order, (k) => this.distance(pairs[k][0], pairs[k][1]));
      this.lambda = new Float64Array(pairs.length);
    }

    // A cell of the sheet gives a quarter of its mass [kg/m^2] to each corner; compliances are in m/N.
    setMaterial({ density, stretch, shear, bend }) {
      this.compliance = [stretch, shear, bend];
      const cell = (density * this.size ** 2) / ((this.rows - 1) * (this.columns - 1));
      const share = (k, n) => (k === 0 || k === n - 1 ? 0.5 : 1.0);
      for (let i = 0; i < this.count; ++i) {
        const r = Math.floor(i / this.columns), c = i % this.columns;
        this.free[i] = 1.0 / (cell * share(r, this.rows) * share(c, this.columns));
        this.weigh(i);
      }
    }

    weigh(i) {
      this.w[i] = this.pinned[i] || i === this.held ? 0.0 : this.free[i];
    }

    pin(i, pinned = true) {
      this.pinned[i] = pinned ? 1 : 0;
      if (pinned) this.v.fill(0.0, 3 * i, 3 * i + 3);
      this.weigh(i);
    }

    // Hold a particle in the hand, or none (-1). A released one keeps its velocity, unless it is pinned.
    hold(i) {
      const last = this.held;
      this.held = i;
      if (last >= 0) {
        if (this.pinned[last]) this.v.fill(0.0, 3 * last, 3 * last + 3);
        this.weigh(last);
      }
      if (i >= 0) this.weigh(i);
    }

    distance(i, j) {
      const { x } = this;
      return Math.hypot(x[3 * j] - x[3 * i], x[3 * j + 1] - x[3 * i + 1], x[3 * j + 2] - x[3 * i + 2]);
    }

    // Advance by dt [s]. The hand moves straight by `move` [m] meanwhile. `keep` tells whether multipliers last from
    // one iteration to the next; plain position-based dynamics has none, and stiffens with the number of iterations.
    advance(dt, { substeps = 5, iterations = 4, damping = 0.0, gravity = -9.81, keep = true } = {}, move = [0, 0, 0]) {
      const { x, v, w, before, held, lambda } = this, h = dt / substeps, slower = Math.exp(-damping * h);
      const target = [0, 1, 2].map((k) => x[3 * held + k] + move[k]);
      if (held >= 0) for (let k = 0; k < 3; ++k) v[3 * held + k] = move[k] / dt;
      for (let substep = 0; substep < substeps; ++substep) {
        before.set(x);
        for (let i = 0; i < this.count; ++i) if (w[i] > 0.0) v[3 * i + 1] += h * gravity;
        for (let k = 0; k < x.length; ++k) x[k] += h * v[k]; // where particles would go without constraints
        lambda.fill(0.0); // once in a substep, not in every iteration
        for (let iteration = 0; iteration < iterations; ++iteration) {
          if (!keep) lambda.fill(0.0);
          this.sweep(h);
        }
        for (let k = 0; k < x.length; ++k) v[k] = (x[k] - before[k]) / h;
        if (damping > 0.0) for (let k = 0; k < x.length; ++k) if (w[Math.floor(k / 3)] > 0.0) v[k] *= slower;
      }
      if (held >= 0) {
        for (let k = 0; k < 3; ++k) {
          x[3 * held + k] = target[k]; // without the drift of rounding
          v[3 * held + k] = move[k] / dt;
        }
      }
    }

    // Solve every constraint once, one after the other (Gauss-Seidel): C = |x_b - x_a| - rest [m].
    sweep(h) {
      const { x, w, a, b, rest, lambda } = this, alphas = this.compliance.map((alpha) => alpha / (h * h));
      for (let k = 0; k < a.length; ++k) {
        const i = a[k], j = b[k], sum = w[i] + w[j], alpha = alphas[this.family[k]];
        if (sum === 0.0) continue;
        const p = 3 * i, q = 3 * j;
        const dx = x[q] - x[p], dy = x[q + 1] - x[p + 1], dz = x[q + 2] - x[p + 2];
        const length = Math.sqrt(dx * dx + dy * dy + dz * dz);
        if (length === 0.0) continue;
        const change = (rest[k] - length - alpha * lambda[k]) / (sum + alpha); // eq. 18
        lambda[k] += change;
        const one = (w[i] * change) / length, two = (w[j] * change) / length; // eq. 17
        x[p] -= one * dx, x[p + 1] -= one * dy, x[p + 2] -= one * dz;
        x[q] += two * dx, x[q + 1] += two * dy, x[q + 2] += two * dz;
      }
    }

    // Return the mean strain of the threads.
    strain() {
      let sum = 0.0, count = 0;
      for (let k = 0; k < this.a.length; ++k) {
        if (this.family[k] !== 0) continue;
        sum += this.distance(this.a[k], this.b[k]) / this.rest[k] - 1.0;
        ++count;
      }
      return sum / count;
    }
  }

  // Return the order in which pairs are solved, colour by colour: a pair takes the first colour that neither of its
  // particles has yet, so that none of one colour share a particle. The engine has the same order.
  function colored(pairs, count) {
    const taken = Array.from({ length: count }, () => new Set()), colors = [];
    pairs.forEach(([a, b], k) => {
      let color = 0;
      while (taken[a].has(color) || taken[b].has(color)) ++color;
      taken[a].add(color), taken[b].add(color);
      (colors[color] ||= []).push(k);
    });
    return colors.flat();
  }

  return { Cloth };
})();

if (typeof module !== "undefined") module.exports = XPBD;

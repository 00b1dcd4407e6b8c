// Draws a cloth on a canvas: triangles from back to front, shaded on both sides, with the weave and pinned particles.
"use strict";

var View = (() => {
  const FRONT = [54, 118, 196], BACK = [232, 142, 62], LIGHT = [0.35, 0.75, 0.56];

  // A camera that looks at `target` [m] from `distance` [m] away; yaw and pitch in radians.
  class Camera {
    constructor(target, distance, yaw, pitch) {
      Object.assign(this, { target, distance, yaw, pitch });
    }

    // Return right, up and backward as rows.
    axes() {
      const [s, c] = [Math.sin(this.yaw), Math.cos(this.yaw)], [t, u] = [Math.sin(this.pitch), Math.cos(this.pitch)];
      return [[c, 0, -s], [-s * t, u, -c * t], [s * u, t, c * u]];
    }

    // Fill `out` with pixels and depths [m] of points; `size` is the canvas's width and height.
    project(x, size, out) {
      const [right, up, back] = this.axes(), focal = 1.7 * Math.min(...size);
      for (let k = 0; k < x.length; k += 3) {
        const p = [x[k] - this.target[0], x[k + 1] - this.target[1], x[k + 2] - this.target[2]];
        const depth = Math.max(this.distance - dot(back, p), 0.05 * this.distance);
        out[k] = size[0] / 2 + (focal * dot(right, p)) / depth;
        out[k + 1] = size[1] / 2 - (focal * dot(up, p)) / depth;
        out[k + 2] = depth;
      }
      return out;
    }

    // Return the move in space [m] of a point at `depth` that moves by pixels in the picture.
    lift(dx, dy, depth, size) {
      const [right, up] = this.axes(), scale = depth / (1.7 * Math.min(...size));
      return [0, 1, 2].map((k) => scale * (dx * right[k] - dy * up[k]));
    }
  }

  function dot(a, b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  }

  // Return the corners of the triangles of a grid, two a cell; their first two sides are threads.
  function triangles(rows, columns) {
    const found = [];
    for (let r = 0; r + 1 < rows; ++r) {
      for (let c = 0; c + 1 < columns; ++c) {
        const i = r * columns + c;
        found.push([i, i + columns, i + 1], [i + columns + 1, i + 1, i + columns]);
      }
    }
    return found;
  }

  // Draw a cloth; `look` is "cloth" or "net", and `marked` the particle under the pointer or -1.
  function draw(canvas, cloth, faces, camera, look, marked, buffer) {
    const size = [canvas.width, canvas.height], g = canvas.getContext("2d"), ratio = window.devicePixelRatio || 1;
    const seen = camera.project(cloth.x, size, buffer), { x } = cloth;
    g.clearRect(0, 0, ...size);
    g.lineJoin = "round";
    if (look === "net") {
      net(g, cloth, seen, ratio);
    } else {
      const backward = camera.axes()[2], eye = [0, 1, 2].map((k) => camera.target[k] + camera.distance * backward[k]);
      const depth = faces.map(([i, j, k]) => seen[3 * i + 2] + seen[3 * j + 2] + seen[3 * k + 2]);
      const order = [...faces.keys()].sort((one, two) => depth[two] - depth[one]);
      const weave = cellPixels(cloth, seen) > 7 * ratio;
      for (const face of order) triangle(g, x, seen, faces[face], eye, weave, ratio);
    }
    for (let i = 0; i < cloth.count; ++i) {
      if (cloth.pinned[i]) spot(g, seen, i, 4.5 * ratio, "#343c50");
    }
    if (cloth.held >= 0) spot(g, seen, cloth.held, 6.5 * ratio, "#e2485c");
    else if (marked >= 0) spot(g, seen, marked, 5 * ratio, "rgba(226, 72, 92, 0.55)");
  }

  // Return the mean width of a cell in the picture [pixels].
  function cellPixels(cloth, seen) {
    let sum = 0.0;
    for (let i = 0; i + 1 < cloth.columns; ++i) sum += Math.hypot(seen[3 * i + 3] - seen[3 * i], seen[3 * i + 4] - seen[3 * i + 1]);
    return sum / (cloth.columns - 1);
  }

  function triangle(g, x, seen, [i, j, k], eye, weave, ratio) {
    const at = (p) => [x[3 * p], x[3 * p + 1], x[3 * p + 2]], minus = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    const a = at(i), u = minus(at(j), a), v = minus(at(k), a);
    const n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    const length = Math.hypot(...n) || 1.0, side = dot(n, minus(eye, a)) > 0.0 ? 1.0 : -1.0;
    const shade = 0.52 + 0.48 * Math.abs(dot(n, LIGHT)) / length;
    const color = (side > 0.0 ? FRONT : BACK).map((c) => Math.round(Math.min(255, c * shade)));
    g.fillStyle = g.strokeStyle = `rgb(${color})`;
    g.lineWidth = 0.8 * ratio;
    g.beginPath();
    g.moveTo(seen[3 * i], seen[3 * i + 1]);
    g.lineTo(seen[3 * j], seen[3 * j + 1]);
    g.lineTo(seen[3 * k], seen[3 * k + 1]);
    g.closePath();
    g.fill();
    g.stroke(); // closes the hair between neighbours
    if (!weave) return;
    g.strokeStyle = `rgb(${color.map((c) => Math.round(0.8 * c))})`;
    g.beginPath();
    g.moveTo(seen[3 * j], seen[3 * j + 1]);
    g.lineTo(seen[3 * i], seen[3 * i + 1]);
    g.lineTo(seen[3 * k], seen[3 * k + 1]);
    g.stroke();
  }

  // Draw constraints, coloured by their strain from blue (shorter) to red (longer by a tenth), and particles.
  function net(g, cloth, seen, ratio) {
    g.lineWidth = 1.2 * ratio;
    for (let k = 0; k < cloth.a.length; ++k) {
      if (cloth.family[k] === 2) continue; // those for bending lie on threads
      const i = 3 * cloth.a[k], j = 3 * cloth.b[k];
      const strain = cloth.distance(cloth.a[k], cloth.b[k]) / cloth.rest[k] - 1.0;
      const t = Math.max(-1.0, Math.min(1.0, 10.0 * strain));
      g.strokeStyle = t > 0 ? `rgb(${110 + 110 * t}, ${124 - 60 * t}, ${150 - 90 * t})` : `rgb(${110 + 70 * t}, ${124 - 20 * t}, ${150 - 60 * t})`;
      g.beginPath();
      g.moveTo(seen[i], seen[i + 1]);
      g.lineTo(seen[j], seen[j + 1]);
      g.stroke();
    }
    for (let i = 0; i < cloth.count; ++i) spot(g, seen, i, 2 * ratio, "#343c50");
  }

  function spot(g, seen, i, radius, color) {
    g.fillStyle = color;
    g.beginPath();
    g.arc(seen[3 * i], seen[3 * i + 1], radius, 0, 2 * Math.PI);
    g.fill();
  }

  return { Camera, draw, triangles };
})();

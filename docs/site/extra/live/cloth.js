// The page: sliders in the units of the engine, the mouse or a finger, and the clock.
"use strict";

(() => {
  const FRAME = 1 / 60, REACH = 0.03, NEAR = 28; // [s], farthest move of the hand in a frame [m], [CSS pixels]
  const numbers = {
    side: 16, density: 0.2, stretch: 1e-3, shear: 5e-2, bend: 5e-1, substeps: 8, iterations: 2, damping: 0.4,
    gravity: 9.81, look: "cloth", keep: "on",
  };
  // Name: label, unit, and low, high, step (or "log"), or choices.
  const DIALS = {
    side: ["particles a side", "", [6, 8, 12, 16, 24, 32]],
    density: ["mass", "kg/m²", 0.02, 5, "log"],
    stretch: ["compliance of threads", "m/N", 1e-6, 1e-1, "log"],
    shear: ["of diagonals", "m/N", 1e-5, 1, "log"],
    bend: ["of bending", "m/N", 1e-4, 10, "log"],
    substeps: ["substeps a frame", "", 1, 30, 1],
    iterations: ["iterations a substep", "", 1, 30, 1],
    keep: ["keep multipliers", "", ["on", "off"]],
    damping: ["damping", "1/s", 0, 5, 0.1],
    gravity: ["gravity", "m/s²", 0, 25, 0.1],
    look: ["look", "", ["cloth", "net"]],
  };
  const find = (id) => document.getElementById(id);
  const canvas = find("picture"), camera = new View.Camera([0, -0.2, 0.06], 1.6, 0.55, 0.12);
  let cloth, faces, buffer, time, paused = false, drag = null, marked = -1, cost = 0, pinning = false;

  function restart() {
    const { side } = numbers;
    cloth = new XPBD.Cloth({ ...numbers, rows: side, columns: side, size: 0.5 });
    cloth.pin(0);
    cloth.pin(side - 1);
    faces = View.triangles(side, side);
    buffer = new Float64Array(3 * cloth.count);
    time = 0.0;
    drag = null;
  }

  function turn(name, value) {
    numbers[name] = value;
    if (name === "side") restart();
    else cloth.setMaterial(numbers);
  }

  function shown(value) {
    return value !== 0 && (value < 1e-3 || value >= 1e4) ? value.toExponential(1).replace("e-", "e−") : `${+value.toPrecision(3)}`;
  }

  function addDial(name, [label, unit, low, high, step]) {
    const row = document.createElement("label");
    row.className = "dial";
    row.append(unit ? `${label} [${unit}]` : label);
    if (Array.isArray(low)) {
      const list = document.createElement("select");
      list.id = `dial-${name}`;
      for (const choice of low) list.add(new Option(choice, choice, false, choice === numbers[name]));
      list.onchange = () => turn(name, low.find((choice) => String(choice) === list.value));
      row.append(list);
    } else {
      const slider = document.createElement("input"), said = document.createElement("output"), log = step === "log";
      const ends = [low, high].map((end) => (log ? Math.log10(end) : end));
      Object.assign(slider, { type: "range", id: `dial-${name}`, min: ends[0], max: ends[1], step: log ? 0.02 : step });
      slider.value = log ? Math.log10(numbers[name]) : numbers[name];
      const say = () => {
        said.value = shown(numbers[name]);
        slider.setAttribute("aria-valuetext", `${said.value} ${unit}`);
      };
      slider.oninput = () => {
        turn(name, log ? +(10 ** slider.valueAsNumber).toPrecision(3) : slider.valueAsNumber);
        say();
      };
      say();
      row.append(said, slider);
    }
    find("dials").append(row);
  }

  const ratio = () => window.devicePixelRatio || 1;
  const size = () => [canvas.width, canvas.height];
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) * ratio(), (event.clientY - box.top) * ratio()];
  };

  // Return the particle nearest to a pixel, of those close to it the one in front, or -1.
  function pick([px, py]) {
    camera.project(cloth.x, size(), buffer);
    let best = -1, least = Infinity;
    for (let i = 0; i < cloth.count; ++i) {
      const away = Math.hypot(buffer[3 * i] - px, buffer[3 * i + 1] - py) / ratio();
      const score = away + 60 * buffer[3 * i + 2];
      if (away < NEAR && score < least) [best, least] = [i, score];
    }
    return best;
  }

  canvas.addEventListener("pointerdown", (event) => {
    const at = place(event), found = pick(at);
    canvas.setPointerCapture(event.pointerId);
    if (found >= 0 && (event.shiftKey || pinning)) cloth.pin(found, !cloth.pinned[found]);
    else if (found >= 0) {
      cloth.hold(found);
      drag = { at, cloth: true };
    } else drag = { at, cloth: false };
  });
  canvas.addEventListener("pointermove", (event) => {
    const at = place(event);
    if (!drag) marked = pick(at);
    else if (drag.cloth) drag.at = at;
    else {
      camera.yaw -= (0.008 * (at[0] - drag.at[0])) / ratio();
      camera.pitch = Math.max(-1.5, Math.min(1.5, camera.pitch + (0.008 * (at[1] - drag.at[1])) / ratio()));
      drag.at = at;
    }
  });
  for (const kind of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(kind, () => {
      if (drag && drag.cloth) cloth.hold(-1);
      drag = null;
    });
  }
  canvas.addEventListener("wheel", (event) => {
    if (window !== window.parent && document.activeElement !== canvas) return; // the page around it scrolls
    event.preventDefault();
    camera.distance = Math.max(0.5, Math.min(6, camera.distance * Math.exp(0.001 * event.deltaY)));
  }, { passive: false });

  // Return how far the hand moves in a frame [m]: towards the pointer, at the depth of what it holds.
  function pull() {
    const i = cloth.held;
    if (i < 0 || !drag) return [0, 0, 0];
    camera.project(cloth.x.subarray(3 * i, 3 * i + 3), size(), buffer);
    const move = camera.lift(drag.at[0] - buffer[0], drag.at[1] - buffer[1], buffer[2], size());
    const share = Math.min(1.0, REACH / (Math.hypot(...move) || 1.0));
    return move.map((part) => share * part);
  }

  function step() {
    const start = performance.now();
    cloth.advance(FRAME, { ...numbers, gravity: -numbers.gravity, keep: numbers.keep === "on" }, pull());
    cost += 0.05 * (performance.now() - start - cost);
    time += FRAME;
    if (!cloth.x.every(Number.isFinite)) restart();
  }

  let last = 0, left = 0;
  function frame(now) {
    const box = canvas.getBoundingClientRect(), wanted = [box.width, box.height].map((length) => Math.round(length * ratio()));
    if (canvas.width !== wanted[0] || canvas.height !== wanted[1]) [canvas.width, canvas.height] = wanted;
    left = Math.min(left + (now - last) / 1000, 2 * FRAME); // a slow machine shows slow motion
    last = now;
    for (; left >= FRAME; left -= FRAME) if (!paused) step();
    View.draw(canvas, cloth, faces, camera, numbers.look, marked, buffer);
    find("first").textContent = `${time.toFixed(2)} s, ${cloth.count} particles, ${cloth.a.length} springs`;
    find("second").textContent = `stretch of threads ${(100 * cloth.strain()).toFixed(2)} %, ${cost.toFixed(1)} ms a frame`;
    requestAnimationFrame(frame);
  }

  find("pause").onclick = () => {
    paused = !paused;
    find("pause").textContent = paused ? "go on" : "pause";
  };
  find("step").onclick = () => {
    paused = true;
    find("pause").textContent = "go on";
    step();
  };
  find("restart").onclick = restart;
  find("drop").onclick = () => {
    for (let i = 0; i < cloth.count; ++i) if (cloth.pinned[i]) cloth.pin(i, false);
  };
  find("pin").onclick = () => {
    pinning = !pinning;
    find("pin").setAttribute("aria-pressed", pinning);
  };
  for (const [name, about] of Object.entries(DIALS)) addDial(name, about);
  restart();
  requestAnimationFrame(frame);

  // For tests and the console: the cloth, and the place of a particle in the picture [CSS pixels].
  window.live = {
    cloth: () => cloth,
    pixel: (i) => [...camera.project(cloth.x.subarray(3 * i, 3 * i + 3), size(), new Float64Array(3))]
      .slice(0, 2).map((at) => at / ratio()),
  };
})();

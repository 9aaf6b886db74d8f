// From runs to batches: which solids, which colours, what is shown.

const THEMES = {
  light: {
    background: colour("#f3f5f8"), sky: [0.55, 0.57, 0.6], ground: [0.33, 0.32, 0.31], grid: colour("#6b7a8c"), shadow: 0.16,
    fixed: colour("#8a94a0"), joint: colour("#e9edf2"), plain: colour("#c3cad3"), constraint: colour("#7b4fb0"), spring: colour("#5d6b7a"),
  },
  dark: {
    background: colour("#14181e"), sky: [0.54, 0.57, 0.62], ground: [0.24, 0.23, 0.24], grid: colour("#8496ab"), shadow: 0.42,
    fixed: colour("#6d7885"), joint: colour("#d3dae2"), plain: colour("#aeb7c2"), constraint: colour("#b48be6"), spring: colour("#a8b4c1"),
  },
};
// Okabe and Ito's colours, told apart also by colour-blind people
const RUN_COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"].map(colour);
const ALONG = ["#2b62d9", "#1aa0b8", "#35b779", "#f2b134", "#e4572e"].map(colour); // along a long tree
const AXES = ["#e5484d", "#30a46c", "#3e7bfa"].map(colour);
const SEEN = 2; // pixels: joints and masses, a tenth of this, are not drawn on links that are shorter
const LINEAR = colour("#f2a20c");
const FORCE = colour("#16a085");
const ANGULAR = colour("#c2408f");

function bodyColour(run, row, runs) {
  if (runs > 1) return RUN_COLOURS[run.index % RUN_COLOURS.length];
  const count = run.bodies.length;
  if (count <= RUN_COLOURS.length) return RUN_COLOURS[(row - 1) % RUN_COLOURS.length];
  const s = ((row - 1) / (count - 1)) * (ALONG.length - 1);
  const i = Math.min(Math.floor(s), ALONG.length - 2);
  return mix(ALONG[i], ALONG[i + 1], s - i);
}

/** Everything that can be switched; true: shown. */
const SWITCHES = {
  skeleton: ["Skeleton", "rods and joints, also inside of shapes"],
  masses: ["Centres of mass", "spheres with volumes in proportion to the masses"],
  total: ["Common centre of mass", "the yellow sphere"],
  frames: ["Frames", "x red, y green, z blue"],
  axes: ["Axes", "of the world, and those joints turn or slide about"],
  momentum: ["Momentum", "linear (yellow) and angular (magenta) about the centre of mass"],
  arrows: ["Forces", "in proportion to the largest that occurs"],
  errors: ["Constraint errors", "green below 1e-9, red above 1e-3"],
  ghosts: ["Ghost poses", ""],
  grid: ["Grid", ""],
  shadows: ["Shadows", ""],
};

class Drawing {
  constructor(renderer, runs, header, archive) {
    Object.assign(this, { renderer, runs, header, archive, traces: [], ghostCount: 0, pull: null });
    const anyShape = runs.some((run) => run.shaped.length);
    this.shown = {
      skeleton: !anyShape, masses: !anyShape, total: false, frames: false, axes: false, momentum: false, arrows: runs.some((run) => run.arrows.length), errors: false, ghosts: false,
      grid: true, shadows: true,
    };
    this.available = new Set(Object.keys(SWITCHES));
    if (!anyShape) this.available.delete("skeleton");
    if (!runs.some((run) => run.arrows.length)) this.available.delete("arrows");
    if (!runs.some((run) => run.error)) this.available.delete("errors");
    this.makeSolids();
    this.placeRuns();
    this.dynamic = {
      rods: new Batch(renderer, "rod", this.solids.rod, false), cones: new Batch(renderer, "solid", this.solids.cone, false),
      balls: new Batch(renderer, "solid", this.solids.sphere, false),
    };
    this.setTheme("light");
  }

  makeSolids() {
    const { gl } = this.renderer;
    const most = Math.max(...this.runs.map((run) => run.solids.length));
    const sides = most > 1500 ? 6 : most > 300 ? 12 : most > 60 && this.renderer.isSoftware ? 14 : 28;
    const made = {
      sphere: makeSphere(sides), cylinder: makeCylinder(sides), box: makeBox(), diamond: makeDiamond(), screw: makeScrew(), cone: makeCone(16),
      rod: makeCylinder(clamp(sides / 2, Math.min(sides, 8), 12), 0), coil: makeCoil(),
    };
    this.solids = Object.fromEntries(Object.entries(made).map(([name, solid]) => [name, new Solid(gl, solid)]));
    this.solids.coil.wire = 0.22;
    this.header.meshes.forEach((mesh, i) => {
      const numbers = {
        positions: this.archive.raw(mesh.vertices, Int16Array), normals: this.archive.raw(mesh.normals, Int8Array),
        faces: this.archive.raw(mesh.faces, mesh.wide ? Uint32Array : Uint16Array),
      };
      this.solids[`mesh${i}`] = new Solid(gl, numbers, false);
    });
    this.solids.line = new Solid(gl, {
      positions: new Float32Array([0, -1, 0, 1, -1, 0, 1, 1, 0, 0, 1, 0]), normals: new Float32Array(12), faces: new Uint16Array([0, 1, 2, 0, 2, 3]),
    });
  }

  /** Places in the texture: the poses of all runs now, then, from a new row on, those of ghosts. */
  placeRuns() {
    let next = 0;
    for (const run of this.runs) {
      run.base = next;
      next += run.bodies.length + 1;
    }
    this.perGhost = next;
    const rows = Math.ceil((2 * next) / TEXTURE_WIDTH);
    this.now = new Float32Array(rows * TEXTURE_WIDTH * 4);
    this.ghostRow = rows;
    this.ghostBase = (rows * TEXTURE_WIDTH) / 2;
    this.renderer.reserve(this.ghostBase + this.ghostCount * next);
  }

  setTheme(name) {
    this.theme = THEMES[name];
    for (const run of this.runs) this.makeBatches(run);
    this.makeLines();
    for (const trace of this.traces) this.fillTrace(trace);
  }

  /** A run as batches, by what switches them on. */
  makeBatches(run) {
    const { theme } = this;
    const groups = new Map();
    const put = (group, kind, solid, numbers, isFine = false) => {
      const key = `${group} ${solid} ${isFine}`;
      if (!groups.has(key)) groups.set(key, { group, kind, solid, isFine, numbers: [] });
      groups.get(key).numbers.push(...numbers);
    };
    const shaped = new Set(run.shaped);
    const tint = (role, owner) => {
      if (role === "link" || role === "mass") return owner ? bodyColour(run, owner, this.runs.length) : theme.fixed;
      if (role === "joint") return this.runs.length > 1 ? mix(bodyColour(run, owner, 2), theme.joint, 0.55) : theme.joint;
      return { ground: theme.fixed, constraint: theme.constraint, spring: theme.spring, shape: theme.plain }[role];
    };
    const groupOf = (role, owner) => {
      if (role === "shape" || role === "mass" || role === "constraint" || role === "spring") return role;
      return shaped.size && (shaped.has(owner) || role === "ground") ? "covered" : "bare";
    };
    for (const [a, ax, ay, az, b, bx, by, bz, radius, role, owner] of run.rods)
      put(groupOf(role, owner), "rod", role === "spring" ? "coil" : "rod", [a, ax, ay, az, b, bx, by, bz, radius, ...tint(role, owner), 1]);
    for (const [solid, row, px, py, pz, qw, qx, qy, qz, sx, sy, sz, role, owner, rgba] of run.solids) {
      let [r, g, b, opacity] = rgba ?? [...tint(role, owner), 1];
      if (role === "shape" && this.runs.length > 1) [r, g, b] = mix([r, g, b], bodyColour(run, 1, 2), 0.7);
      const group = opacity < 1 ? "clear" : groupOf(role, owner);
      put(group, "solid", solid, [row, role === "mass" && this.runs.length === 1 ? 1 : 0, px, py, pz, qx, qy, qz, qw, sx, sy, sz, r, g, b, opacity],
        role === "joint" || role === "mass");
    }
    run.batches?.forEach(({ batch }) => batch.free());
    run.batches = [...groups.values()].map(({ group, kind, solid, isFine, numbers }) => {
      return { group, isFine, batch: new Batch(this.renderer, kind, this.solids[solid]).fill(numbers) };
    });
  }

  /** Frames and axes as lines. */
  makeLines() {
    for (const run of this.runs) {
      const size = 0.32 * run.unit;
      const frames = [];
      const axes = [];
      const line = (list, row, a, b, width, rgb, alpha = 1) => list.push(row, ...a, row, ...b, width, ...rgb, alpha);
      const seen = new Set();
      for (const [name, { row, position, quaternion }] of run.place) {
        const key = `${row} ${position.map((x) => x.toPrecision(5))} ${quaternion.map((x) => x.toPrecision(4))}`;
        if (seen.has(key) || name === "world") continue;
        seen.add(key);
        AXES.forEach((rgb, i) => {
          const tip = [0, 0, 0];
          tip[i] = size;
          line(frames, row, position, add(position, turn(quaternion, tip)), 1.1, rgb);
        });
      }
      AXES.forEach((rgb, i) => {
        const tip = [0, 0, 0];
        tip[i] = 0.25 * this.header.space.pose;
        line(axes, 0, [0, 0, 0], tip, 1.4, rgb);
      });
      run.joints.forEach(({ kind }, i) => {
        const along = { hinge: [2], slide: [2], screw: [2], cylindrical: [2], universal: [1], plane: [2] }[kind] ?? [];
        for (const axis of along) {
          const tip = [0, 0, 0];
          tip[axis] = 0.45 * run.unit;
          line(axes, i + 1, scale(tip, -1), tip, 0.9, this.theme.constraint, 0.9);
        }
      });
      run.frameLines?.free();
      run.axisLines?.free();
      run.frameLines = new Batch(this.renderer, "line", this.solids.line).fill(frames);
      run.axisLines = new Batch(this.renderer, "line", this.solids.line).fill(axes);
    }
  }

  /** The path of a body or frame, in every run that has it. */
  setTraces(names) {
    for (const { batch } of this.traces) batch.free();
    this.traces = [];
    for (const name of names)
      for (const run of this.runs) {
        const place = run.place.get(name);
        if (!place) continue;
        const first = run.motion.t[0];
        const last = run.motion.t[run.motion.t.length - 1];
        const count = clamp(4 * run.motion.t.length, 2, 4000);
        const poses = new Float32Array(run.current.length);
        const times = Array.from({ length: count }, (_, k) => first + ((last - first) * k) / (count - 1));
        const points = times.map((t) => {
          run.motion.write(t, poses, 0);
          return run.toWorld(place.row, place.position, poses);
        });
        const trace = { name, run, place, times, points };
        this.traces.push(trace);
        this.fillTrace(trace);
      }
  }

  fillTrace(trace) {
    const { run, place, points } = trace;
    const rgb = place.row ? bodyColour(run, place.row, this.runs.length) : this.theme.fixed;
    const numbers = [];
    for (let k = 1; k < points.length; k++) numbers.push(0, ...points[k - 1], 0, ...points[k], 1.1, ...rgb, 1);
    trace.batch?.free();
    trace.batch = new Batch(this.renderer, "line", this.solids.line).fill(numbers);
  }

  /** This many poses at even times, or none. */
  setGhosts(count) {
    this.ghostCount = count;
    this.placeRuns();
    if (!count) return;
    const start = Math.min(...this.runs.map((run) => run.motion.t[0]));
    const end = Math.max(...this.runs.map((run) => run.motion.t[run.motion.t.length - 1]));
    const rows = Math.ceil((2 * count * this.perGhost) / TEXTURE_WIDTH);
    const poses = new Float32Array(rows * TEXTURE_WIDTH * 4);
    this.renderer.reserve(this.ghostBase + (rows * TEXTURE_WIDTH) / 2);
    for (let g = 0; g < count; g++)
      for (const run of this.runs) run.motion.write(start + ((end - start) * g) / Math.max(count - 1, 1), poses, 8 * (g * this.perGhost + run.base));
    this.renderer.send(poses, this.ghostRow);
  }

  /** Batches of a run that are switched on; without joints and masses where they are much smaller than a pixel. */
  visible(run, clear = false) {
    const { shown } = this;
    const on = { bare: true, shape: true, spring: true, constraint: true, covered: shown.skeleton, mass: shown.masses };
    const isFar = run.unit < SEEN * this.pixelSize;
    return run.batches.filter(({ group, isFine }) => (clear ? group === "clear" : on[group] && !(isFine && isFar)));
  }

  /** What changes with every frame: arrows of momentum and forces, the centre of mass, marks of errors. */
  makeDynamic(time) {
    const rods = [];
    const cones = [];
    const balls = [];
    const unitLength = 0.28 * this.header.space.pose;
    const thick = 0.012 * this.header.space.pose;
    const arrow = (from, vector, rgb, longest) => {
      const size = (length(vector) / longest) * unitLength;
      if (!(size > 1e-3 * unitLength)) return;
      const along = unit(vector);
      const tip = add(from, scale(along, size));
      const [w, x, y, z] = fromZ(along);
      rods.push(0, ...from, 0, ...tip, thick, ...rgb, 1);
      cones.push(0, 0, ...tip, x, y, z, w, 2.4 * thick, 2.4 * thick, 3 * thick, ...rgb, 1);
    };
    for (const run of this.runs) {
      if (this.shown.total && run.mass > 0)
        balls.push(0, 1, ...run.centreOfMass(), 0, 0, 0, 1, ...Array(3).fill(0.17 * run.unit), ...mix(LINEAR, [0.2, 0.2, 0.2], 0.15), 1);
      if (this.shown.momentum && run.mass > 0) {
        const { linear, angular } = run.momentum(time);
        const centre = run.centreOfMass();
        arrow(centre, linear, LINEAR, this.largest(run, "linear"));
        arrow(centre, angular, ANGULAR, this.largest(run, "angular"));
      }
      if (this.shown.arrows)
        for (const { row, point, t, curves } of run.arrows)
          arrow(run.toWorld(row, point), curves.map(({ y }) => valueAt(t, y, time)), FORCE, this.largest(run, "arrows"));
      if (this.shown.errors && run.error) {
        const size = valueAt(run.error.t, run.error.curves[0].y, time);
        const bad = clamp((Math.log10(Math.max(size, 1e-30)) + 9) / 6, 0, 1);
        const rgb = mix(colour("#2fb344"), colour("#e5333a"), bad);
        for (const [solid, row, x, y, z, , , , , radius, , , role] of run.solids)
          if (role === "constraint" && solid === "sphere") balls.push(0, 0, ...run.toWorld(row, [x, y, z]), 0, 0, 0, 1, ...Array(3).fill(2 * radius), ...rgb, 1);
      }
    }
    if (this.pull) {
      rods.push(0, ...this.pull.from, 0, ...this.pull.to, 0.6 * thick, ...FORCE, 1);
      for (const end of [this.pull.from, this.pull.to]) balls.push(0, 0, ...end, 0, 0, 0, 1, ...Array(3).fill(1.5 * thick), ...FORCE, 1);
    }
    for (const [name, numbers] of Object.entries({ rods, cones, balls }))
      if (numbers.length || this.dynamic[name].count) this.dynamic[name].fill(numbers, this.renderer.gl.DYNAMIC_DRAW);
  }

  /** The length arrows of a kind are drawn in proportion to: the largest that occurs. */
  largest(run, what) {
    run.scales ??= {};
    if (run.scales[what] === undefined) {
      let most = 0;
      const panels = what === "arrows" ? run.arrows : [run[what]];
      for (const { t, curves } of panels) for (let k = 0; k < t.length; k++) most = Math.max(most, length(curves.map(({ y }) => y[k])));
      run.scales[what] = most || 1;
    }
    return run.scales[what];
  }

  /** One picture. */
  frame(time, camera, floor) {
    const { renderer, runs, shown } = this;
    for (const run of runs) {
      run.move(time);
      this.now.set(run.current, 8 * run.base);
    }
    renderer.send(this.now);
    this.makeDynamic(time);
    const up = new Float32Array(this.header.up);
    renderer.begin(camera, this.theme, floor, up);
    this.pixelSize = (camera.pixel * length(subtract(camera.eye, camera.target))) / this.renderer.canvas.clientHeight;
    runs.forEach((run, i) => renderer.behind(i, () => renderer.draw(this.visible(run), run.base)));
    const dynamic = Object.values(this.dynamic).map((batch) => ({ batch }));
    if (shown.grid) renderer.drawFloor();
    if (shown.shadows && renderer.quality >= SHADOWED && camera.eye[2] > floor.height)
      renderer.drawShadows(() => runs.forEach((run) => renderer.draw(this.visible(run), run.base, { shadow: true })));
    renderer.blended(() => {
      for (let g = 0; g < this.ghostCount; g++)
        for (const run of runs) renderer.draw(this.visible(run), this.ghostBase + g * this.perGhost + run.base, { opacity: 0.16 });
      for (const run of runs) renderer.draw(this.visible(run, true), run.base);
      for (const { batch, times } of this.traces) {
        renderer.draw([{ batch }], 0, { opacity: 0.22 });
        if (time > times[0]) renderer.draw([{ batch, count: time < times.at(-1) ? interval(times, time) : times.length - 1 }], 0);
      }
    });
    renderer.onTop(() => renderer.blended(() => {
      for (const run of runs) {
        if (shown.axes) renderer.draw([{ batch: run.axisLines }], run.base);
        if (shown.frames) renderer.draw([{ batch: run.frameLines }], run.base);
      }
    }));
    renderer.forgetDepth();
    renderer.draw(dynamic, 0);
    renderer.end();
  }
}

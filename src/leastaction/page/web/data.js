// What the page was given: compressed arrays, and runs as functions of time.  The writer is page/pack.py, page/keyframes.py.

class Archive {
  constructor(buffer) {
    const size = new DataView(buffer).getUint32(0, true);
    this.header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
    this.buffer = buffer;
    this.base = Math.ceil((4 + size) / 8) * 8;
  }

  static async decode(base64) {
    const packed = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Archive(await new Response(stream).arrayBuffer());
  }

  /** An array of float64 as it is. */
  floats(index) {
    const entry = this.header.arrays[index];
    return new Float64Array(this.buffer, this.base + entry.offset, entry.count);
  }

  /** Bytes that the caller knows the type of. */
  raw(index, Type) {
    const entry = this.header.arrays[index];
    return new Type(this.buffer, this.base + entry.offset, entry.count / Type.BYTES_PER_ELEMENT);
  }

  /** Whole numbers, series after series: second differences of bytes in planes, the sign in the lowest bit. */
  integers(index) {
    const { offset, series, count, planes } = this.header.arrays[index];
    const total = series * count;
    const bytes = new Uint8Array(this.buffer, this.base + offset, planes * total);
    const out = new Int32Array(total);
    for (let row = 0; row < series; row++) {
      let last = 0;
      let slope = 0;
      for (let k = 0; k < count; k++) {
        const at = row * count + k;
        let word = 0;
        for (let plane = planes - 1; plane >= 0; plane--) word = word * 256 + bytes[plane * total + at];
        const difference = word % 2 ? -(word + 1) / 2 : word / 2;
        if (k === 0) last = difference;
        else {
          slope += difference;
          last += slope;
        }
        out[at] = last;
      }
    }
    return out;
  }

  times(given) {
    if ("array" in given) return this.floats(given.array);
    return Float64Array.from({ length: given.count }, (_, k) => given.start + k * given.step);
  }

  panel(given) {
    const t = this.times(given.t);
    const curves = given.curves.map(({ name, values, low, step }) => {
      const y = Float64Array.from(this.integers(values), (level) => (level < 0 ? NaN : low + level * step));
      return { name, y };
    });
    return { t, curves };
  }
}

/** The value of a curve at a time, straight between its points. */
function valueAt(t, y, time) {
  if (t.length < 2 || time <= t[0]) return y[0];
  if (time >= t[t.length - 1]) return y[y.length - 1];
  const i = interval(t, time);
  return y[i] + ((y[i + 1] - y[i]) * (time - t[i])) / (t[i + 1] - t[i]);
}

/** Poses of the bodies of a run: cubics between keyframes. */
class Motion {
  constructor(keys, archive) {
    this.t = archive.times(keys.t);
    this.breaks = new Set(keys.breaks);
    const steps = archive.floats(keys.steps);
    const whole = archive.integers(keys.poses);
    const count = this.t.length;
    this.width = steps.length; // seven numbers for each body
    this.poses = new Float32Array(count * this.width);
    for (let c = 0; c < this.width; c++) for (let k = 0; k < count; k++) this.poses[k * this.width + c] = whole[c * count + k] * steps[c];
  }

  /** The keyframe before a time, and what it, its neighbours and their poses count: [i, weights of i - 1, i, i + 1, i + 2]. */
  weights(time) {
    const t = this.t;
    if (t.length === 1 || time <= t[0]) return [0, 0, 1, 0, 0];
    if (time >= t[t.length - 1]) return [t.length - 1, 0, 1, 0, 0];
    const i = interval(t, time);
    const h = t[i + 1] - t[i];
    const hasLeft = i > 0 && !this.breaks.has(i);
    const hasRight = i + 2 < t.length && !this.breaks.has(i + 1);
    const middle = [0, -1, 1, 0]; // what an interval is long times the slope within
    const parabola = (own, beside, far) => middle.map((x, j) => (x * beside + far[j] * own * (own / beside)) / (own + beside));
    let left = hasLeft ? parabola(h, t[i] - t[i - 1], [-1, 1, 0, 0]) : null;
    let right = hasRight ? parabola(h, t[i + 2] - t[i + 1], [0, 0, -1, 1]) : null;
    const opposite = (other) => middle.map((x, j) => (other ? 2 * x - other[j] : x));
    [left, right] = [left ?? opposite(right), right ?? opposite(left)];
    const s = (time - t[i]) / h;
    const blend = s * s * (3 - 2 * s);
    const weigh = (j) => [0, 1 - blend, blend, 0][j] + s * (1 - s) * ((1 - s) * left[j] - s * right[j]);
    return [i, weigh(0), weigh(1), weigh(2), weigh(3)];
  }

  /** Writes quaternion (x, y, z, w) and position (x, y, z, 0) of every body into out, from the place `at` on; the world comes first. */
  write(time, out, at) {
    const [i, ...w] = this.weights(time);
    const { poses, width } = this;
    const last = this.t.length - 1;
    const start = [i - 1, i, i + 1, i + 2].map((k) => clamp(k, 0, last) * width);
    out.set([0, 0, 0, 1, 0, 0, 0, 0], at);
    const pose = this.scratch ?? (this.scratch = new Float64Array(7));
    for (let body = 0; body < width; body += 7) {
      for (let c = 0; c < 7; c++) {
        const j = body + c;
        pose[c] = w[0] * poses[start[0] + j] + w[1] * poses[start[1] + j] + w[2] * poses[start[2] + j] + w[3] * poses[start[3] + j];
      }
      const norm = 1 / Math.hypot(pose[3], pose[4], pose[5], pose[6]);
      at += 8;
      out[at] = pose[4] * norm;
      out[at + 1] = pose[5] * norm;
      out[at + 2] = pose[6] * norm;
      out[at + 3] = pose[3] * norm;
      out[at + 4] = pose[0];
      out[at + 5] = pose[1];
      out[at + 6] = pose[2];
      out[at + 7] = 0;
    }
  }
}

class Run {
  constructor(given, archive, index) {
    Object.assign(this, given);
    this.index = index;
    this.motion = new Motion(given.keys, archive);
    this.nodes = archive.times(given.nodes);
    this.archive = archive;
    this.energy = archive.panel(given.curves.energy);
    this.angular = archive.panel(given.curves.angular);
    this.linear = archive.panel(given.curves.linear);
    this.error = given.curves.error ? archive.panel(given.curves.error) : null;
    this.current = new Float32Array(8 * (this.bodies.length + 1)); // as Motion.write leaves it
    this.place = new Map(given.places.map(([name, row, ...pose]) => [name, { row, position: pose.slice(0, 3), quaternion: pose.slice(3) }]));
    this.place.set("world", { row: 0, position: [0, 0, 0], quaternion: [1, 0, 0, 0] });
    this.mass = this.masses.reduce((sum, m) => sum + m[4], 0);
    this.jointPanels = new Map();
    this.arrows = given.arrows.map((arrow) => ({ ...arrow, ...archive.panel(arrow.panel) }));
  }

  move(time) {
    this.motion.write(time, this.current, 0);
  }

  /** Where a point of a row is in the world, by default now. */
  toWorld(row, point, poses = this.current) {
    const at = 8 * row;
    const q = [poses[at + 3], poses[at], poses[at + 1], poses[at + 2]];
    return add(turn(q, point), [poses[at + 4], poses[at + 5], poses[at + 6]]);
  }

  centreOfMass() {
    let sum = [0, 0, 0];
    for (const [row, x, y, z, mass] of this.masses) sum = add(sum, scale(this.toWorld(row, [x, y, z]), mass / this.mass));
    return sum;
  }

  /** Angular momentum about the centre of mass, linear momentum. */
  momentum(time) {
    const at = (panel) => panel.curves.map((curve) => valueAt(panel.t, curve.y, time));
    const linear = at(this.linear);
    return { linear, angular: subtract(at(this.angular), cross(this.centreOfMass(), linear)) };
  }

  /** Curves of one joint, unpacked when they are first asked for. */
  joint(name) {
    if (!this.jointPanels.has(name)) {
      const given = this.curves.joints.find((joint) => joint.name === name);
      if (!given) return null;
      this.jointPanels.set(name, { units: given.units, q: this.archive.panel(given.q), v: this.archive.panel(given.v) });
    }
    return this.jointPanels.get(name);
  }
}

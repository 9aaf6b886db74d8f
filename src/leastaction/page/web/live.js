// A scene that a running simulation moves: frames come in over a WebSocket, commands go out.  The other end is viewer/server.py.

const WINDOW = 20; // s of curves that are kept
const REDRAWN = 250; // ms between two drawings of the curves
const NEAR = 28; // pixels within which a body is taken hold of

class Live {
  constructor(page, address) {
    Object.assign(this, { page, address, frames: 0, drawnAt: 0, status: {}, pulled: null });
    [this.run] = page.runs;
    this.latest = this.run.current.slice();
    this.run.motion.write = (time, out, at) => out.set(this.latest, at);
    const nothing = () => {};
    Object.assign(page.player, { playing: false, play: nothing, toggle: nothing, step: nothing, seek: nothing }); // the clock is elsewhere
    for (const id of ["trace", "show-ghosts"]) document.getElementById(id)?.closest("label").remove(); // they look ahead
    this.makeCurves();
    this.makeBar();
    this.listen();
    this.connect();
  }

  // ---------------------------------------------------------------------------------------------- the wire

  connect() {
    this.socket = new WebSocket(this.address);
    this.socket.binaryType = "arraybuffer";
    this.socket.addEventListener("message", ({ data }) => (typeof data === "string" ? this.show(JSON.parse(data)) : this.take(data)));
    this.socket.addEventListener("open", () => this.say(""));
    this.socket.addEventListener("close", () => {
      this.say("The simulation cannot be reached; trying again …");
      setTimeout(() => this.connect(), 1000);
    });
  }

  send(command) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(command));
  }

  /** A frame: what viewer/session.py writes in Session.frame. */
  take(data) {
    const { run, page } = this;
    const head = new Float64Array(data, 0, 10 + this.columns.length);
    this.latest = new Float32Array(data, 8 * head.length);
    const [t, kinetic, potential, ...rest] = head;
    const momentum = rest.slice(0, 6);
    if (t < this.time) this.forget(); // it was reset
    this.time = t;
    this.frames += 1;
    const values = [kinetic + potential, kinetic, potential, ...momentum, rest[6], ...rest.slice(7)];
    this.t.push(t);
    this.all.forEach((y, i) => y.push(values[i]));
    while (this.t.length > 2 && this.t[0] < t - WINDOW) for (const list of [this.t, ...this.all]) list.shift();
    page.plots.span[0] = this.t[0];
    page.plots.span[1] = Math.max(t, this.t[0] + 1e-3);
    Object.assign(page.player, { time: t, start: this.t[0], end: page.plots.span[1] });
    if (this.pulled) this.drawPull();
    const now = performance.now();
    if (now - this.drawnAt > REDRAWN) {
      this.drawnAt = now;
      run.scales = {};
      page.plots.draw();
      this.showJoints(rest.slice(7));
    }
    this.clock.textContent = `${t.toFixed(2)} s`;
    page.isStale = true;
  }

  // ---------------------------------------------------------------------------------------------- curves

  /** Every curve of the page becomes one that grows; they share their times. */
  makeCurves() {
    const { run } = this;
    const joints = run.curves.joints;
    this.columns = [...joints.flatMap((joint) => joint.q.curves), ...joints.flatMap((joint) => joint.v.curves)];
    this.t = [];
    this.all = Array.from({ length: 10 + this.columns.length }, () => []);
    const panel = (first, names) => ({ t: this.t, curves: names.map((name, i) => ({ name, y: this.all[first + i] })) });
    run.energy = panel(0, ["total", "kinetic", "potential"]);
    run.angular = panel(3, ["x", "y", "z"]);
    run.linear = panel(6, ["x", "y", "z"]);
    if (run.error) run.error = panel(9, ["largest"]);
    let q = 10;
    let v = 10 + joints.reduce((sum, joint) => sum + joint.q.curves.length, 0);
    for (const joint of joints) {
      const names = (what) => joint[what].curves.map(({ name }) => name);
      run.jointPanels.set(joint.name, { units: joint.units, q: panel(q, names("q")), v: panel(v, names("v")) });
      q += names("q").length;
      v += names("v").length;
    }
  }

  forget() {
    for (const list of [this.t, ...this.all]) list.length = 0;
  }

  // ---------------------------------------------------------------------------------------------- buttons

  makeBar() {
    const make = (tag, options, ...children) => {
      const element = Object.assign(document.createElement(tag), options);
      element.append(...children);
      return element;
    };
    const button = (id, text, title, command) => {
      const made = make("button", { id, textContent: text, title });
      made.addEventListener("click", () => this.send(typeof command === "function" ? command() : command));
      return made;
    };
    const choice = (id, values, command) => {
      const made = make("select", { id }, ...values.map(([text, value]) => new Option(text, value)));
      made.addEventListener("change", () => this.send(command(made.value)));
      return made;
    };
    const bar = document.getElementById("transport");
    bar.classList.add("live");
    this.clock = make("output", { id: "clock" });
    this.speed = choice("speed", [["1/20 ×", 0.05], ["1/4 ×", 0.25], ["1/2 ×", 0.5], ["1 ×", 1], ["2 ×", 2], ["5 ×", 5], ["20 ×", 20]],
      (value) => ({ do: "speed", value: Number(value) }));
    this.integrator = choice("integrator", [], (name) => ({ do: "integrator", name }));
    this.dt = make("input", { id: "dt", type: "number", min: 0.01, max: 1000, step: "any", title: "time step, ms" });
    this.dt.addEventListener("change", () => this.send({ do: "dt", value: Number(this.dt.value) / 1000 }));
    bar.replaceChildren(
      button("pause", "Pause", "space", () => ({ do: this.status.paused ? "resume" : "pause" })),
      button("step", "Step", "one step", { do: "step" }), button("reset", "Reset", "back to the start", { do: "reset" }), this.clock,
      make("span", { className: "gap" }), this.integrator, make("label", {}, this.dt, " ms"), this.speed,
    );
    document.addEventListener("keydown", (event) => {
      if (event.key !== " " || ["SELECT", "INPUT", "BUTTON"].includes(event.target.tagName)) return;
      event.preventDefault();
      this.send({ do: this.status.paused ? "resume" : "pause" });
    });
    this.notice = make("div", { id: "notice", hidden: true });
    document.getElementById("stage").append(this.notice);
    this.sliders = new Map();
    const list = make("details", { id: "joints" }, make("summary", { textContent: "Joints" }));
    for (const { name, q, units } of this.run.curves.joints) {
      if (q.curves.length !== 1) continue;
      const slider = make("input", { type: "range", min: -3.15, max: 3.15, step: 0.01 });
      slider.setAttribute("aria-label", name);
      const value = make("output", {});
      slider.addEventListener("input", () => this.send({ do: "joint", name, value: Number(slider.value) }));
      list.append(make("label", { className: "row", title: units[0] }, name, slider, value));
      this.sliders.set(name, { slider, value });
    }
    if (this.sliders.size) document.getElementById("menu").after(list);
  }

  show(status) {
    this.status = status;
    const by = (id) => document.getElementById(id);
    by("pause").textContent = status.paused ? "Run" : "Pause";
    if (!this.integrator.length) this.integrator.append(...status.integrators.map((name) => new Option(name, name)));
    this.integrator.value = status.integrator;
    this.speed.value = status.speed;
    if (document.activeElement !== this.dt) this.dt.value = Number((1000 * status.dt).toPrecision(6));
    this.say(status.message || (status.behind ? "Slower than the clock: give larger steps, or less speed." : ""));
  }

  say(text) {
    this.notice.textContent = text;
    this.notice.hidden = !text;
  }

  showJoints(coordinates) {
    let at = 0;
    for (const { name, q } of this.run.curves.joints) {
      const found = this.sliders.get(name);
      if (found) {
        const x = coordinates[at];
        if (document.activeElement !== found.slider) {
          for (const [end, side] of [["min", Math.min], ["max", Math.max]]) found.slider[end] = side(Number(found.slider[end]), x);
          found.slider.value = x;
        }
        found.value.textContent = x.toFixed(2);
      }
      at += q.curves.length;
    }
  }

  // ---------------------------------------------------------------------------------------------- pulling

  /** Points of bodies that can be taken hold of: [row, point in the axes of the body]. */
  handles() {
    this.known ??= [
      ...this.run.masses.map(([row, x, y, z]) => [row, [x, y, z]]),
      ...[...this.run.place.values()].map(({ row, position }) => [row, position]),
      ...this.run.rods.flatMap(([a, ax, ay, az, b, bx, by, bz]) => [[a, [ax, ay, az]], [b, [bx, by, bz]]]),
      ...this.run.solids.map(([, row, x, y, z]) => [row, [x, y, z]]),
    ].filter(([row]) => row > 0);
    return this.known;
  }

  /** Where a point of the world is on the canvas: [x, y, depth], pixels and metres. */
  onScreen(point) {
    const { camera, canvas, header } = this.page;
    const { toward, right, above } = camera.axes();
    const { eye } = camera.look(this.page.followedPlace());
    const from = subtract(apply3(header.up, point), eye);
    const depth = -dot(from, toward);
    const pixel = (2 * Math.tan(FIELD_OF_VIEW / 2) * depth) / canvas.clientHeight;
    return [canvas.clientWidth / 2 + dot(from, right) / pixel, canvas.clientHeight / 2 - dot(from, above) / pixel, depth, pixel];
  }

  /** The handle nearest to a place on the canvas, if there is one near. */
  nearest(x, y) {
    let best = null;
    for (const [row, point] of this.handles()) {
      const [sx, sy, depth] = this.onScreen(this.run.toWorld(row, point));
      const far = Math.hypot(sx - x, sy - y);
      if (depth > 0 && far < NEAR && (!best || far < best.far)) best = { row, point, far };
    }
    return best;
  }

  listen() {
    const { canvas } = this.page;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const first = { capture: true };
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.shiftKey || event.ctrlKey || this.pulled) return;
      const found = this.nearest(...place(event));
      if (!found) return; // the camera turns
      event.stopImmediatePropagation();
      canvas.setPointerCapture(event.pointerId);
      this.pulled = { ...found, at: place(event), target: this.run.toWorld(found.row, found.point) };
    }, first);
    canvas.addEventListener("pointermove", (event) => {
      if (!this.pulled) {
        canvas.style.cursor = event.buttons === 0 && this.nearest(...place(event)) ? "grab" : "";
        return;
      }
      event.stopImmediatePropagation();
      const now = place(event);
      const { right, above } = this.page.camera.axes();
      const pixel = this.onScreen(this.pulled.target)[3];
      const moved = add(scale(right, (now[0] - this.pulled.at[0]) * pixel), scale(above, -(now[1] - this.pulled.at[1]) * pixel));
      const { up } = this.page.header;
      const down = [0, 1, 2].flatMap((c) => [up[c], up[3 + c], up[6 + c]]); // back to the axes of the world
      this.pulled.target = add(this.pulled.target, apply3(down, moved));
      this.pulled.at = now;
      this.send({ do: "pull", row: this.pulled.row, point: this.pulled.point, target: this.pulled.target });
      this.drawPull();
    }, first);
    for (const end of ["pointerup", "pointercancel"])
      canvas.addEventListener(end, (event) => {
        if (!this.pulled) return;
        event.stopImmediatePropagation();
        this.pulled = null;
        this.page.drawing.pull = null;
        this.page.isStale = true;
        this.send({ do: "release" });
      }, first);
  }

  drawPull() {
    const { row, point, target } = this.pulled;
    this.page.drawing.pull = { from: this.run.toWorld(row, point, this.latest), to: target };
    this.page.isStale = true;
  }
}

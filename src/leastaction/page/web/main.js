// Puts everything together.  window.leastaction is for people who want to drive the page from outside.

const SLOW = 1 / 22; // s: frames that take longer cost quality
const QUALITY = ["coarse", "fast", "with shadows", "smooth"];

class Page {
  constructor(archive) {
    const { header } = archive;
    Object.assign(this, { header, archive, frames: 0, slowFrames: 0, isStale: true, followed: "" });
    this.runs = header.runs.map((run, i) => new Run(run, archive, i));
    this.canvas = document.getElementById("view");
    const stale = () => (this.isStale = true);
    this.renderer = new Renderer(this.canvas);
    this.drawing = new Drawing(this.renderer, this.runs, header, archive);
    this.camera = new Camera(this.canvas, header.space, stale);
    this.player = new Player(this.runs, stale);
    this.transport = new Transport(this.player);
    this.plots = new Plots(document.getElementById("plots"), this.runs, (t) => this.player.seek(t));
    this.makeMenu();
    this.makeKey();
    this.setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    this.setTraces(header.traces);
    if (header.space.size > 5 * header.space.pose) this.follow("centre of mass");
    new ResizeObserver(() => {
      this.plots.draw();
      if (!this.camera.isMoved) this.camera.fit(); // until somebody chose a view; in a notebook the size is known late
      stale();
    }).observe(document.getElementById("stage"));
    this.canvas.addEventListener("webglcontextlost", () => fail("the graphics card gave up; reload the page"));
    requestAnimationFrame((now) => this.tick(now));
  }

  // ---------------------------------------------------------------------------------------------- frames

  tick(now) {
    const seconds = Math.min((now - (this.last ?? now)) / 1000, 0.5);
    this.last = now;
    if (this.player.playing) {
      this.player.advance(seconds);
      this.watch(seconds);
    }
    if (this.isStale) this.draw(now);
    requestAnimationFrame((next) => this.tick(next));
  }

  draw(now = performance.now()) {
    this.isStale = false;
    for (const run of this.runs) run.move(this.player.time);
    const camera = this.camera.look(this.followedPlace());
    this.drawing.frame(this.player.time, camera, this.floor(camera));
    this.transport.show();
    const readable = !this.player.playing || now - (this.readAt ?? 0) > 120; // numbers that change faster cannot be read
    if (readable) this.readAt = now;
    this.plots.move(this.player.time, readable);
    this.frames += 1;
  }

  /** Slow frames cost first smooth edges, then shadows, then pixels. */
  watch(seconds) {
    this.slowFrames = seconds > SLOW ? this.slowFrames + 1 : Math.max(0, this.slowFrames - 1);
    if (this.slowFrames > 12 && this.renderer.quality > COARSE && !this.qualityChosen) {
      this.renderer.quality -= 1;
      this.slowFrames = 0;
      document.getElementById("quality").value = this.renderer.quality;
    }
  }

  floor(camera) {
    const { low, size } = this.header.space;
    const extent = 5 * Math.max(size, this.camera.distance);
    return { height: low[2] - 0.002 * size, centre: camera.target, extent, cell: nice(this.camera.distance / 16) };
  }

  // ---------------------------------------------------------------------------------------------- what is followed and shown

  /** Where what is followed is now, upright axes; null if nothing is. */
  followedPlace() {
    if (!this.followed) return null;
    const run = this.runs.find((one) => one.place.has(this.followed)) ?? this.runs[0];
    const place = run.place.get(this.followed);
    return apply3(this.header.up, place ? run.toWorld(place.row, place.position) : run.centreOfMass());
  }

  follow(name) {
    this.followed = name;
    this.camera.follow = name || null;
    this.camera.offset = [0, 0, 0];
    document.getElementById("follow").value = name;
    if (this.header.space.size > 2 * this.header.space.pose) this.camera.fitDistance();
    this.isStale = true;
  }

  setTraces(names) {
    this.traced = [...names];
    this.drawing.setTraces(names);
    const list = document.getElementById("traces");
    list.replaceChildren(...names.map((name) => {
      const chip = document.createElement("button");
      chip.textContent = `${name} ×`;
      chip.title = "remove this trace";
      chip.addEventListener("click", () => this.setTraces(this.traced.filter((other) => other !== name)));
      return chip;
    }));
    this.isStale = true;
  }

  setTheme(name) {
    this.theme = name;
    document.documentElement.dataset.theme = name;
    this.drawing.setTheme(name);
    this.plots.draw();
    this.isStale = true;
  }

  setShown(what, on) {
    this.drawing.shown[what] = on;
    if (what === "ghosts") this.drawing.setGhosts(on ? Number(document.getElementById("ghosts").value) : 0);
    this.isStale = true;
  }

  // ---------------------------------------------------------------------------------------------- menu

  makeMenu() {
    const list = document.getElementById("switches");
    for (const [what, [label, hint]] of Object.entries(SWITCHES)) {
      if (!this.drawing.available.has(what)) continue;
      const row = document.createElement("label");
      const box = Object.assign(document.createElement("input"), { type: "checkbox", id: `show-${what}`, checked: this.drawing.shown[what] });
      box.addEventListener("change", () => this.setShown(what, box.checked));
      row.title = hint;
      row.append(box, label);
      if (what === "ghosts") {
        const count = Object.assign(document.createElement("input"), { type: "number", id: "ghosts", min: 2, max: 24, value: 6 });
        count.addEventListener("input", () => this.setShown("ghosts", box.checked));
        row.append(count);
      }
      list.append(row);
    }
    const by = (id) => document.getElementById(id);
    const places = [...new Set(this.runs.flatMap((run) => [...run.place.keys()]))].filter((name) => name !== "world");
    by("follow").append(new Option("nothing", ""), new Option("the centre of mass", "centre of mass"), ...places.map((n) => new Option(n, n)));
    by("follow").addEventListener("change", (event) => this.follow(event.target.value));
    by("trace").append(new Option("add …", ""), ...places.map((n) => new Option(n, n)));
    by("trace").addEventListener("change", (event) => {
      if (event.target.value && !this.traced.includes(event.target.value)) this.setTraces([...this.traced, event.target.value]);
      event.target.value = "";
    });
    by("quality").append(...QUALITY.map((name, i) => new Option(name, i)));
    by("quality").value = this.renderer.quality;
    by("quality").addEventListener("change", (event) => {
      this.qualityChosen = true;
      this.renderer.quality = Number(event.target.value);
      this.isStale = true;
    });
    by("fit").addEventListener("click", () => this.camera.fit());
    by("theme").addEventListener("click", () => this.setTheme(this.theme === "dark" ? "light" : "dark"));
  }

  /** Names and colours of several runs. */
  makeKey() {
    if (this.runs.length < 2) return;
    document.getElementById("key").replaceChildren(...this.runs.map((run) => {
      const entry = document.createElement("span");
      const mark = document.createElement("i");
      mark.style.background = css(RUN_COLOURS[run.index % RUN_COLOURS.length]);
      entry.append(mark, run.label);
      return entry;
    }));
  }

  // ---------------------------------------------------------------------------------------------- for people who drive the page

  /** Position and quaternion (w, x, y, z) of a body or frame now, in the world. */
  pose(name, run = 0) {
    const chosen = this.runs[run];
    const place = chosen.place.get(name);
    if (!place) throw new Error(`there is neither a body nor a frame ${name}`);
    chosen.move(this.player.time);
    const at = 8 * place.row;
    const c = chosen.current;
    const [w, x, y, z] = [c[at + 3], c[at], c[at + 1], c[at + 2]];
    const [a, b, d, e] = place.quaternion;
    const product = [w * a - x * b - y * d - z * e, w * b + x * a + y * e - z * d, w * d - x * e + y * a + z * b, w * e + x * d - y * b + z * a];
    return { position: chosen.toWorld(place.row, place.position), quaternion: product };
  }
}

function fail(message) {
  const box = document.getElementById("message");
  box.textContent = message;
  box.hidden = false;
}

window.leastaction = { ready: false };
Archive.decode(document.getElementById("data").textContent.trim())
  .then((archive) => {
    window.leastaction = new Page(archive);
    if (archive.header.live) window.leastaction.live = new Live(window.leastaction, archive.header.live);
    window.leastaction.ready = true;
  })
  .catch((error) => {
    fail(`The scene cannot be shown: ${error.message}`);
    throw error;
  });

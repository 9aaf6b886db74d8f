// Curves below the scene.  Each panel is drawn once; its cursor is an element of its own that moves over it.

const MARGIN = { left: 58, right: 12, top: 10, bottom: 22 };

function nice(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return power * [1, 2, 5, 10].find((f) => f * power >= x * (1 - 1e-9));
}

function inWords(x, step = 0) {
  if (!Number.isFinite(x)) return "–";
  if (x === 0 || (step && Math.abs(x) < 1e-9 * step)) return "0";
  const size = Math.abs(x);
  if (size >= 1e5 || size < 1e-3) return x.toExponential(step ? 1 : 2).replace("e", "e").replace("+", "");
  if (!step) return Number(x.toPrecision(4)).toString();
  return Number(x.toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9)))).toString();
}

class Plot {
  /** curves() gives [{name, colour, t, y, dash}]; seek(t) is called when the cursor is dragged. */
  constructor(parent, { title, unit: unitText, log = false, curves, chooser }, span, seek) {
    Object.assign(this, { curves, log, span });
    this.element = document.createElement("figure");
    const caption = document.createElement("figcaption");
    const name = document.createElement("b");
    name.textContent = title;
    this.unit = document.createElement("span");
    this.unit.textContent = unitText;
    caption.append(name, this.unit);
    if (chooser) caption.append(chooser);
    this.legend = document.createElement("div");
    this.legend.className = "legend";
    this.area = document.createElement("div");
    this.area.className = "area";
    this.canvas = document.createElement("canvas");
    this.cursor = document.createElement("i");
    this.cursor.className = "cursor";
    this.area.append(this.canvas, this.cursor);
    this.element.append(caption, this.area, this.legend);
    parent.append(this.element);
    this.listen(seek);
  }

  listen(seek) {
    let dragging = false;
    const toTime = (event) => {
      const x = event.clientX - this.area.getBoundingClientRect().left;
      seek(this.span[0] + ((x - MARGIN.left) / this.width()) * (this.span[1] - this.span[0]));
    };
    this.area.addEventListener("pointerdown", (event) => {
      dragging = true;
      this.area.setPointerCapture(event.pointerId);
      toTime(event);
    });
    this.area.addEventListener("pointermove", (event) => dragging && toTime(event));
    for (const end of ["pointerup", "pointercancel"]) this.area.addEventListener(end, () => (dragging = false));
  }

  width() {
    return Math.max(this.area.clientWidth - MARGIN.left - MARGIN.right, 1);
  }

  /** Smallest and largest value, with some room. */
  range(shown) {
    let low = Infinity;
    let high = -Infinity;
    for (const { y } of shown)
      for (const value of y)
        if (Number.isFinite(value) && !(this.log && value <= 0)) {
          low = Math.min(low, value);
          high = Math.max(high, value);
        }
    if (!(high >= low)) [low, high] = this.log ? [1e-16, 1e-12] : [-1, 1];
    if (this.log) {
      low = Math.max(low, high * 1e-9);
      return [Math.floor(Math.log10(low)), Math.max(Math.ceil(Math.log10(high)), Math.floor(Math.log10(low)) + 1)];
    }
    const room = (high - low) * 0.08 || Math.abs(high) * 0.05 || 1;
    return [low - room, high + room];
  }

  draw() {
    const { area, canvas, span, log } = this;
    const ratio = window.devicePixelRatio || 1;
    const [wide, tall] = [area.clientWidth, area.clientHeight];
    Object.assign(canvas, { width: wide * ratio, height: tall * ratio });
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const style = getComputedStyle(document.documentElement);
    const [soft, faint] = ["--soft", "--line"].map((v) => style.getPropertyValue(v));
    const shown = (this.shown = this.curves());
    const [low, high] = this.range(shown);
    const bottom = tall - MARGIN.bottom;
    const x = (t) => MARGIN.left + ((t - span[0]) / (span[1] - span[0])) * this.width();
    const y = (value) => bottom - (((log ? Math.log10(value) : value) - low) / (high - low)) * (bottom - MARGIN.top);
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = soft;
    pen.strokeStyle = faint;
    pen.lineWidth = 1;
    const rule = (x0, y0, x1, y1) => {
      pen.beginPath();
      pen.moveTo(Math.round(x0) + 0.5, Math.round(y0) + 0.5);
      pen.lineTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
      pen.stroke();
    };
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    const stepY = log ? Math.max(1, Math.ceil((high - low) / 4)) : nice((high - low) / 4);
    for (let v = Math.ceil(low / stepY) * stepY; v <= high + 1e-9 * stepY; v += stepY) {
      const at = bottom - ((v - low) / (high - low)) * (bottom - MARGIN.top);
      rule(MARGIN.left, at, wide - MARGIN.right, at);
      pen.fillText(log ? `1e${Math.round(v)}` : inWords(v, stepY), MARGIN.left - 7, at);
    }
    pen.textAlign = "center";
    pen.textBaseline = "top";
    const stepX = nice((span[1] - span[0]) / Math.max(3, Math.floor(wide / 90)));
    for (let t = Math.ceil(span[0] / stepX - 1e-9) * stepX; t <= span[1] + 1e-9 * stepX; t += stepX)
      pen.fillText(inWords(t, stepX) + (t + stepX > span[1] + 1e-9 * stepX ? " s" : ""), x(t), bottom + 6);
    pen.save();
    pen.beginPath();
    pen.rect(MARGIN.left, MARGIN.top - 3, this.width(), bottom - MARGIN.top + 6);
    pen.clip();
    pen.lineWidth = 1.6;
    pen.lineJoin = "round";
    for (const curve of shown) {
      pen.strokeStyle = curve.colour;
      pen.setLineDash(curve.dash ?? []);
      pen.beginPath();
      let open = false;
      for (let k = 0; k < curve.t.length; k++) {
        const value = curve.y[k];
        if (!Number.isFinite(value) || (log && value <= 0)) {
          open = false;
          continue;
        }
        if (open) pen.lineTo(x(curve.t[k]), y(value));
        else pen.moveTo(x(curve.t[k]), y(value));
        open = true;
      }
      pen.stroke();
    }
    pen.restore();
    this.writeLegend();
  }

  writeLegend() {
    this.legend.replaceChildren(...this.shown.map((curve) => {
      const entry = document.createElement("span");
      const mark = document.createElement("i");
      mark.style.background = curve.colour;
      const value = document.createElement("output");
      curve.value = value;
      entry.append(mark, `${curve.name} `, value);
      return entry;
    }));
  }

  move(time) {
    const s = clamp((time - this.span[0]) / (this.span[1] - this.span[0]), 0, 1);
    this.cursor.style.transform = `translateX(${MARGIN.left + s * this.width()}px)`;
  }

  readOut(time) {
    for (const { t, y, value } of this.shown) if (value) value.textContent = inWords(valueAt(t, y, time));
  }

  /** The time the cursor stands at, from its place on the screen. */
  cursorTime() {
    const x = this.cursor.getBoundingClientRect().left - this.area.getBoundingClientRect().left;
    return this.span[0] + ((x - MARGIN.left) / this.width()) * (this.span[1] - this.span[0]);
  }
}

const css = (rgb) => `rgb(${rgb.map((c) => Math.round(255 * c)).join(",")})`;
const DASHES = [[], [6, 3], [2, 3], [8, 3, 2, 3]];

/** All panels of the page. */
class Plots {
  constructor(parent, runs, seek) {
    this.runs = runs;
    const start = Math.min(...runs.map((run) => run.nodes[0]));
    const end = Math.max(...runs.map((run) => run.nodes[run.nodes.length - 1]));
    this.span = [start, Math.max(end, start + 1e-9)];
    this.jointName = runs[0].joints[0].name;
    const add = (options) => new Plot(parent, options, this.span, seek);
    const lined = (panel, run) => panel.curves.map(({ name, y }, j) => this.styled(run, j, name, panel.t, y));
    const each = (make) => () => runs.map((run) => {
      const [t, y] = make(run);
      return { name: run.label, t, y, colour: css(RUN_COLOURS[run.index % 6]) };
    });
    const change = (run) => [run.energy.t, run.energy.curves[0].y.map((e) => e - run.energy.curves[0].y[0])];
    const moved = (panel) => [panel.t, panel.curves[0].y.map((_, k) => length(panel.curves.map(({ y }) => y[k] - y[0])))];
    this.panels = [];
    if (runs.length === 1) {
      const [run] = runs;
      this.panels.push(add({ title: "Energy", unit: "J", curves: () => lined(run.energy, run) }));
      this.panels.push(add({ title: "Change of energy", unit: "J", curves: each(change) }));
      this.panels.push(add({ title: "Angular momentum", unit: "kg m²/s", curves: () => lined(run.angular, run) }));
      this.panels.push(add({ title: "Linear momentum", unit: "kg m/s", curves: () => lined(run.linear, run) }));
    } else {
      const size = (run) => [change(run)[0], change(run)[1].map(Math.abs)];
      this.panels.push(add({ title: "Change of energy", unit: "J", curves: each(change) }));
      this.panels.push(add({ title: "Size of the change of energy", unit: "J", log: true, curves: each(size) }));
      this.panels.push(add({ title: "Change of angular momentum", unit: "kg m²/s", curves: each((run) => moved(run.angular)) }));
      this.panels.push(add({ title: "Change of linear momentum", unit: "kg m/s", curves: each((run) => moved(run.linear)) }));
    }
    const chooser = this.makeChooser();
    const ofJoint = (what) => () => runs.flatMap((run) => {
      const joint = run.joint(this.jointName);
      return joint ? lined(joint[what], run) : [];
    });
    this.joints = [
      add({ title: "Joint", unit: "", curves: ofJoint("q"), chooser }),
      add({ title: "Joint velocity", unit: "", curves: ofJoint("v") }),
    ];
    this.panels.push(...this.joints);
    if (runs.some((run) => run.error))
      this.panels.push(add({
        title: "Constraint error", unit: "m, rad", log: true,
        curves: () => each((run) => (run.error ? [run.error.t, run.error.curves[0].y] : [[], []]))(),
      }));
    this.chooseJoint(this.jointName);
  }

  /** One run: curves differ in colour.  Several: runs do, their curves differ in dashes. */
  styled(run, j, name, t, y) {
    if (this.runs.length === 1) return { name, t, y, colour: css(RUN_COLOURS[j % 6]), dash: DASHES[Math.floor(j / 6) % 4] };
    return { name: `${run.label} ${name}`, t, y, colour: css(RUN_COLOURS[run.index % 6]), dash: DASHES[j % 4] };
  }

  makeChooser() {
    const chooser = document.createElement("select");
    chooser.id = "joint";
    chooser.setAttribute("aria-label", "joint");
    for (const { name } of this.runs[0].joints) chooser.append(new Option(name, name));
    chooser.addEventListener("change", () => this.chooseJoint(chooser.value));
    return chooser;
  }

  chooseJoint(name) {
    this.jointName = name;
    const joint = this.runs[0].joint(name);
    this.joints.forEach((panel, i) => {
      panel.unit.textContent = joint.units[i].replace(/[()]/g, "");
      panel.draw();
    });
    this.move(this.time ?? this.span[0], true);
  }

  draw() {
    for (const panel of this.panels) panel.draw();
    this.move(this.time ?? this.span[0], true);
  }

  move(time, withValues) {
    this.time = time;
    for (const panel of this.panels) {
      panel.move(time);
      if (withValues && panel.shown) panel.readOut(time);
    }
  }
}

// Orbit, pan, zoom, follow.  Upright axes: z points upwards.

const FIELD_OF_VIEW = (34 * Math.PI) / 180;

class Camera {
  constructor(canvas, space, changed) {
    Object.assign(this, { canvas, space, changed, follow: null, offset: [0, 0, 0] });
    this.fit();
    this.listen();
  }

  aspect() {
    return this.canvas.clientWidth / Math.max(this.canvas.clientHeight, 1);
  }

  /** Everything at all times in the picture, or, of what is followed, the mechanism. */
  fit() {
    const { low, high } = this.space;
    const extent = subtract(high, low);
    const most = Math.max(...extent);
    const degrees = Math.PI / 180;
    [this.azimuth, this.elevation] = [-58 * degrees, 18 * degrees];
    if (extent[1] < 0.2 * most) [this.azimuth, this.elevation] = [-72 * degrees, 9 * degrees]; // nearly flat: almost face on
    else if (extent[0] < 0.2 * most) [this.azimuth, this.elevation] = [-18 * degrees, 9 * degrees];
    else if (extent[2] < 0.2 * most) this.elevation = 38 * degrees;
    this.offset = [0, 0, 0];
    this.isMoved = false;
    this.fitDistance();
    this.changed();
  }

  /** As near as everything that has to be seen allows. */
  fitDistance() {
    const { low, high, pose, outermost } = this.space;
    const { toward, right, above } = this.axes();
    const tall = Math.tan(FIELD_OF_VIEW / 2) / 1.12; // some room around
    const wide = tall * this.aspect();
    this.home = scale(add(low, high), 0.5);
    if (this.follow) {
      this.distance = (0.75 * pose) / Math.min(tall, wide);
      return;
    }
    const points = [];
    for (let i = 0; i < outermost.length; i += 3) points.push(outermost.slice(i, i + 3));
    // the middle between the tightest planes through the eye, then the distance; again, because one moves the other
    this.distance = this.space.size / wide;
    for (let again = 0; again < 6; again++) {
      for (const axis of [right, above]) {
        const seen = points.map((p) => {
          const from = subtract(p, this.home);
          return dot(from, axis) / Math.max(this.distance - dot(from, toward), 1e-9);
        });
        const middle = (Math.min(...seen) + Math.max(...seen)) / 2;
        this.home = add(this.home, scale(axis, middle * this.distance));
      }
      this.distance = Math.max(1e-6, ...points.map((p) => {
        const from = subtract(p, this.home);
        return dot(from, toward) + Math.max(Math.abs(dot(from, right)) / wide, Math.abs(dot(from, above)) / tall);
      }));
    }
  }

  axes() {
    const { azimuth: a, elevation: e } = this;
    const toward = [Math.cos(a) * Math.cos(e), Math.sin(a) * Math.cos(e), Math.sin(e)];
    const right = [-Math.sin(a), Math.cos(a), 0];
    return { toward, right, above: cross(toward, right) };
  }

  /** What the renderer needs.  followed: where what is followed is now, or null. */
  look(followed) {
    const target = add(followed ?? this.home, this.offset);
    const eye = add(target, scale(this.axes().toward, this.distance));
    const reach = this.distance + 14 * this.space.size;
    const projection = perspective(FIELD_OF_VIEW, this.aspect(), Math.max(this.distance * 0.02, reach * 1e-5), reach);
    return { matrix: multiply(projection, lookAt(eye, target, [0, 0, 1])), eye, target, pixel: 2 * Math.tan(FIELD_OF_VIEW / 2) };
  }

  move() {
    this.isMoved = true;
    this.changed();
  }

  orbit(dx, dy) {
    const limit = 0.495 * Math.PI;
    this.azimuth -= dx * 0.008;
    this.elevation = clamp(this.elevation + dy * 0.008, -limit, limit);
    this.move();
  }

  pan(dx, dy) {
    const { right, above } = this.axes();
    const size = (2 * Math.tan(FIELD_OF_VIEW / 2) * this.distance) / Math.max(this.canvas.clientHeight, 1);
    this.offset = add(this.offset, add(scale(right, -dx * size), scale(above, dy * size)));
    this.move();
  }

  zoom(factor) {
    this.distance = clamp(this.distance * factor, 1e-4 * this.space.size, 60 * this.space.size);
    this.move();
  }

  listen() {
    const { canvas } = this;
    const fingers = new Map();
    const spread = () => {
      const [a, b] = [...fingers.values()];
      return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, apart: Math.hypot(a.x - b.x, a.y - b.y) };
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, { x: event.clientX, y: event.clientY, pans: event.button !== 0 || event.shiftKey || event.ctrlKey });
    });
    canvas.addEventListener("pointermove", (event) => {
      const finger = fingers.get(event.pointerId);
      if (!finger) return;
      const before = fingers.size > 1 ? spread() : null;
      const [dx, dy] = [event.clientX - finger.x, event.clientY - finger.y];
      Object.assign(finger, { x: event.clientX, y: event.clientY });
      if (before) {
        const after = spread();
        this.pan(after.x - before.x, after.y - before.y);
        if (after.apart > 0) this.zoom(before.apart / after.apart);
      } else if (finger.pans) this.pan(dx, dy);
      else this.orbit(dx, dy);
    });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (event) => fingers.delete(event.pointerId));
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("dblclick", () => this.fit());
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(clamp(event.deltaY, -120, 120) * 0.0015));
    }, { passive: false });
  }
}

// WebGL 2: programs, solids, batches of instances, one frame.  It knows nothing of runs; see drawing.js.

const TEXTURE_WIDTH = 1024;
const MOST_WRITTEN_OUT = 800; // vertices of a solid
// qualities: fewer pixels than the screen has; as many; also shadows; also smooth edges
const [COARSE, FAST, SHADOWED, SMOOTH] = [0, 1, 2, 3];
const LIGHT = unit([0.45, -0.55, 1.0]);

class Program {
  constructor(gl, vertex, fragment) {
    this.handle = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(this.handle, shader);
    }
    gl.linkProgram(this.handle);
    if (!gl.getProgramParameter(this.handle, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(this.handle));
    this.at = {};
    const count = gl.getProgramParameter(this.handle, gl.ACTIVE_UNIFORMS);
    for (let i = 0; i < count; i++) {
      const { name } = gl.getActiveUniform(this.handle, i);
      this.at[name] = gl.getUniformLocation(this.handle, name);
    }
  }
}

// what one instance is made of: attribute and how many numbers
const LAYOUTS = {
  solid: [[2, 2], [3, 3], [4, 4], [5, 3], [6, 4]],
  rod: [[2, 4], [3, 4], [4, 1], [6, 4]],
};
LAYOUTS.line = LAYOUTS.rod;

/** Many copies of one solid, drawn by one call.
 *
 *  Graphics cards repeat a solid for every instance.  Programs that draw without one are slow at that: for them, and for lines, all
 *  copies are written out.
 */
class Batch {
  constructor(renderer, kind, solid, isWrittenOut = kind === "line" || (renderer.isSoftware && solid.isSmall)) {
    const { gl } = renderer;
    Object.assign(this, { gl, kind, solid, isWrittenOut, count: 0 });
    this.stride = LAYOUTS[kind].reduce((sum, [, size]) => sum + size, 0);
    this.vertices = gl.createVertexArray();
    this.buffer = gl.createBuffer();
    gl.bindVertexArray(this.vertices);
    if (isWrittenOut) {
      this.faces = gl.createBuffer();
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.faces);
    } else solid.bind(gl);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    const layout = isWrittenOut ? [[0, 3], [1, 3], ...LAYOUTS[kind]] : LAYOUTS[kind];
    const stride = this.stride + (isWrittenOut ? 6 : 0);
    let offset = 0;
    for (const [location, size] of layout) {
      gl.enableVertexAttribArray(location);
      gl.vertexAttribPointer(location, size, gl.FLOAT, false, 4 * stride, 4 * offset);
      gl.vertexAttribDivisor(location, isWrittenOut ? 0 : 1);
      offset += size;
    }
    gl.bindVertexArray(null);
  }

  /** Instances, number after number. */
  fill(numbers, usage = this.gl.STATIC_DRAW) {
    const { gl } = this;
    this.count = numbers.length / this.stride;
    gl.bindVertexArray(null);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, this.isWrittenOut ? this.writeOut(numbers) : new Float32Array(numbers), usage);
    return this;
  }

  /** Every vertex of every copy with its place, its normal and the numbers of its instance; the faces go into their buffer. */
  writeOut(numbers) {
    const { gl, solid, stride, count } = this;
    const width = stride + 6;
    const out = new Float32Array(count * solid.vertexCount * width);
    const faces = new Uint32Array(count * solid.count);
    for (let k = 0; k < count; k++) {
      for (let i = 0; i < solid.count; i++) faces[k * solid.count + i] = solid.numbers.faces[i] + k * solid.vertexCount;
      for (let v = 0; v < solid.vertexCount; v++) {
        const at = (k * solid.vertexCount + v) * width;
        for (let c = 0; c < 3; c++) {
          out[at + c] = solid.numbers.positions[3 * v + c];
          out[at + 3 + c] = solid.numbers.normals[3 * v + c];
        }
        for (let c = 0; c < stride; c++) out[at + 6 + c] = numbers[k * stride + c];
      }
    }
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.faces);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, faces, gl.STATIC_DRAW);
    return out;
  }

  draw(count = this.count) {
    if (count < 1) return;
    const { gl, solid } = this;
    gl.bindVertexArray(this.vertices);
    if (this.isWrittenOut) gl.drawElements(gl.TRIANGLES, count * solid.count, gl.UNSIGNED_INT, 0);
    else gl.drawElementsInstanced(gl.TRIANGLES, solid.count, solid.type, 0, count);
  }

  free() {
    this.gl.deleteVertexArray(this.vertices);
    this.gl.deleteBuffer(this.buffer);
    if (this.faces) this.gl.deleteBuffer(this.faces);
  }
}

class Solid {
  constructor(gl, numbers, rigid = true) {
    const { positions, normals, faces } = (this.numbers = numbers);
    this.vertexCount = positions.length / 3;
    this.isSmall = positions instanceof Float32Array && this.vertexCount < MOST_WRITTEN_OUT;
    const keep = (target, data) => {
      const buffer = gl.createBuffer();
      gl.bindBuffer(target, buffer);
      gl.bufferData(target, data, gl.STATIC_DRAW);
      return buffer;
    };
    gl.bindVertexArray(null);
    this.positions = keep(gl.ARRAY_BUFFER, positions);
    this.normals = keep(gl.ARRAY_BUFFER, normals);
    this.faces = keep(gl.ELEMENT_ARRAY_BUFFER, faces);
    this.count = faces.length;
    this.type = faces instanceof Uint32Array ? gl.UNSIGNED_INT : gl.UNSIGNED_SHORT;
    this.formats = [positions, normals].map((a) => (a instanceof Int16Array ? gl.SHORT : a instanceof Int8Array ? gl.BYTE : gl.FLOAT));
    this.rigid = rigid;
  }

  bind(gl) {
    [this.positions, this.normals].forEach((buffer, location) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(location);
      gl.vertexAttribPointer(location, 3, this.formats[location], this.formats[location] !== gl.FLOAT, 0, 0);
    });
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.faces);
  }
}

class Renderer {
  constructor(canvas) {
    const gl = canvas.getContext("webgl2", { alpha: false, antialias: false, stencil: true, powerPreference: "high-performance" });
    if (!gl) throw new Error("this browser cannot show the scene: it has no WebGL 2");
    Object.assign(this, { gl, canvas });
    this.programs = {
      solid: new Program(gl, SOLID, LIT),
      rod: new Program(gl, ROD, LIT),
      line: new Program(gl, LINE, PLAIN),
      floor: new Program(gl, FLOOR, GRID),
    };
    this.poses = gl.createTexture();
    this.floorSolid = new Solid(gl, {
      positions: new Float32Array([-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0]),
      normals: new Float32Array(12),
      faces: new Uint16Array([0, 1, 2, 0, 2, 3]),
    });
    this.floorVertices = gl.createVertexArray();
    gl.bindVertexArray(this.floorVertices);
    this.floorSolid.bind(gl);
    gl.bindVertexArray(null);
    const info = gl.getExtension("WEBGL_debug_renderer_info");
    this.name = String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
    this.isSoftware = /swiftshader|llvmpipe|software|basic render/i.test(this.name);
    this.quality = this.isSoftware ? FAST : SMOOTH;
  }

  /** Room for poses of this many bodies. */
  reserve(bodies) {
    const { gl } = this;
    this.rows = Math.ceil((2 * bodies) / TEXTURE_WIDTH);
    gl.bindTexture(gl.TEXTURE_2D, this.poses);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, TEXTURE_WIDTH, this.rows, 0, gl.RGBA, gl.FLOAT, null);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  }

  /** Poses of whole rows of the texture. */
  send(poses, firstRow = 0) {
    const { gl } = this;
    gl.bindTexture(gl.TEXTURE_2D, this.poses);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, firstRow, TEXTURE_WIDTH, poses.length / (4 * TEXTURE_WIDTH), gl.RGBA, gl.FLOAT, poses);
  }

  resize() {
    const most = this.quality > FAST ? 2 : this.quality === FAST ? 1 : 0.6;
    const ratio = Math.min(window.devicePixelRatio || 1, most);
    const width = Math.max(1, Math.round(this.canvas.clientWidth * ratio));
    const height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    const isSmooth = this.quality === SMOOTH;
    if (isSmooth && (this.smoothSize !== `${width}x${height}` || !this.smooth)) this.makeSmooth(width, height);
    this.ratio = ratio;
  }

  /** A picture with four samples per pixel, and one with their means: browsers differ in what they let be copied to the screen. */
  makeSmooth(width, height) {
    const { gl } = this;
    if (this.smooth) {
      [this.smooth.frame, this.smooth.mean].forEach((frame) => gl.deleteFramebuffer(frame));
      this.smooth.buffers.forEach((buffer) => gl.deleteRenderbuffer(buffer));
    }
    const buffers = [];
    const attach = (samples, format, place) => {
      const buffer = gl.createRenderbuffer();
      gl.bindRenderbuffer(gl.RENDERBUFFER, buffer);
      gl.renderbufferStorageMultisample(gl.RENDERBUFFER, samples, format, width, height);
      gl.framebufferRenderbuffer(gl.FRAMEBUFFER, place, gl.RENDERBUFFER, buffer);
      buffers.push(buffer);
    };
    const frame = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    const samples = Math.min(4, gl.getParameter(gl.MAX_SAMPLES));
    attach(samples, gl.RGBA8, gl.COLOR_ATTACHMENT0);
    attach(samples, gl.DEPTH24_STENCIL8, gl.DEPTH_STENCIL_ATTACHMENT);
    const mean = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, mean);
    attach(0, gl.RGBA8, gl.COLOR_ATTACHMENT0);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    this.smooth = { frame, mean, buffers };
    this.smoothSize = `${width}x${height}`;
  }

  /** Start a frame: camera {matrix, eye, pixel}, theme, floor {height, centre, extent, cell}, up (9 numbers, row by row). */
  begin(camera, theme, floor, up) {
    const { gl } = this;
    this.resize();
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.quality === SMOOTH ? this.smooth.frame : null);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(...theme.background, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    gl.disable(gl.BLEND);
    gl.disable(gl.STENCIL_TEST);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.poses);
    for (const program of Object.values(this.programs)) {
      gl.useProgram(program.handle);
      const { at } = program;
      gl.uniformMatrix4fv(at.uCamera, false, camera.matrix);
      gl.uniform3fv(at.uEye ?? null, camera.eye);
      gl.uniform3fv(at.uLight ?? null, LIGHT);
      gl.uniform3fv(at.uSky ?? null, theme.sky);
      gl.uniform3fv(at.uGround ?? null, theme.ground);
      gl.uniformMatrix3fv(at.uUp ?? null, true, up);
      gl.uniform1f(at.uFloor ?? null, floor.height);
      gl.uniform1f(at.uPixel ?? null, camera.pixel / this.canvas.height);
      gl.uniform2f(at.uSize ?? null, this.canvas.width, this.canvas.height);
      gl.uniform1f(at.uRatio ?? null, this.ratio);
      gl.uniform1i(at.uPoses ?? null, 0);
    }
    Object.assign(this, { floor, theme });
  }

  /** Draw batches with the poses from `base` on.  shadow: onto the floor; opacity below 1: see-through. */
  draw(batches, base, { opacity = 1, shadow = false } = {}) {
    const { gl } = this;
    for (const { batch, count } of batches) {
      const { handle, at } = this.programs[batch.kind];
      gl.useProgram(handle);
      gl.uniform1i(at.uBase, base);
      gl.uniform1f(at.uOpacity, shadow ? this.theme.shadow : opacity);
      gl.uniform1f(at.uShadow ?? null, shadow ? 1 : 0);
      gl.uniform1f(at.uWire ?? null, batch.solid.wire ?? 0);
      gl.uniform1f(at.uRigid ?? null, batch.solid.rigid ? 1 : 0);
      if (batch.kind === "line") gl.uniform1f(at.uOpacity, opacity);
      batch.draw(count);
    }
  }

  blended(draw) {
    const { gl } = this;
    gl.enable(gl.BLEND);
    draw();
    gl.disable(gl.BLEND);
  }

  drawFloor() {
    const { gl, floor } = this;
    const { handle, at } = this.programs.floor;
    gl.useProgram(handle);
    gl.uniform3f(at.uCentre, floor.centre[0], floor.centre[1], floor.height);
    gl.uniform1f(at.uExtent, floor.extent);
    gl.uniform1f(at.uCell, floor.cell);
    gl.uniform3fv(at.uInk, this.theme.grid);
    gl.depthMask(false);
    this.blended(() => {
      gl.bindVertexArray(this.floorVertices);
      gl.drawElements(gl.TRIANGLES, 6, gl.UNSIGNED_SHORT, 0);
    });
    gl.depthMask(true);
  }

  /** Shadows on the floor: every pixel darkened once. */
  drawShadows(draw) {
    const { gl } = this;
    gl.enable(gl.STENCIL_TEST);
    gl.stencilFunc(gl.EQUAL, 0, 255);
    gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
    gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.polygonOffset(-2, -2);
    gl.depthMask(false);
    this.blended(draw);
    gl.depthMask(true);
    gl.disable(gl.POLYGON_OFFSET_FILL);
    gl.disable(gl.STENCIL_TEST);
  }

  /** Drawn a thousandth of the distance further away per layer: runs that almost coincide would be striped. */
  behind(layers, draw) {
    const { gl } = this;
    if (layers) gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.polygonOffset(layers, 400 * layers);
    draw();
    gl.disable(gl.POLYGON_OFFSET_FILL);
  }

  /** What is drawn from now on is seen through everything before. */
  forgetDepth() {
    this.gl.clear(this.gl.DEPTH_BUFFER_BIT);
  }

  /** What is drawn here is seen through everything. */
  onTop(draw) {
    const { gl } = this;
    gl.disable(gl.DEPTH_TEST);
    draw();
    gl.enable(gl.DEPTH_TEST);
  }

  end() {
    if (this.quality !== SMOOTH) return;
    const { gl } = this;
    const { width, height } = this.canvas;
    for (const [from, to] of [[this.smooth.frame, this.smooth.mean], [this.smooth.mean, null]]) {
      gl.bindFramebuffer(gl.READ_FRAMEBUFFER, from);
      gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, to);
      gl.blitFramebuffer(0, 0, width, height, 0, 0, width, height, gl.COLOR_BUFFER_BIT, gl.NEAREST);
    }
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }
}

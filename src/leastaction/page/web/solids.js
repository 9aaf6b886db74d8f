// Unit solids: positions and normals of their vertices, triangles.  All fill the cube from -1 to 1, but for those made for rods,
// which go from z = 0 to z = 1.

class Builder {
  constructor() {
    this.positions = [];
    this.normals = [];
    this.faces = [];
  }

  vertex(position, normal) {
    this.positions.push(...position);
    this.normals.push(...normal);
    return this.positions.length / 3 - 1;
  }

  quad(a, b, c, d) {
    this.faces.push(a, b, c, a, c, d);
  }

  /** A surface over a grid of (columns + 1) x (rows + 1) vertices. */
  grid(columns, rows, at) {
    const first = this.positions.length / 3;
    for (let j = 0; j <= rows; j++) for (let i = 0; i <= columns; i++) this.vertex(...at(i / columns, j / rows));
    const index = (i, j) => first + j * (columns + 1) + i;
    for (let j = 0; j < rows; j++)
      for (let i = 0; i < columns; i++) this.quad(index(i, j), index(i + 1, j), index(i + 1, j + 1), index(i, j + 1));
  }

  disc(sides, z, up) {
    const centre = this.vertex([0, 0, z], [0, 0, up]);
    const rim = Array.from({ length: sides + 1 }, (_, i) => {
      const angle = (2 * Math.PI * i) / sides;
      return this.vertex([Math.cos(angle), Math.sin(angle), z], [0, 0, up]);
    });
    for (let i = 0; i < sides; i++) this.faces.push(centre, ...(up > 0 ? [rim[i], rim[i + 1]] : [rim[i + 1], rim[i]]));
  }

  finish() {
    return { positions: new Float32Array(this.positions), normals: new Float32Array(this.normals), faces: new Uint16Array(this.faces) };
  }
}

const around = (u) => [Math.cos(2 * Math.PI * u), Math.sin(2 * Math.PI * u)];

function makeSphere(sides) {
  const solid = new Builder();
  solid.grid(sides, Math.max(4, sides >> 1), (u, v) => {
    const [c, s] = around(u);
    const ring = Math.sin(Math.PI * v);
    const p = [c * ring, s * ring, -Math.cos(Math.PI * v)];
    return [p, p];
  });
  return solid.finish();
}

function makeCylinder(sides, low = -1) {
  const solid = new Builder();
  solid.grid(sides, 1, (u, v) => {
    const [c, s] = around(u);
    return [[c, s, low + v * (1 - low)], [c, s, 0]];
  });
  solid.disc(sides, low, -1);
  solid.disc(sides, 1, 1);
  return solid.finish();
}

function makeCone(sides) {
  const solid = new Builder();
  solid.grid(sides, 1, (u, v) => {
    const [c, s] = around(u);
    return [[c * (1 - v), s * (1 - v), 2 * v - 1], unit([2 * c, 2 * s, 1])];
  });
  solid.disc(sides, -1, -1);
  return solid.finish();
}

function makeBox() {
  const solid = new Builder();
  for (let axis = 0; axis < 3; axis++)
    for (const side of [-1, 1]) {
      const normal = [0, 0, 0];
      normal[axis] = side;
      const corner = (a, b) => {
        const p = [0, 0, 0];
        p[axis] = side;
        p[(axis + 1) % 3] = a * side;
        p[(axis + 2) % 3] = b;
        return solid.vertex(p, normal);
      };
      solid.quad(corner(-1, -1), corner(1, -1), corner(1, 1), corner(-1, 1));
    }
  return solid.finish();
}

function makeDiamond() {
  const solid = new Builder();
  for (const x of [-1, 1])
    for (const y of [-1, 1])
      for (const z of [-1, 1]) {
        const normal = unit([x, y, z]);
        const corners = [[x, 0, 0], [0, y, 0], [0, 0, z]].map((p) => solid.vertex(p, normal));
        solid.faces.push(...(x * y * z > 0 ? corners : corners.reverse()));
      }
  return solid.finish();
}

/** The thread of a screw: a ridge around a cylinder. */
function makeScrew(turns = 9, perTurn = 16) {
  const solid = new Builder();
  const pitch = 2 / turns;
  solid.grid(turns * perTurn, 2, (u, v) => {
    const [c, s] = around(u * turns);
    const radius = v === 0.5 ? 1 : 0.6;
    return [[radius * c, radius * s, clamp(-1 + 2 * u + (v - 0.5) * pitch, -1, 1)], unit([c, s, (v - 0.5) * 1.6])];
  });
  return solid.finish();
}

/** The wire of a spring: vertices on its middle line, which the shader moves outwards along the normals. */
function makeCoil(turns = 9, perTurn = 14, sides = 5) {
  const solid = new Builder();
  const wound = 0.84; // the rest are straight ends
  solid.grid(turns * perTurn, sides, (u, v) => {
    const [c, s] = around(u * turns);
    const opening = clamp(12 * Math.min(u, 1 - u), 0, 1);
    const [out, along] = around(v);
    return [[c * opening, s * opening, (1 - wound) / 2 + wound * u], [c * out, s * out, along]];
  });
  for (const z of [0, (1 + wound) / 2])
    solid.grid(sides, 1, (u, v) => {
      const [c, s] = around(u);
      return [[0, 0, z + (v * (1 - wound)) / 2], [c, s, 0]];
    });
  return solid.finish();
}

// Vectors are arrays of three numbers, quaternions of four (w, x, y, z), matrices of sixteen, column by column as WebGL wants them.

const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const subtract = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const scale = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const length = (a) => Math.hypot(a[0], a[1], a[2]);
const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

function unit(a) {
  const size = length(a);
  return size > 0 ? scale(a, 1 / size) : [0, 0, 1];
}

/** The vector v turned by the quaternion q. */
function turn(q, v) {
  const [w, x, y, z] = q;
  const t = scale(cross([x, y, z], v), 2);
  return add(add(v, scale(t, w)), cross([x, y, z], t));
}

/** The quaternion that turns the z axis into a direction. */
function fromZ(direction) {
  const [x, y, z] = unit(direction);
  if (z < -0.999999) return [0, 1, 0, 0];
  const w = Math.sqrt((1 + z) / 2);
  return [w, -y / (2 * w), x / (2 * w), 0];
}

/** A 3x3 matrix, row by row, times a vector. */
const apply3 = (m, v) => [0, 3, 6].map((r) => m[r] * v[0] + m[r + 1] * v[1] + m[r + 2] * v[2]);

function multiply(a, b) {
  const out = new Float32Array(16);
  for (let c = 0; c < 4; c++)
    for (let r = 0; r < 4; r++) {
      let sum = 0;
      for (let k = 0; k < 4; k++) sum += a[4 * k + r] * b[4 * c + k];
      out[4 * c + r] = sum;
    }
  return out;
}

function perspective(fieldOfView, aspect, near, far) {
  const f = 1 / Math.tan(fieldOfView / 2);
  // prettier-ignore
  return new Float32Array([
    f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, (2 * far * near) / (near - far), 0,
  ]);
}

function lookAt(eye, target, up) {
  const back = unit(subtract(eye, target));
  const right = unit(cross(up, back));
  const above = cross(back, right);
  // prettier-ignore
  return new Float32Array([
    right[0], above[0], back[0], 0, right[1], above[1], back[1], 0, right[2], above[2], back[2], 0,
    -dot(right, eye), -dot(above, eye), -dot(back, eye), 1,
  ]);
}

/** The index i of the last entry of the sorted array that is not above x; at least 0, at most length - 2. */
function interval(sorted, x) {
  let low = 0;
  let high = sorted.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= x) low = middle;
    else high = middle;
  }
  return low;
}

/** "#1f77b4" as red, green, blue from 0 to 1. */
const colour = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);
const mix = (a, b, s) => a.map((x, i) => x + (b[i] - x) * s);

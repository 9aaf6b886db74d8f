// Poses come as a texture, two texels for each body: quaternion (x, y, z, w) and position.  So a frame only sends poses.

const POSES = `#version 300 es
precision highp float;
uniform sampler2D uPoses;
uniform int uBase;        // the first pose of this run or ghost, counted in bodies
uniform mat3 uUp;         // makes gravity point downwards
uniform mat4 uCamera;
uniform vec3 uEye, uLight;
uniform float uFloor, uPixel, uShadow;
vec4 texel(int i) { return texelFetch(uPoses, ivec2(i & 1023, i >> 10), 0); }
vec3 turn(vec4 q, vec3 v) { return v + 2.0 * cross(q.xyz, cross(q.xyz, v) + q.w * v); }
vec3 toWorld(float row, vec3 p) {
  int i = 2 * (uBase + int(row));
  return uUp * (turn(texel(i), p) + texel(i + 1).xyz);
}
vec3 turnToWorld(float row, vec3 n) { return uUp * turn(texel(2 * (uBase + int(row))), n); }
vec3 onFloor(vec3 p) {       // onto the floor, along the light
  return uShadow > 0.5 ? vec3((p - uLight * max(p.z - uFloor, 0.0) / uLight.z).xy, uFloor) : p;
}
`;

const SOLID = `${POSES}
uniform float uRigid;     // are the normals those of the unit solid, to be stretched with it?
layout(location = 0) in vec3 aPosition;
layout(location = 1) in vec3 aNormal;
layout(location = 2) in vec2 iRow;      // body; is it checkered?
layout(location = 3) in vec3 iPosition;
layout(location = 4) in vec4 iTurn;
layout(location = 5) in vec3 iScale;
layout(location = 6) in vec4 iColour;
out vec3 vNormal, vPlace, vLocal;
out vec4 vColour;
void main() {
  vec3 world = toWorld(iRow.x, iPosition + turn(iTurn, aPosition * iScale));
  vNormal = turnToWorld(iRow.x, turn(iTurn, uRigid > 0.5 ? aNormal / iScale : aNormal));
  vLocal = aPosition * iRow.y;
  vColour = iColour;
  vPlace = onFloor(world);
  gl_Position = uCamera * vec4(vPlace, 1.0);
}`;

const ROD = `${POSES}
uniform float uWire;      // thickness of the wire of a spring in its radius; 0: a rod
layout(location = 0) in vec3 aPosition;
layout(location = 1) in vec3 aNormal;
layout(location = 2) in vec4 iStart;    // body, point on it
layout(location = 3) in vec4 iEnd;
layout(location = 4) in float iRadius;
layout(location = 6) in vec4 iColour;
out vec3 vNormal, vPlace, vLocal;
out vec4 vColour;
void main() {
  vec3 a = toWorld(iStart.x, iStart.yzw), b = toWorld(iEnd.x, iEnd.yzw);
  vec3 along = b - a;
  float size = length(along);
  vec3 z = size > 0.0 ? along / size : vec3(0.0, 0.0, 1.0);
  vec3 x = normalize(cross(abs(z.y) < 0.9 ? vec3(0.0, 1.0, 0.0) : vec3(1.0, 0.0, 0.0), z));
  vec3 y = cross(z, x);
  vec3 middle = a + along * aPosition.z;
  float radius = max(iRadius, 1.1 * uPixel * distance(uEye, middle));    // never thinner than two pixels
  vNormal = x * aNormal.x + y * aNormal.y + z * aNormal.z;
  vec3 world = middle + (x * aPosition.x + y * aPosition.y + uWire * vNormal) * radius;
  vLocal = vec3(0.0);
  vColour = iColour;
  vPlace = onFloor(world);
  gl_Position = uCamera * vec4(vPlace, 1.0);
}`;

const LIT = `#version 300 es
precision highp float;
in vec3 vNormal, vPlace, vLocal;
in vec4 vColour;
uniform vec3 uEye, uLight, uSky, uGround;
uniform float uShadow, uOpacity;
out vec4 colour;
void main() {
  if (uShadow > 0.5) { colour = vec4(0.0, 0.0, 0.0, uOpacity); return; }
  vec3 n = normalize(vNormal), toEye = normalize(uEye - vPlace);
  if (dot(n, toEye) < 0.0) n = -n;
  vec3 own = vColour.rgb;
  if (dot(vLocal, vLocal) > 0.0) own = vLocal.x * vLocal.y * vLocal.z > 0.0 ? mix(own, vec3(1.0), 0.72) : own * 0.62;
  float facing = max(dot(n, uLight), 0.0);
  float glint = max(dot(n, normalize(uLight + toEye)), 0.0);
  for (int k = 0; k < 5; k++) glint *= glint;
  float away = 1.0 - max(dot(n, toEye), 0.0), rim = away * away * away;
  vec3 lit = own * (mix(uGround, uSky, 0.5 + 0.5 * n.z) + 0.54 * facing) + 0.22 * glint + 0.10 * rim * uSky;
  colour = vec4(lit, vColour.a * uOpacity);
}`;

const LINE = `${POSES}
uniform vec2 uSize;       // of the canvas, pixels
uniform float uRatio;     // of its pixels to those of the page
layout(location = 0) in vec3 aPosition;    // x: which end, y: which side
layout(location = 2) in vec4 iStart;
layout(location = 3) in vec4 iEnd;
layout(location = 4) in float iRadius;     // pixels of the page
layout(location = 6) in vec4 iColour;
out vec4 vColour;
void main() {
  vec4 a = uCamera * vec4(toWorld(iStart.x, iStart.yzw), 1.0), b = uCamera * vec4(toWorld(iEnd.x, iEnd.yzw), 1.0);
  vec2 along = (b.xy / b.w - a.xy / a.w) * uSize;
  float size = length(along);
  vec2 forward = size > 1e-6 ? along / size : vec2(1.0, 0.0);
  vec2 shift = forward.yx * vec2(-1.0, 1.0) * aPosition.y;
  gl_Position = aPosition.x < 0.5 ? a : b;
  gl_Position.xy += shift * iRadius * uRatio * 2.0 / uSize * gl_Position.w;
  vColour = iColour;
}`;

const PLAIN = `#version 300 es
precision highp float;
in vec4 vColour;
uniform float uOpacity;
out vec4 colour;
void main() { colour = vec4(vColour.rgb, vColour.a * uOpacity); }`;

const FLOOR = `#version 300 es
precision highp float;
layout(location = 0) in vec3 aPosition;
uniform mat4 uCamera;
uniform vec3 uCentre;
uniform float uExtent;
out vec2 vPlace;
void main() {
  vPlace = aPosition.xy * uExtent;
  gl_Position = uCamera * vec4(uCentre.xy + vPlace, uCentre.z, 1.0);
  vPlace += uCentre.xy;
}`;

const GRID = `#version 300 es
precision highp float;
in vec2 vPlace;
uniform vec3 uCentre, uInk;
uniform float uExtent, uCell;
out vec4 colour;
float lines(vec2 p, float width) {
  vec2 change = fwidth(p);
  vec2 apart = abs(fract(p - 0.5) - 0.5) / max(change, 1e-6);
  return (1.0 - min(min(apart.x, apart.y) / width, 1.0)) * (1.0 - smoothstep(0.25, 0.7, max(change.x, change.y)));
}
void main() {
  float fade = 1.0 - smoothstep(0.1, 0.75, distance(vPlace, uCentre.xy) / uExtent);
  float ink = max(0.16 * lines(vPlace / uCell, 1.0), 0.30 * lines(vPlace / (5.0 * uCell), 1.2));
  colour = vec4(uInk, ink * fade);
  if (colour.a < 0.004) discard;
}`;

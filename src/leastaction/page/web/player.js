// The clock: play, scrub, speed, loop, step by step.

class Player {
  constructor(runs, changed) {
    Object.assign(this, { changed, playing: false, speed: 1, loop: true });
    this.start = Math.min(...runs.map((run) => run.nodes[0]));
    this.end = Math.max(...runs.map((run) => run.nodes[run.nodes.length - 1]));
    this.nodes = runs[0].nodes;
    this.time = this.start;
  }

  seek(time) {
    this.time = clamp(time, this.start, this.end);
    this.changed();
  }

  play() {
    if (this.end <= this.start) return;
    if (this.time >= this.end) this.time = this.start;
    this.playing = true;
    this.changed();
  }

  pause() {
    this.playing = false;
    this.changed();
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  /** To the next recorded node, or the one before; many of them if asked. */
  step(count) {
    this.playing = false;
    const { nodes } = this;
    if (nodes.length < 2) return;
    const small = 1e-9 * (this.end - this.start);
    let k = this.time >= nodes[nodes.length - 1] ? nodes.length - 1 : interval(nodes, this.time + small);
    if (count < 0 && this.time > nodes[k] + small) k += 1; // from between two nodes back to the first of them
    this.seek(nodes[clamp(k + count, 0, nodes.length - 1)]);
  }

  /** The number of the node that was reached last. */
  node() {
    const { nodes } = this;
    return this.time >= nodes[nodes.length - 1] ? nodes.length - 1 : interval(nodes, this.time + 1e-12);
  }

  advance(seconds) {
    if (!this.playing) return;
    let time = this.time + seconds * this.speed;
    if (time >= this.end) {
      if (this.loop) time = this.start + ((time - this.start) % (this.end - this.start));
      else {
        time = this.end;
        this.playing = false;
      }
    }
    this.seek(time);
  }
}

/** Buttons, slider and keys of a player. */
class Transport {
  constructor(player) {
    this.player = player;
    const by = (id) => document.getElementById(id);
    this.elements = { play: by("play"), scrub: by("scrub"), clock: by("clock"), loop: by("loop"), speed: by("speed") };
    const { play, scrub, loop, speed } = this.elements;
    play.addEventListener("click", () => player.toggle());
    by("back").addEventListener("click", () => player.step(-1));
    by("forward").addEventListener("click", () => player.step(1));
    loop.addEventListener("click", () => {
      player.loop = !player.loop;
      this.show();
    });
    speed.addEventListener("change", () => (player.speed = Number(speed.value)));
    scrub.addEventListener("input", () => player.seek(player.start + scrub.value * (player.end - player.start)));
    document.addEventListener("keydown", (event) => this.key(event));
    const digits = clamp(Math.ceil(-Math.log10((player.end - player.start) / 1000 || 1)), 0, 6);
    this.inSeconds = (t) => t.toFixed(Math.max(digits, 2));
    this.show();
  }

  key(event) {
    if (["SELECT", "INPUT"].includes(event.target.tagName) && event.target.type !== "range" && event.target.type !== "checkbox") return;
    const { player } = this;
    const many = event.shiftKey ? 10 : 1;
    const actions = {
      " ": () => player.toggle(), ArrowLeft: () => player.step(-many), ArrowRight: () => player.step(many),
      Home: () => player.seek(player.start), End: () => player.seek(player.end),
    };
    if (!actions[event.key] || event.metaKey || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    actions[event.key]();
  }

  show() {
    const { player, elements } = this;
    elements.play.classList.toggle("on", player.playing);
    elements.play.setAttribute("aria-label", player.playing ? "pause" : "play");
    elements.loop.classList.toggle("on", player.loop);
    elements.loop.setAttribute("aria-pressed", String(player.loop));
    const part = (player.time - player.start) / (player.end - player.start || 1);
    elements.scrub.value = part;
    elements.scrub.style.setProperty("--part", `${100 * part}%`);
    elements.clock.textContent = `${this.inSeconds(player.time)} / ${this.inSeconds(player.end)} s`;
    elements.clock.title = `recorded node ${player.node()} of ${player.nodes.length - 1}`;
  }
}

/** Points in the plane, the same in several panels, over what Python makes of them: dragged, added and removed. */

const SVG = "http://www.w3.org/2000/svg";
const WIDE = 100; // a panel's own units across
const FINE = 0.01; // a step of an arrow key, in shares of the width
const COARSE = 0.05;
const REACH = 12; // pixels from a point at which it is taken hold of
const PATIENCE = 4000; // ms after which an answer is no longer waited for
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const planes = new WeakMap();

const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const within = (low, value, high) => Math.min(high, Math.max(low, value));

function made(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

/** One picture of the plane: a field, lines over it, and the points. Only the first one's points take the focus. */
class Panel {
  constructor(home, first) {
    this.first = first;
    this.figure = home.appendChild(document.createElement("figure"));
    this.figure.innerHTML =
      '<div class="ground"><canvas></canvas><svg><g></g><g></g></svg></div><figcaption><b></b><span></span></figcaption>';
    this.canvas = this.figure.querySelector("canvas");
    this.svg = this.figure.querySelector("svg");
    [this.lines, this.marks] = this.svg.querySelectorAll("g");
    if (!first) this.marks.setAttribute("aria-hidden", "true");
  }

  place([x, y]) {
    const [left, , right, top] = this.box;
    return [((x - left) / (right - left)) * WIDE, ((top - y) / (right - left)) * WIDE];
  }

  /** What Python drew: a field of bytes from the low colour over nothing to the high one, and lines. */
  fill({ title, words, field, lines }, { box, colours, keys }) {
    this.box = box;
    const [left, bottom, right, top] = box;
    const high = (WIDE * (top - bottom)) / (right - left);
    this.svg.setAttribute("viewBox", `0 0 ${WIDE} ${high}`);
    this.svg.setAttribute("role", this.first ? "application" : "img");
    this.svg.setAttribute("aria-label", `${title}. ${words} ${this.first ? keys : ""}`);
    if (this.first) this.svg.setAttribute("tabindex", 0);
    this.figure.querySelector("b").textContent = title;
    this.figure.querySelector("span").textContent = words;
    this.paint(field, colours, high / WIDE);
    this.lines.replaceChildren(...lines.map((line) => made("path", this.path(line))));
  }

  paint(field, colours, ratio) {
    const [columns, rows] = field ? field.size : [WIDE, Math.round(WIDE * ratio)];
    Object.assign(this.canvas, { width: columns, height: rows });
    this.canvas.style.aspectRatio = 1 / ratio;
    if (!field) return;
    const picture = new ImageData(columns, rows);
    const channels = colours.map((colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16)));
    bytesOf(field.bytes).forEach((value, i) => {
      const away = (value - 128) / 127;
      picture.data.set([...channels[away > 0 ? 1 : 0], 150 * Math.abs(away)], 4 * i);
    });
    this.canvas.getContext("2d").putImageData(picture, 0, 0);
  }

  path({ pieces, colour, width }) {
    const ends = new Float32Array(bytesOf(pieces).buffer);
    let d = "";
    for (let i = 0; i < ends.length; i += 2) {
      const [x, y] = this.place([ends[i], ends[i + 1]]);
      d += `${i % 4 ? "L" : "M"}${x.toFixed(2)} ${y.toFixed(2)}`;
    }
    return { d, stroke: colour, "stroke-width": width };
  }

  mark(points, chosen, groups) {
    while (this.marks.childElementCount > points.length) this.marks.lastChild.remove();
    while (this.marks.childElementCount < points.length) this.marks.append(made("circle", {}));
    points.forEach(([x, y, group], i) => {
      const mark = this.marks.children[i];
      const { name, colour, size } = groups[group];
      const [cx, cy] = this.place([x, y]);
      const shown = { cx, cy, r: size, fill: colour, class: i === chosen ? "chosen" : "" };
      const words = `Point ${i + 1} of ${points.length}, ${name}, at ${x.toFixed(2)}, ${y.toFixed(2)}`;
      const reached = { role: "button", tabindex: i === chosen ? 0 : -1, "aria-label": words };
      for (const [key, value] of Object.entries(this.first ? { ...shown, ...reached } : shown)) {
        mark.setAttribute(key, value);
      }
    });
  }

  /** A pointer's place in the plane, and how many units a pixel is. */
  at(event) {
    const frame = this.svg.getBoundingClientRect();
    const [left, , right, top] = this.box;
    const unit = (right - left) / frame.width;
    return [left + (event.clientX - frame.left) * unit, top - (event.clientY - frame.top) * unit, unit];
  }
}

class Plane {
  constructor(root) {
    this.root = root;
    this.find = (selector) => root.querySelector(selector);
    this.panels = [];
    this.group = 0;
    this.stamp = 0;
    root.addEventListener("keydown", (event) => this.key(event));
  }

  /** Python's word. The points are the browser's until another version of them comes. */
  receive(data, send) {
    Object.assign(this, { data, send });
    if (data.version !== this.version) {
      Object.assign(this, { version: data.version, points: data.points, chosen: Math.max(0, data.chosen) });
      this.waiting = 0;
      this.later = false;
    }
    if (data.taken === this.stamp) this.waiting = 0;
    if (this.panels.length !== data.panels.length) {
      this.find(".panels").replaceChildren();
      this.panels = data.panels.map((_, i) => this.listened(new Panel(this.find(".panels"), i === 0)));
    }
    this.find(".panels").style.setProperty("--across", data.across);
    this.find(".keys").textContent = data.keys;
    this.root.classList.toggle("adding", data.adds.length > 0);
    this.panels.forEach((panel, i) => panel.fill(data.panels[i], data));
    this.offerTools();
    this.mark();
    this.root.dataset.taken = data.taken;
    if (this.later) this.sendPoints();
  }

  listened(panel) {
    panel.svg.addEventListener("pointerdown", (event) => this.press(event, panel));
    panel.svg.addEventListener("pointermove", (event) => this.drag(event, panel));
    for (const type of ["pointerup", "pointercancel"]) {
      panel.svg.addEventListener(type, () => {
        this.grip = null;
      });
    }
    return panel;
  }

  offerTools() {
    const { adds, groups } = this.data;
    if (!adds.includes(this.group)) this.group = adds[0] ?? 0;
    const shown = JSON.stringify([adds, groups, this.group]);
    if (shown === this.offered) return;
    this.offered = shown;
    const kinds = adds.map((group) => {
      const button = Object.assign(document.createElement("button"), { type: "button" });
      const dot = document.createElement("i");
      dot.style.background = groups[group].colour;
      button.append(dot, `Add: ${groups[group].name}`);
      button.setAttribute("aria-pressed", String(group === this.group));
      button.addEventListener("click", () => {
        this.group = group;
        this.offerTools();
      });
      return button;
    });
    const remove = Object.assign(document.createElement("button"), { type: "button", textContent: "Remove point" });
    remove.addEventListener("click", () => this.remove());
    this.find(".buttons").replaceChildren(...(kinds.length > 1 ? kinds : []), ...(kinds.length ? [remove] : []));
  }

  mark() {
    for (const panel of this.panels) panel.mark(this.points, this.chosen, this.data.groups);
  }

  press(event, panel) {
    if (event.button !== 0) return;
    event.preventDefault();
    panel.svg.setPointerCapture(event.pointerId);
    const [x, y, unit] = panel.at(event);
    const apart = this.points.map((point) => Math.hypot(point[0] - x, point[1] - y));
    const nearest = apart.indexOf(Math.min(...apart));
    if (apart[nearest] <= REACH * unit) {
      const [px, py] = this.points[nearest];
      this.grip = [px - x, py - y];
      this.choose(nearest);
    } else if (this.data.adds.length) {
      this.grip = [0, 0];
      this.add([x, y]);
    }
  }

  drag(event, panel) {
    if (!this.grip) return;
    const [x, y] = panel.at(event);
    this.move([x + this.grip[0], y + this.grip[1]]);
  }

  /** The chosen point to a place in the box; one that leads takes all others along. */
  move([x, y]) {
    const [left, bottom, right, top] = this.data.box;
    const [px, py, group] = this.points[this.chosen];
    const all = this.data.groups[group].leads;
    const led = all ? this.points : [this.points[this.chosen]];
    const [across, up] = [0, 1].map((axis) => led.map((point) => point[axis]));
    const byX = within(Math.min(0, left - Math.min(...across)), x - px, Math.max(0, right - Math.max(...across)));
    const byY = within(Math.min(0, bottom - Math.min(...up)), y - py, Math.max(0, top - Math.max(...up)));
    const moved = ([u, v, own]) => [u + byX, v + byY, own];
    this.points = this.points.map((point, i) => (all || i === this.chosen ? moved(point) : point));
    this.mark();
    this.sendPoints();
  }

  add([x, y]) {
    const [left, bottom, right, top] = this.data.box;
    this.points = [...this.points, [within(left, x, right), within(bottom, y, top), this.group]];
    this.choose(this.points.length - 1);
    this.sendPoints();
  }

  remove() {
    const point = this.points[this.chosen];
    if (!point || !this.data.adds.includes(point[2])) return;
    this.points = this.points.filter((_, i) => i !== this.chosen);
    this.choose(Math.max(0, Math.min(this.chosen, this.points.length - 1)));
    this.sendPoints();
  }

  choose(i) {
    this.chosen = i;
    this.mark();
    const mark = this.panels[0].marks.children[i];
    (mark ?? this.panels[0].svg).focus({ preventScroll: true });
    this.find(".said").textContent = mark?.getAttribute("aria-label") ?? "No point";
  }

  key(event) {
    if (!event.target.closest("svg") || event.ctrlKey || event.metaKey || event.altKey) return;
    const [left, bottom, right, top] = this.data.box;
    const point = this.points[this.chosen];
    const step = (event.shiftKey ? COARSE : FINE) * (right - left);
    const last = this.points.length - 1;
    const next = { PageDown: Math.min(last, this.chosen + 1), PageUp: Math.max(0, this.chosen - 1), Home: 0, End: last };
    if (point && event.key in ARROWS) {
      const [across, up] = ARROWS[event.key];
      this.move([point[0] + across * step, point[1] + up * step]);
    } else if (point && event.key in next) this.choose(next[event.key]);
    else if (event.key === "Enter" && this.data.adds.length) {
      this.add(point ? [point[0] + 0.04 * (right - left), point[1]] : [(left + right) / 2, (bottom + top) / 2]);
    } else if (event.key === "Delete" || event.key === "Backspace") this.remove();
    else return;
    event.preventDefault();
  }

  /** The points to Python; while it works on the last ones, only the newest wait. */
  sendPoints() {
    this.later = performance.now() - this.waiting < PATIENCE && this.waiting > 0;
    if (this.later) return;
    this.waiting = performance.now();
    this.stamp = Date.now() + Math.random();
    this.send("points", { stamp: this.stamp, version: this.version, points: this.points, chosen: this.chosen });
  }
}

export default function mount({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".plane"); // the parent may be given a new one
  if (!planes.has(root)) planes.set(root, new Plane(root));
  planes.get(root).receive(data, setStateValue);
}

/** Outlines on a part: drawn and changed by mouse, touch or keys; Python hears of a change when the hand lets go. */

const SVG = "http://www.w3.org/2000/svg";
const STEP = 0.01;
const COARSE_STEP = 0.05;
const RADIUS = 0.011; // of a corner, in shares of the width
const TAP = 5; // pixels that a finger moves in a tap
const DRAWING =
  "Drag a box, or click corners and close on the first one. Keys: arrows move, space places a corner, Enter finishes, Esc cancels.";
const CHANGING = "Drag an outline or a corner. Keys: Tab selects, arrows move, Delete removes.";
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

const drawings = new WeakMap();

const within = (value) => Math.min(1, Math.max(0, value));

/** How far an arrow key moves, in shares of the picture; null for another key. */
function keyMove(event) {
  const arrow = ARROWS[event.key];
  const step = event.shiftKey ? COARSE_STEP : STEP;
  return arrow ? arrow.map((way) => way * step) : null;
}

/** An outline moved as far as the picture allows. */
function moved(outline, [dx, dy]) {
  const limit = (way, shares) => Math.min(1 - Math.max(...shares), Math.max(-Math.min(...shares), way));
  const x = limit(dx, outline.map((point) => point[0]));
  const y = limit(dy, outline.map((point) => point[1]));
  return outline.map((point) => [point[0] + x, point[1] + y]);
}

/** The corners of a box between two places. */
function corners([[left, top], [right, bottom]]) {
  return [
    [left, top],
    [right, top],
    [right, bottom],
    [left, bottom],
  ];
}

class Drawing {
  constructor(root) {
    const find = (selector) => root.querySelector(selector);
    this.root = find(".outlines");
    this.tools = find(".tools");
    this.modes = {};
    this.svg = find("svg");
    this.image = find("img");
    this.hint = find(".hint");
    this.list = find(".list");
    this.offering = find(".offer");
    find(".offer button").addEventListener("click", () => this.takeOffer());
    this.areas = [];
    this.said = new Set(); // drawings that Python may still answer to, of which `latest` is the last
    this.mode = null;
    this.svg.addEventListener("pointerdown", (event) => this.press(event));
    this.svg.addEventListener("pointermove", (event) => this.drag(event));
    for (const type of ["pointerup", "pointercancel"]) this.svg.addEventListener(type, (event) => this.release(event));
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.begin(null);
  }

  /** Python's word where it changed by other than this drawing; else the drawing counts, also where Python refuses it. */
  receive(data, send) {
    this.send = send;
    if (this.image.src !== data.photo) this.image.src = data.photo;
    this.image.alt = `The part on ${data.name}`;
    this.showTools(data.modes);
    this.size = data.size;
    const told = JSON.stringify(data.areas);
    if (told === this.latest) this.said = new Set([told]);
    else if (told !== this.told && !this.said.has(told)) {
      this.areas = data.areas;
      this.latest = null;
      this.said.clear();
    }
    this.told = told;
    this.offer = data.offer;
    this.offering.querySelector("span").textContent = this.offer?.words ?? "";
    this.offering.querySelector("button").textContent = this.offer?.button ?? "";
    this.draw();
  }

  /** A button for each mode, in words. */
  showTools(modes) {
    if (JSON.stringify(modes) === JSON.stringify(this.modes)) return;
    this.modes = modes;
    const buttons = Object.entries(modes).map(([mode, words]) => {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: words });
      button.dataset.mode = mode;
      button.setAttribute("aria-pressed", "false");
      button.addEventListener("click", () => this.begin(this.mode === mode ? null : mode));
      return button;
    });
    this.tools.replaceChildren(...buttons);
  }

  /** The proposed outlines, or one of them, become drawn ones, which can then be changed like any other. */
  takeOffer(taken = this.offer.outlines) {
    const drawn = taken.map((outline) => ({ mode: this.offer.mode, outline, strictness: 1 }));
    this.areas = [...this.areas, ...drawn];
    const left = this.offer.outlines.filter((outline) => !taken.includes(outline));
    this.offer = left.length ? { ...this.offer, outlines: left } : null;
    this.sendAreas();
    this.draw();
  }

  /** Draw an area of this mode next; null: change those there are. */
  begin(mode) {
    this.mode = mode;
    this.draft = mode ? [] : null;
    this.cursor = null;
    this.root.classList.toggle("drawing", mode !== null);
    for (const button of this.tools.children) {
      button.setAttribute("aria-pressed", String(button.dataset.mode === mode));
    }
    this.hint.textContent = mode ? DRAWING : CHANGING;
    if (mode) this.svg.focus();
    this.draw();
  }

  at(event) {
    const box = this.svg.getBoundingClientRect();
    return [within((event.clientX - box.left) / box.width), within((event.clientY - box.top) / box.height)];
  }

  /** Whether two places are a finger's width from each other. */
  near([x, y], [u, v], reach = 2 * TAP) {
    const box = this.svg.getBoundingClientRect();
    return Math.hypot((x - u) * box.width, (y - v) * box.height) <= reach;
  }

  press(event) {
    if (event.button !== 0) return;
    event.preventDefault();
    const { area, corner, proposed } = event.target.dataset;
    if (proposed !== undefined) return this.takeOffer([this.offer.outlines[proposed]]);
    this.svg.setPointerCapture(event.pointerId);
    this.grip = { from: this.at(event), area, corner };
    if (area !== undefined) {
      this.grip.outline = this.areas[area].outline;
      event.target.focus();
    }
  }

  drag(event) {
    if (!this.grip) return;
    const { from, area, corner, outline } = this.grip;
    const here = this.at(event);
    if (this.mode) {
      this.box = this.draft.length === 0 && !this.near(from, here, TAP) ? [from, here] : null;
    } else if (area !== undefined) {
      const by = [here[0] - from[0], here[1] - from[1]];
      const changed = corner === undefined ? moved(outline, by) : outline.with(corner, here);
      this.areas[area] = { ...this.areas[area], outline: changed };
    }
    this.draw();
  }

  release(event) {
    const { grip, box } = this;
    this.grip = this.box = null;
    if (!grip) return;
    if (this.mode && box) {
      this.finish(corners(box));
    } else if (this.mode) {
      this.corner(this.at(event));
    } else if (grip.area !== undefined && this.areas[grip.area].outline !== grip.outline) {
      this.sendAreas();
    }
    this.draw();
  }

  /** One corner more; the first one again ends the outline. */
  corner(point) {
    if (this.draft.length >= 3 && this.near(point, this.draft[0])) this.finish(this.draft);
    else this.draft.push(point);
  }

  finish(outline) {
    if (outline.length < 3) return;
    this.areas = [...this.areas, { mode: this.mode, outline, strictness: this.mode === "stricter" ? 2 : 1 }];
    this.begin(null);
    this.sendAreas();
  }

  remove(area) {
    this.areas = this.areas.filter((_, i) => i !== area);
    this.sendAreas();
    this.draw();
    this.svg.focus();
  }

  key(event) {
    const { area, corner, proposed } = event.target.dataset;
    const by = keyMove(event);
    if (proposed !== undefined && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      this.takeOffer([this.offer.outlines[proposed]]);
    } else if (this.mode) this.drawByKey(event, by);
    else if (area !== undefined) this.changeByKey(event, Number(area), corner, by);
  }

  drawByKey(event, by) {
    const last = this.draft.at(-1);
    if (by) {
      const [x, y] = this.cursor ?? last ?? [0.5, 0.5];
      this.cursor = [within(x + by[0]), within(y + by[1])];
    } else if (event.key === " ") this.corner(this.cursor ?? [0.5, 0.5]);
    else if (event.key === "Enter") this.finish(this.draft);
    else if (event.key === "Backspace") this.draft.pop();
    else if (event.key === "Escape") this.begin(null);
    else return;
    event.preventDefault();
    this.draw();
  }

  changeByKey(event, area, corner, by) {
    const { outline } = this.areas[area];
    if (by) {
      const point = outline[corner];
      const changed = point
        ? outline.with(corner, [within(point[0] + by[0]), within(point[1] + by[1])])
        : moved(outline, by);
      this.areas[area] = { ...this.areas[area], outline: changed };
      this.sendAreas();
    } else if (event.key === "Delete" || event.key === "Backspace") {
      if (corner === undefined || outline.length === 3) this.remove(area);
      else {
        this.areas[area] = { ...this.areas[area], outline: outline.filter((_, i) => i !== Number(corner)) };
        this.sendAreas();
      }
    } else return;
    event.preventDefault();
    this.draw();
    this.focusOn({ area, corner });
  }

  focusOn({ area, corner }) {
    this.svg.querySelector(`[data-area="${area}"]${corner ? `[data-corner="${corner}"]` : ".shape"}`)?.focus();
  }

  /** Said once the keys rest, so that a row of presses is one change. */
  sendAreas() {
    clearTimeout(this.telling);
    this.telling = setTimeout(() => {
      this.latest = JSON.stringify(this.areas);
      this.said.add(this.latest);
      this.send("areas", { stamp: Date.now() + Math.random(), areas: this.areas });
    }, 250);
  }

  element(name, attributes, dataset = {}) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    Object.assign(made.dataset, dataset);
    return made;
  }

  draw() {
    const held = this.svg.getRootNode().activeElement?.dataset ?? {};
    const shapes = this.areas.flatMap((area, i) => this.shape(area, i));
    const outline = this.box ? [...corners(this.box), this.box[0]] : (this.draft ?? []);
    const path = [...outline, ...(this.cursor && outline.length ? [this.cursor] : [])];
    const proposed = this.offer?.outlines ?? [];
    shapes.unshift(
      ...proposed.map((own, i) => {
        const words = { role: "button", tabindex: 0, "aria-label": `${this.offer.button}: ${i + 1}` };
        return this.element("polygon", { class: "proposed", points: own.join(" "), ...words }, { proposed: i });
      }),
    );
    this.offering.hidden = proposed.length === 0;
    if (path.length) shapes.push(this.element("polyline", { class: "draft", points: path.join(" ") }));
    const marks = this.cursor ? [this.cursor] : (this.draft ?? []).slice(0, 1);
    for (const [x, y] of marks) {
      shapes.push(this.element("line", { class: "cursor", x1: x - 0.02, x2: x + 0.02, y1: y, y2: y }));
      shapes.push(this.element("line", { class: "cursor", x1: x, x2: x, y1: y - 0.02, y2: y + 0.02 }));
    }
    this.svg.replaceChildren(...shapes);
    if (held.area !== undefined) this.focusOn(held);
    this.fillList();
  }

  shape({ mode, outline }, i) {
    const name = `${this.modes[mode]}, outline ${i + 1}`;
    const ratio = this.size ? this.size[1] / this.size[0] : 1;
    const shape = { class: "shape", points: outline.join(" "), tabindex: 0, role: "button", "aria-label": name };
    const handles = outline.map(([x, y], corner) => {
      const round = { class: "corner", cx: x, cy: y, rx: RADIUS, ry: RADIUS * ratio };
      const words = { tabindex: 0, role: "button", "aria-label": `Corner ${corner + 1} of ${name}` };
      return this.element("ellipse", { ...round, ...words }, { area: i, corner });
    });
    return [this.element("polygon", shape, { area: i, mode }), ...handles];
  }

  fillList() {
    const key = JSON.stringify(this.areas.map(({ mode, strictness }) => [mode, strictness]));
    if (key === this.listed) return;
    this.listed = key;
    this.list.replaceChildren(...this.areas.map((area, i) => this.row(area, i)));
  }

  row({ mode, strictness }, i) {
    const row = document.createElement("li");
    row.append(`${i + 1}. ${this.modes[mode]}`);
    if (mode === "stricter") {
      const label = document.createElement("label");
      const box = document.createElement("input");
      Object.assign(box, { type: "number", min: 1, max: 100, step: 1, value: Math.round(100 / strictness) });
      box.addEventListener("change", () => {
        const share = Math.min(100, Math.max(1, Number(box.value) || 100));
        this.areas[i] = { ...this.areas[i], strictness: 100 / share };
        this.sendAreas();
      });
      label.append("Limit here: ", box, " % of the part's limit");
      row.append(label);
    }
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Remove" });
    button.addEventListener("click", () => this.remove(i));
    row.append(button);
    return row;
  }
}

export default function mount({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".outlines"); // the parent may be given a new one
  let drawing = drawings.get(root);
  if (!drawing) {
    drawing = new Drawing(parentElement);
    drawings.set(root, drawing);
  }
  drawing.receive(data, setStateValue);
}

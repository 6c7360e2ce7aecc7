/** Which part of the photo is seen: zoom and pan by wheel, pointer, two fingers or keys. */

const HOME = { zoom: 1, x: 0.5, y: 0.5 };
const LARGEST_ZOOM = 32;
const ZOOM_STEP = 1.5;
const PAN_STEP = 60;

class Viewport {
  /**
   * frame: the element that shows the photo; memory: an object that keeps `view` from one bench to the next;
   * moved() is called after every change, hovered(point or null) as the pointer goes over the frame. Points are in
   * CSS pixels from the frame's top-left corner; x and y of a view say which point of the photo, as a share of it,
   * lies in the middle of the frame; zoom 1 shows all of it.
   */
  constructor(frame, memory, { moved, hovered }) {
    Object.assign(this, { frame, memory, moved, hovered });
    memory.view ??= { ...HOME };
    this.size = null;
    this.pointers = new Map();
    frame.addEventListener("pointerdown", (event) => this.onDown(event));
    frame.addEventListener("pointermove", (event) => this.onMove(event));
    for (const type of ["pointerup", "pointercancel"]) {
      frame.addEventListener(type, (event) => this.pointers.delete(event.pointerId));
    }
    frame.addEventListener("pointerleave", () => hovered(null));
    frame.addEventListener("dblclick", (event) => event.target.closest("button") ?? this.goHome());
    frame.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    frame.addEventListener("keydown", (event) => this.onKey(event));
  }

  /** Look at a photo of size [H, W]; only a photo of another id is shown whole again. */
  lookAt(id, size) {
    this.size = size;
    if (this.memory.shown === id) return;
    this.memory.shown = id;
    this.memory.view = { ...HOME };
  }

  get zoom() {
    return this.memory.view.zoom;
  }

  /** Where the photo lies in the frame: {left, top, width, height}. */
  place() {
    const { clientWidth, clientHeight } = this.frame;
    const [height, width] = this.size;
    const { view } = this.memory;
    const scale = view.zoom * Math.min(clientWidth / width, clientHeight / height);
    view.x = keptWithin(view.x, width * scale, clientWidth);
    view.y = keptWithin(view.y, height * scale, clientHeight);
    return {
      left: clientWidth / 2 - view.x * width * scale,
      top: clientHeight / 2 - view.y * height * scale,
      width: width * scale,
      height: height * scale,
    };
  }

  panBy(x, y) {
    const { width, height } = this.place();
    this.memory.view.x -= x / width;
    this.memory.view.y -= y / height;
    this.moved();
  }

  /** Zoom about a point of the frame, which stays where it is; about the middle when none is given. */
  zoomBy(factor, point = { x: this.frame.clientWidth / 2, y: this.frame.clientHeight / 2 }) {
    if (!this.size) return;
    const { view } = this.memory;
    const before = this.place();
    const zoom = Math.min(LARGEST_ZOOM, Math.max(1, view.zoom * factor));
    const share = zoom / view.zoom;
    const anchor = { x: (point.x - before.left) / before.width, y: (point.y - before.top) / before.height };
    view.x = anchor.x + (this.frame.clientWidth / 2 - point.x) / (before.width * share);
    view.y = anchor.y + (this.frame.clientHeight / 2 - point.y) / (before.height * share);
    view.zoom = zoom;
    this.moved();
  }

  zoomIn() {
    this.zoomBy(ZOOM_STEP);
  }

  zoomOut() {
    this.zoomBy(1 / ZOOM_STEP);
  }

  /** Bring a box [x0, y0, x1, y1] in pixels of the photo to the middle, with room around it. */
  zoomTo([x0, y0, x1, y1]) {
    const [height, width] = this.size;
    const { clientWidth, clientHeight } = this.frame;
    const fit = Math.min(clientWidth / width, clientHeight / height);
    const wanted = Math.min(clientWidth / (x1 - x0), clientHeight / (y1 - y0)) / 3 / fit;
    const zoom = Math.min(LARGEST_ZOOM / 4, Math.max(1, wanted));
    this.memory.view = { zoom, x: (x0 + x1) / 2 / width, y: (y0 + y1) / 2 / height };
    this.moved();
  }

  goHome() {
    this.memory.view = { ...HOME };
    this.moved();
  }

  at(event) {
    const box = this.frame.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  onDown(event) {
    if (!this.size || event.button !== 0 || event.target.closest("button")) return;
    this.frame.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.at(event));
  }

  onMove(event) {
    if (!this.size) return;
    const now = this.at(event);
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      this.hovered(now);
      return;
    }
    this.pointers.set(event.pointerId, now);
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (!other) {
      this.panBy(now.x - before.x, now.y - before.y);
      return;
    }
    const apart = (point) => Math.max(1, Math.hypot(point.x - other.x, point.y - other.y));
    this.zoomBy(apart(now) / apart(before), { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 });
  }

  onWheel(event) {
    // At rest the wheel scrolls the page on; only a turn that zooms is kept.
    if (!this.size || (event.deltaY > 0 && this.zoom <= 1)) return;
    event.preventDefault();
    this.zoomBy(Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) / 200), this.at(event));
  }

  onKey(event) {
    if (event.target !== this.frame || !this.size || event.ctrlKey || event.metaKey) return;
    const acts = {
      "+": () => this.zoomIn(),
      "=": () => this.zoomIn(),
      "-": () => this.zoomOut(),
      0: () => this.goHome(),
    };
    if (this.zoom > 1) {
      acts.ArrowLeft = () => this.panBy(PAN_STEP, 0);
      acts.ArrowRight = () => this.panBy(-PAN_STEP, 0);
      acts.ArrowUp = () => this.panBy(0, PAN_STEP);
      acts.ArrowDown = () => this.panBy(0, -PAN_STEP);
    }
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  }
}

/** The middle of what is seen, so that a span larger than the room fills it and a smaller one is centred. */
function keptWithin(middle, span, room) {
  const margin = room / 2 / span;
  return margin >= 0.5 ? 0.5 : Math.min(1 - margin, Math.max(margin, middle));
}

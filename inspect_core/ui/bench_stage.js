/** The picture: photo, heatmap, contours, wipe; zoomed and panned under the pointer. */

const LOOK = { heatmap: true, opacity: 0.75, stretch: false, rainbow: false, wiping: false, wipe: 0.5 };
const HOME = { zoom: 1, x: 0.5, y: 0.5 };
const LARGEST_ZOOM = 32;
const CANVAS_SIDE = 1024;

class Stage {
  /** memory: {look, view}, kept by the caller so that a bench that comes back looks as it was left. */
  constructor(find, memory) {
    this.memory = memory;
    memory.look ??= { ...LOOK };
    memory.view ??= { ...HOME };
    this.frame = find(".stage");
    this.photoCanvas = find(".stage .photo");
    this.marksCanvas = find(".stage .marks");
    this.wipe = find(".wipe");
    this.reading = find(".reading");
    this.zoomText = find(".zoom-value");
    this.legend = find(".legend");
    this.legendBar = find(".legend canvas");
    this.heat = document.createElement("canvas");
    this.rainbow = rainbowColours(512);
    this.pointers = new Map();
    this.part = null;
    this.listenToTools(find);
    this.listenToPointers();
    this.frame.addEventListener("keydown", (event) => this.onKey(event));
    this.wipe.addEventListener("keydown", (event) => this.onWipeKey(event));
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.frame);
  }

  close() {
    this.observer.disconnect();
  }

  /**
   * Show a part: {id, photo: ImageBitmap, size: [H, W] of the original, map, mask: map or null}.
   * A part with the same id keeps zoom and pan.
   */
  show(part) {
    if (this.memory.shown !== part.id) {
      this.memory.view = { ...HOME };
      this.memory.shown = part.id;
    }
    if (this.part?.map !== part.map) {
      this.heat.width = part.map.width;
      this.heat.height = part.map.height;
      this.heatImage = new ImageData(part.map.width, part.map.height);
    }
    this.maskPath = part.mask && contourPath(part.mask, 0.5);
    this.part = part;
  }

  /** Colour for limits and calm; draws. */
  judge({ limits, calm, colours, decimals }) {
    this.judged = { limits, calm, colours, decimals };
    this.recolour();
    const roles = hasReviewBand(limits) ? ["review", "reject"] : ["reject"];
    this.contours = roles.map((role) => ({ role, path: contourPath(this.part.map, limits[role]) }));
    this.drawMarks();
  }

  recolour() {
    const { limits, calm, colours } = this.judged;
    const { stretch, rainbow } = this.memory.look;
    this.range = colourRange(this.part.map, { calm, limit: limits.review, stretch, rainbow });
    const chosen = rainbow ? this.rainbow : colours;
    paintScores(new Uint32Array(this.heatImage.data.buffer), this.part.map.values, chosen, this.range);
    this.heat.getContext("2d").putImageData(this.heatImage, 0, 0);
    this.drawLegend(chosen);
  }

  drawLegend(colours) {
    const bar = new ImageData(colours.length, 1);
    new Uint32Array(bar.data.buffer).set(colours);
    this.legendBar.getContext("2d").putImageData(bar, 0, 0);
    const { low, middle, high } = this.range;
    const { decimals } = this.judged;
    const { stretch, rainbow } = this.memory.look;
    const words = stretch ? ["least ", "most "] : ["calm ", rainbow ? "" : "hot "];
    const texts = this.legend.querySelectorAll("span");
    texts[0].textContent = words[0] + low.toFixed(decimals);
    texts[1].textContent = middle === null ? "" : `limit ${middle.toFixed(decimals)}`;
    texts[2].textContent = words[1] + high.toFixed(decimals);
  }

  /** Both canvases at the size of the frame. */
  draw() {
    if (!this.part || !this.judged) return;
    const { clientWidth: width, clientHeight: height } = this.frame;
    if (width === 0 || height === 0) return;
    const longest = Math.max(width, height);
    this.ratio = Math.max(1, Math.min(window.devicePixelRatio, CANVAS_SIDE / longest));
    for (const canvas of [this.photoCanvas, this.marksCanvas]) {
      const pixels = [Math.round(width * this.ratio), Math.round(height * this.ratio)];
      if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) [canvas.width, canvas.height] = pixels;
    }
    this.drawPhoto();
    this.drawMarks();
    this.zoomText.textContent = `${Math.round(this.memory.view.zoom * 100)} %`;
    this.frame.classList.toggle("zoomed", this.memory.view.zoom > 1);
  }

  /** Where the photo lies in the frame, in CSS pixels: {left, top, width, height}. */
  place() {
    const { clientWidth, clientHeight } = this.frame;
    const [height, width] = this.part.size;
    const { view } = this.memory;
    const scale = view.zoom * Math.min(clientWidth / width, clientHeight / height);
    const within = (centre, span, room) => {
      const margin = room / 2 / span;
      return margin >= 0.5 ? 0.5 : Math.min(1 - margin, Math.max(margin, centre));
    };
    view.x = within(view.x, width * scale, clientWidth);
    view.y = within(view.y, height * scale, clientHeight);
    const left = clientWidth / 2 - view.x * width * scale;
    const top = clientHeight / 2 - view.y * height * scale;
    return { left, top, width: width * scale, height: height * scale };
  }

  drawPhoto() {
    const { left, top, width, height } = this.place();
    const draw = this.photoCanvas.getContext("2d");
    draw.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    draw.clearRect(0, 0, this.frame.clientWidth, this.frame.clientHeight);
    // Beyond twice its size the photo's own pixels are shown, not a guess between them.
    draw.imageSmoothingEnabled = (width / this.part.photo.width) * this.ratio <= 2;
    draw.imageSmoothingQuality = "high";
    draw.drawImage(this.part.photo, left, top, width, height);
  }

  drawMarks() {
    if (!this.ratio) return;
    const { clientWidth, clientHeight } = this.frame;
    const { look } = this.memory;
    const { left, top, width, height } = this.place();
    const draw = this.marksCanvas.getContext("2d");
    draw.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    draw.clearRect(0, 0, clientWidth, clientHeight);
    draw.save();
    if (look.wiping) {
      draw.beginPath();
      draw.rect(look.wipe * clientWidth, 0, clientWidth, clientHeight);
      draw.clip();
    }
    draw.beginPath();
    draw.rect(left, top, width, height);
    draw.clip();
    if (look.heatmap) {
      draw.globalAlpha = look.opacity;
      draw.drawImage(this.heat, left, top, width, height);
      draw.globalAlpha = 1;
    }
    draw.translate(left, top);
    draw.scale(width / this.part.map.width, height / this.part.map.height);
    const toFrame = new DOMMatrix([1 / this.ratio, 0, 0, 1 / this.ratio, 0, 0]).multiply(draw.getTransform());
    draw.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    if (this.maskPath) stroke(draw, this.maskPath, toFrame, { colour: "#f8fafc", dash: [5, 4], width: 1.5 });
    for (const { role, path } of this.contours) {
      stroke(draw, path, toFrame, { colour: role === "review" ? "#fcd34d" : "#ff5a1f", dash: [], width: 2 });
    }
    draw.restore();
    this.placeWipe();
  }

  placeWipe() {
    const { wiping, wipe } = this.memory.look;
    this.wipe.hidden = !wiping;
    this.wipe.style.left = `${100 * wipe}%`;
    this.wipe.setAttribute("aria-valuenow", Math.round(100 * wipe));
    this.wipe.setAttribute("aria-valuetext", `${Math.round(100 * wipe)} % without heatmap`);
  }

  listenToTools(find) {
    const { look } = this.memory;
    const recoloured = () => {
      if (!this.part) return;
      this.recolour();
      this.drawMarks();
    };
    for (const name of ["heatmap", "stretch", "rainbow", "wiping"]) {
      const box = find(`input[name="${name}"]`);
      box.checked = look[name];
      box.addEventListener("change", () => {
        look[name] = box.checked;
        recoloured();
      });
    }
    const opacity = find('input[name="opacity"]');
    opacity.value = 100 * look.opacity;
    opacity.addEventListener("input", () => {
      look.opacity = opacity.value / 100;
      if (this.part) this.drawMarks();
    });
    const colours = find(".more-looks");
    this.frame.parentNode.addEventListener("pointerdown", (event) => {
      if (!colours.contains(event.target)) colours.open = false;
    });
    colours.addEventListener("keydown", (event) => {
      if (event.key === "Escape") colours.open = false;
    });
    find(".zoom-in").addEventListener("click", () => this.zoomBy(1.5));
    find(".zoom-out").addEventListener("click", () => this.zoomBy(1 / 1.5));
    find(".zoom-fit").addEventListener("click", () => this.goHome());
  }

  listenToPointers() {
    const { frame } = this;
    frame.addEventListener("pointerdown", (event) => this.onDown(event));
    frame.addEventListener("pointermove", (event) => this.onMove(event));
    for (const type of ["pointerup", "pointercancel"]) {
      frame.addEventListener(type, (event) => {
        this.pointers.delete(event.pointerId);
        this.wipeHeld = false;
      });
    }
    frame.addEventListener("pointerleave", () => this.read(null));
    frame.addEventListener("dblclick", (event) => event.target.closest("button") ?? this.goHome());
    frame.addEventListener(
      "wheel",
      (event) => {
        // At rest the wheel scrolls the page on; only a turn that zooms is kept.
        if (!this.part || (event.deltaY > 0 && this.memory.view.zoom <= 1)) return;
        event.preventDefault();
        this.zoomBy(Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) / 200), this.at(event));
      },
      { passive: false },
    );
  }

  /** The pointer in CSS pixels from the frame's top-left corner. */
  at(event) {
    const box = this.frame.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  onDown(event) {
    if (!this.part || event.button !== 0 || event.target.closest("button")) return;
    this.frame.setPointerCapture(event.pointerId);
    this.wipeHeld = event.target.closest(".wipe") !== null;
    this.pointers.set(event.pointerId, this.at(event));
  }

  onMove(event) {
    if (!this.part) return;
    const now = this.at(event);
    const before = this.pointers.get(event.pointerId);
    if (!before) return this.read(now);
    this.pointers.set(event.pointerId, now);
    if (this.wipeHeld) return this.moveWipe(now.x / this.frame.clientWidth);
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const apart = (point) => Math.max(1, Math.hypot(point.x - other.x, point.y - other.y));
      return this.zoomBy(apart(now) / apart(before), { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 });
    }
    this.panBy(now.x - before.x, now.y - before.y);
  }

  panBy(x, y) {
    const { width, height } = this.place();
    this.memory.view.x -= x / width;
    this.memory.view.y -= y / height;
    this.draw();
  }

  /** Zoom about a point of the frame, which stays where it is; the middle when none is given. */
  zoomBy(factor, point = { x: this.frame.clientWidth / 2, y: this.frame.clientHeight / 2 }) {
    if (!this.part) return;
    const { view } = this.memory;
    const before = this.place();
    const zoom = Math.min(LARGEST_ZOOM, Math.max(1, view.zoom * factor));
    const share = zoom / view.zoom;
    const anchor = { x: (point.x - before.left) / before.width, y: (point.y - before.top) / before.height };
    view.x = anchor.x + (this.frame.clientWidth / 2 - point.x) / (before.width * share);
    view.y = anchor.y + (this.frame.clientHeight / 2 - point.y) / (before.height * share);
    view.zoom = zoom;
    this.draw();
  }

  /** Bring a box [x0, y0, x1, y1] in pixels of the original to the middle, with room around it. */
  zoomTo([x0, y0, x1, y1]) {
    const [height, width] = this.part.size;
    const { clientWidth, clientHeight } = this.frame;
    const fit = Math.min(clientWidth / width, clientHeight / height);
    const wanted = Math.min(clientWidth / (x1 - x0), clientHeight / (y1 - y0)) / 3 / fit;
    const zoom = Math.min(LARGEST_ZOOM / 4, Math.max(1, wanted));
    this.memory.view = { zoom, x: (x0 + x1) / 2 / width, y: (y0 + y1) / 2 / height };
    this.draw();
  }

  /** The words that stand for the picture where it is not seen. */
  describe(text) {
    this.photoCanvas.setAttribute("aria-label", text);
  }

  goHome() {
    this.memory.view = { ...HOME };
    this.draw();
  }

  moveWipe(share) {
    this.memory.look.wipe = Math.min(1, Math.max(0, share));
    this.drawMarks();
  }

  /** Say the raw score under the pointer, nothing outside the photo. */
  read(point) {
    this.reading.hidden = true;
    if (!point || !this.part || !this.judged) return;
    const { left, top, width, height } = this.place();
    const { map, size } = this.part;
    const [x, y] = [(point.x - left) / width, (point.y - top) / height];
    if (x < 0 || y < 0 || x >= 1 || y >= 1) return;
    const value = map.values[Math.floor(y * map.height) * map.width + Math.floor(x * map.width)];
    const at = `${Math.floor(x * size[1])}, ${Math.floor(y * size[0])} px`;
    this.reading.textContent = `score ${value.toFixed(this.judged.decimals)} at ${at}`;
    this.reading.hidden = false;
  }

  onKey(event) {
    if (event.target !== this.frame || !this.part) return;
    const step = 60;
    const acts = {
      "+": () => this.zoomBy(1.5),
      "=": () => this.zoomBy(1.5),
      "-": () => this.zoomBy(1 / 1.5),
      0: () => this.goHome(),
      ArrowLeft: () => this.panBy(step, 0),
      ArrowRight: () => this.panBy(-step, 0),
      ArrowUp: () => this.panBy(0, step),
      ArrowDown: () => this.panBy(0, -step),
    };
    if (!acts[event.key] || event.ctrlKey || event.metaKey) return;
    if (event.key.startsWith("Arrow") && this.memory.view.zoom === 1) return;
    event.preventDefault();
    acts[event.key]();
  }

  onWipeKey(event) {
    const moves = { ArrowLeft: -0.02, ArrowDown: -0.02, ArrowRight: 0.02, ArrowUp: 0.02, Home: -1, End: 1 };
    if (!(event.key in moves)) return;
    event.preventDefault();
    this.moveWipe(this.memory.look.wipe + moves[event.key]);
  }
}

/** A line of even width at any zoom, with a dark rim so that it shows on bright metal and on black rubber. */
function stroke(draw, path, transform, { colour, dash, width }) {
  const line = new Path2D();
  line.addPath(path, transform);
  draw.lineJoin = "round";
  draw.strokeStyle = "rgba(10, 16, 18, 0.65)";
  draw.lineWidth = width + 2;
  draw.setLineDash([]);
  draw.stroke(line);
  draw.strokeStyle = colour;
  draw.lineWidth = width;
  draw.setLineDash(dash);
  draw.stroke(line);
}

/** The picture: the photo, the heatmap over it, the outlines, and the wipe that lays the photo bare. */

const LOOK = { heatmap: true, opacity: 0.75, stretch: false, rainbow: false, smallest: true, wiping: false, wipe: 0.5 };
const CANVAS_SIDE = 1024;
const OUTLINES = {
  truth: { colour: "#f8fafc", dash: [9, 4], width: 1.5 },
  patch: { colour: "#2dd4bf", dash: [], width: 2.5 },
};
const HATCH = { colour: "rgba(226, 232, 240, 0.7)", width: 1.5, step: 9 };
/** Of what lies above a limit and is smaller than the smallest area that counts. */
const BELOW_AREA = [3, 4];

class Stage {
  /** memory: an object that keeps `look` and `view`, so that a bench that comes back looks as it was left. */
  constructor(find, memory) {
    this.look = memory.look ??= { ...LOOK };
    this.frame = find(".stage");
    this.photoCanvas = find(".stage .photo");
    this.marksCanvas = find(".stage .marks");
    this.wipe = find(".wipe");
    this.reading = find(".reading");
    this.smallest = find(".smallest");
    this.smallestLook = find(".smallest-look");
    this.zoomText = find(".zoom-value");
    this.legendTexts = find(".legend").querySelectorAll("span");
    this.legendBar = find(".legend canvas");
    this.heat = document.createElement("canvas");
    this.rainbow = rainbowColours(512);
    this.part = null;
    this.viewport = new Viewport(this.frame, memory, {
      moved: () => this.draw(),
      hovered: (point) => this.read(point),
    });
    find(".zoom-in").addEventListener("click", () => this.viewport.zoomIn());
    find(".zoom-out").addEventListener("click", () => this.viewport.zoomOut());
    find(".zoom-fit").addEventListener("click", () => this.viewport.goHome());
    this.listenToLooks(find);
    this.listenToWipe();
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.frame);
  }

  close() {
    this.observer.disconnect();
  }

  /**
   * Take a part: {id, photo: ImageBitmap, image_size: [H, W] of the original, map, mask: map or null, area: the
   * smallest that counts, in pixels of the map, leftOut: map of what is not inspected or null, patch: [left, top,
   * right, bottom] of the original to frame, or null}. It is drawn when it is judged. A part with the same id keeps
   * zoom and pan.
   */
  show(part) {
    this.viewport.lookAt(part.id, part.image_size);
    if (this.part?.map !== part.map) {
      this.heat.width = part.map.width;
      this.heat.height = part.map.height;
      this.heatImage = new ImageData(part.map.width, part.map.height);
      this.truth = part.mask ? contourPath(part.mask, 0.5) : null;
    }
    if (this.part?.leftOut !== part.leftOut) this.leftOut = part.leftOut && maskCanvas(part.leftOut);
    this.patch = part.patch ? framePath(part.patch, part.image_size) : null;
    this.part = part;
    this.bare = true;
  }

  /** Colours and outlines for limits; typicalScore: where colour begins; colours: 512 packed RGBA. */
  judge({ limits, typicalScore, colours, decimals }) {
    this.judged = { limits, typicalScore, colours, decimals };
    this.recolour();
    const roles = limits.preview ? [] : hasReviewBand(limits) ? ["review", "reject"] : ["reject"];
    const { map, area } = this.part;
    this.contours = roles.map((role) => ({
      path: contourPath(map, limits[role]),
      style: {
        colour: getComputedStyle(this.frame).getPropertyValue(`--${role}-on-photo`),
        dash: areaAbove(map, limits[role]) < area ? BELOW_AREA : [],
        width: 2,
      },
    }));
    if (this.bare) this.draw();
    else this.drawMarks();
  }

  /** The words that stand for the picture where it is not seen. */
  describe(text) {
    this.photoCanvas.setAttribute("aria-label", text);
  }

  recolour() {
    const { limits, typicalScore, colours } = this.judged;
    const { stretch, rainbow } = this.look;
    this.range = colourRange(this.part.map, { typicalScore, limit: limits.review, stretch, rainbow });
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
    const { decimals, limits } = this.judged;
    const name = limits.preview ? "" : hasReviewBand(limits) ? "review" : "limit";
    const { stretch } = this.look;
    this.legendTexts[0].textContent = `${stretch ? "lowest" : "typical"} ${low.toFixed(decimals)}`;
    this.legendTexts[1].textContent = middle === null ? "" : `${name} ${middle.toFixed(decimals)}`;
    this.legendTexts[2].textContent = stretch ? `highest ${high.toFixed(decimals)}` : `${high.toFixed(decimals)} and more`;
  }

  /** Both canvases at the size of the frame. */
  draw() {
    const { clientWidth: width, clientHeight: height } = this.frame;
    if (!this.judged || width === 0 || height === 0) return;
    this.ratio = Math.max(1, Math.min(window.devicePixelRatio, CANVAS_SIDE / Math.max(width, height)));
    for (const canvas of [this.photoCanvas, this.marksCanvas]) {
      const pixels = [Math.round(width * this.ratio), Math.round(height * this.ratio)];
      if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) [canvas.width, canvas.height] = pixels;
    }
    this.drawPhoto();
    this.drawMarks();
    this.bare = false;
    this.zoomText.textContent = `${Math.round(100 * this.viewport.zoom)}%`;
    this.frame.classList.toggle("zoomed", this.viewport.zoom > 1);
  }

  /** The context of a canvas, empty and in CSS pixels. */
  blank(canvas) {
    const draw = canvas.getContext("2d");
    draw.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    draw.clearRect(0, 0, this.frame.clientWidth, this.frame.clientHeight);
    return draw;
  }

  drawPhoto() {
    const { left, top, width, height } = this.viewport.place();
    const draw = this.blank(this.photoCanvas);
    // Beyond twice its size the photo's own pixels are shown, not a guess between them.
    draw.imageSmoothingEnabled = (width / this.part.photo.width) * this.ratio <= 2;
    draw.imageSmoothingQuality = "high";
    draw.drawImage(this.part.photo, left, top, width, height);
  }

  drawMarks() {
    if (!this.ratio) return;
    const { clientWidth, clientHeight } = this.frame;
    const { look, part } = this;
    const { left, top, width, height } = this.viewport.place();
    const draw = this.blank(this.marksCanvas);
    draw.save();
    draw.beginPath();
    const bareTo = look.wiping ? look.wipe * clientWidth : 0;
    draw.rect(bareTo, 0, clientWidth - bareTo, clientHeight);
    draw.clip();
    if (look.heatmap) {
      draw.globalAlpha = look.opacity;
      draw.drawImage(this.heat, left, top, width, height);
      draw.globalAlpha = 1;
    }
    draw.beginPath();
    draw.rect(left, top, width, height);
    draw.clip();
    if (this.leftOut) this.hatch(draw, [left, top, width, height]);
    const toFrame = new DOMMatrix([width / part.map.width, 0, 0, height / part.map.height, left, top]);
    if (this.truth) outline(draw, this.truth, toFrame, OUTLINES.truth);
    for (const { path, style } of this.contours) outline(draw, path, toFrame, style);
    if (this.patch) outline(draw, this.patch, new DOMMatrix([width, 0, 0, height, left, top]), OUTLINES.patch);
    draw.restore();
    this.placeWipe();
    this.placeSmallest();
  }

  /** Slanted lines over what is not inspected. */
  hatch(draw, place) {
    this.sheet ??= document.createElement("canvas");
    const { width, height } = this.marksCanvas;
    [this.sheet.width, this.sheet.height] = [width, height];
    const lines = this.blank(this.sheet);
    lines.strokeStyle = HATCH.colour;
    lines.lineWidth = HATCH.width;
    const { clientWidth, clientHeight } = this.frame;
    lines.beginPath();
    for (let x = 0; x < clientWidth + clientHeight; x += HATCH.step) {
      lines.moveTo(x, 0);
      lines.lineTo(x - clientHeight, clientHeight);
    }
    lines.stroke();
    lines.globalCompositeOperation = "destination-in";
    lines.imageSmoothingEnabled = false;
    lines.drawImage(this.leftOut, ...place);
    draw.drawImage(this.sheet, 0, 0, clientWidth, clientHeight);
  }

  /** The smallest area that counts as a square of the map, as large as it is on the photo. */
  placeSmallest() {
    const { map, image_size: size, area, mm_per_pixel: mmPerPixel } = this.part;
    this.smallestLook.hidden = !(area > 1);
    this.smallest.hidden = this.smallestLook.hidden || !this.look.smallest;
    const shares = [Math.sqrt(area) / map.width, Math.sqrt(area) / map.height];
    const { width, height } = this.viewport.place();
    const [box, words] = this.smallest.children;
    box.style.width = `${shares[0] * width}px`;
    box.style.height = `${shares[1] * height}px`;
    const [across, down] = [roundHalfToEven(shares[0] * size[1]), roundHalfToEven(shares[1] * size[0])];
    words.textContent = `minimum area ${lengthsInWords(across, down, mmPerPixel)}`;
  }

  placeWipe() {
    const share = Math.round(100 * this.look.wipe);
    this.wipe.hidden = !this.look.wiping;
    this.wipe.style.left = `${100 * this.look.wipe}%`;
    this.wipe.setAttribute("aria-valuenow", share);
    this.wipe.setAttribute("aria-valuetext", `${share}% without heatmap`);
  }

  listenToLooks(find) {
    const { look } = this;
    for (const name of ["heatmap", "stretch", "rainbow", "smallest", "wiping"]) {
      const box = find(`input[name="${name}"]`);
      box.checked = look[name];
      box.addEventListener("change", () => {
        look[name] = box.checked;
        if (!this.judged) return;
        this.recolour();
        this.drawMarks();
      });
    }
    this.looks = (name) => find(`input[name="${name}"]`);
    const opacity = find('input[name="opacity"]');
    opacity.value = 100 * look.opacity;
    opacity.addEventListener("input", () => {
      look.opacity = opacity.value / 100;
      if (this.judged) this.drawMarks();
    });
    for (const more of find(".view").querySelectorAll(".more-looks")) {
      find(".bench").addEventListener("pointerdown", (event) => {
        if (!more.contains(event.target)) more.open = false;
      });
      more.addEventListener("keydown", (event) => {
        if (event.key === "Escape") more.open = false;
      });
    }
  }

  /** As by a click on the box of a look. */
  toggleLook(name) {
    this.looks(name).click();
  }

  listenToWipe() {
    const { wipe } = this;
    const move = (share) => {
      this.look.wipe = Math.min(1, Math.max(0, share));
      this.drawMarks();
    };
    wipe.addEventListener("pointerdown", (event) => {
      event.stopPropagation();
      wipe.setPointerCapture(event.pointerId);
    });
    wipe.addEventListener("pointermove", (event) => {
      event.stopPropagation();
      if (wipe.hasPointerCapture(event.pointerId)) move(this.viewport.at(event).x / this.frame.clientWidth);
    });
    wipe.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: -0.02, ArrowDown: -0.02, ArrowRight: 0.02, ArrowUp: 0.02, Home: -1, End: 1 };
      if (!(event.key in moves)) return;
      event.preventDefault();
      move(this.look.wipe + moves[event.key]);
    });
  }

  /** Say the raw score under a point of the frame; nothing outside the photo. */
  read(point) {
    this.reading.hidden = true;
    if (!point || !this.judged) return;
    const { left, top, width, height } = this.viewport.place();
    const { map, image_size: size, leftOut } = this.part;
    const [x, y] = [(point.x - left) / width, (point.y - top) / height];
    if (x < 0 || y < 0 || x >= 1 || y >= 1) return;
    const i = Math.floor(y * map.height) * map.width + Math.floor(x * map.width);
    const score = `score ${map.values[i].toFixed(this.judged.decimals)}`;
    const at = `${Math.floor(x * size[1])}, ${Math.floor(y * size[0])} px`;
    this.reading.textContent = `${leftOut?.values[i] ? "not inspected" : score} at ${at}`;
    this.reading.hidden = false;
  }
}

/** A canvas that is opaque where a mask is set. */
function maskCanvas({ values, height, width }) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  const image = new ImageData(width, height);
  values.forEach((set, i) => (image.data[4 * i + 3] = set ? 255 : 0));
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

/** The rim of a box in pixels of an (H, W) photo, in shares of its width and height. */
function framePath([left, top, right, bottom], [height, width]) {
  const path = new Path2D();
  path.rect(left / width, top / height, (right - left) / width, (bottom - top) / height);
  return path;
}

/** A line of even width at any zoom, with a dark rim so that it shows on bright metal and on black rubber. */
function outline(draw, path, transform, { colour, dash, width }) {
  const line = new Path2D();
  line.addPath(path, transform);
  draw.lineJoin = "round";
  draw.setLineDash(dash);
  draw.strokeStyle = "rgba(10, 16, 18, 0.65)";
  draw.lineWidth = width + 2;
  draw.stroke(line);
  draw.strokeStyle = colour;
  draw.lineWidth = width;
  draw.stroke(line);
}

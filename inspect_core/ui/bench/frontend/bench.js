/** The bench: keeps limits and chosen part, lets every view follow, and tells Python when a hand lets go. */

const REST_MS = 90;

const memories = new Map();
const benches = new WeakMap();

class Bench {
  constructor(root, memory) {
    const find = (selector) => root.querySelector(selector);
    this.root = find(".bench");
    this.stage = new Stage(find, memory);
    this.gallery = new Gallery(find, (position) => this.choose(position));
    this.card = new VerdictCard(find, {
      zoomTo: (box) => this.stage.viewport.zoomTo(box),
      label: (label) => this.sendMove("label", { value: this.part.position, label }),
    });
    this.histogram = new Histogram(find, {
      handles: new LimitHandles(find, { move: (limits) => this.drag(limits), release: () => this.release() }),
      choose: (position) => this.choose(position),
    });
    this.boxes = new LimitBoxes(find, (limits) => this.setLimits(limits));
    this.sentence = find(".sentence .words");
    this.check = find(".sentence .check");
    this.announcer = find(".announcer");
    this.title = find(".title bdi");
    this.truth = find(".truth");
    this.place = find(".place");
    this.aside = find(".without-score");
    this.pictures = { taken: find(".taken"), reference: find(".reference") };
    this.unscored = null;
    find(".previous").addEventListener("click", () => this.gallery.step(-1));
    find(".next").addEventListener("click", () => this.gallery.step(1));
    this.shortcuts = new Shortcuts(find(".keys"), {
      g: () => this.card.press("good"),
      d: () => this.card.press("defect"),
      n: () => this.gallery.stepToUnlabelled(),
      h: () => this.stage.toggleLook("heatmap"),
      w: () => this.stage.toggleLook("wiping"),
    });
    this.sent = {};
    this.lastStamp = 0;
    this.delivery = 0;
  }

  close() {
    this.stage.close();
    this.histogram.close();
    this.shortcuts.close();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.sending);
  }

  /** Python's word: figures at once, the picture when it is decoded. What was set since is not undone by it. */
  async receive(data, send) {
    this.send = send;
    this.data = data;
    this.root.dataset.theme = isDark(this.root) ? "dark" : "light";
    const scores = data.parts.map(({ score }) => score);
    this.decimals = decimalsFor(rangeToTell(scores, data.typical_score, data.suggested));
    this.colours = packedColours(data.heat);
    if (data.preview || (this.isTaken("limits") && !this.held)) this.limits = data.limits;
    this.limits = { ...this.limits, preview: data.preview };
    this.root.classList.toggle("preview", data.preview);
    if (this.isTaken("position") || this.chosen >= scores.length) this.chosen = data.position;
    this.gallery.fill(data, this.decimals);
    this.histogram.fill(data, this.limits, this.decimals);
    this.boxes.fill(data, this.decimals);
    this.gallery.judge(this.limits);
    if (this.unscored >= data.unscored.length) this.unscored = null;
    this.setAside(this.unscored !== null);
    this.gallery.select(this.unscored === null ? this.chosen : scores.length + this.unscored);
    this.followFigures();
    const delivery = (this.delivery += 1);
    assetCache.get(data.assets.thumbs).then((blobs) => delivery === this.delivery && this.gallery.showPictures(blobs));
    const part = await this.decode(data);
    if (delivery === this.delivery) this.show(part);
  }

  /** Whether Python has taken over what was sent last under a name; only then may its value replace ours. */
  isTaken(name) {
    return this.sent[name] === undefined || this.data.taken[name] === this.sent[name];
  }

  async decode(data) {
    const { photo, map, uninspected } = data.assets;
    const [[file], planes, [leftOut]] = await Promise.all([photo, map, uninspected].map((token) => token ? assetCache.get(token) : []));
    if (this.decoded?.token !== data.assets.photo) {
      this.decoded = {
        token: data.assets.photo,
        photo: await createImageBitmap(new Blob([file], { type: "image/png" })),
      };
    }
    const [height, width] = data.map_size;
    if (this.planes !== planes) {
      this.planes = planes;
      this.map = { values: new Float32Array(planes[0].buffer), height, width };
      this.mask = planes[1] ? { values: planes[1], height, width } : null;
    }
    if (this.leftOut?.values !== leftOut) this.leftOut = leftOut ? { values: leftOut, height, width } : null;
    const note = [data.note, reducedNote(data)].filter(Boolean).join(" ");
    const id = `${data.position} ${data.assets.photo}`;
    return { ...data, ...data.parts[data.position], id, photo: this.decoded.photo, map: this.map, mask: this.mask, leftOut: this.leftOut, note };
  }

  show(part) {
    const another = this.part?.id !== part.id;
    this.part = part;
    this.stage.show(part);
    this.root.classList.remove("waiting", "empty");
    this.histogram.mark(part.position);
    if (this.unscored === null) this.head(part, part.position);
    this.followPart();
    if (another && this.unscored === null) this.announcer.textContent = this.description;
  }

  /** What is written above the picture. */
  head({ name, label, ground_truth: truth }, position) {
    this.title.textContent = this.title.title = name;
    this.truth.textContent = truth === "unknown" ? "truth unknown" : labelInWords(label);
    this.truth.dataset.truth = truth;
    this.place.textContent = `${this.gallery.order.indexOf(position) + 1} of ${this.gallery.order.length}`;
  }

  /** A photo without a score, beside the reference; Python need not hear of it. */
  async showUnscored(position) {
    this.unscored = position - this.data.parts.length;
    this.gallery.select(position);
    this.setAside(true);
    const photo = this.data.unscored[this.unscored];
    this.head(photo, position);
    this.card.showUnscored(photo);
    this.announcer.textContent = `${photo.name}: ${photo.verdict}. ${photo.reason}.`;
    const blobs = await assetCache.get(this.data.assets.thumbs);
    if (this.unscored === null) return;
    for (const [role, blob] of [["taken", blobs[position]], ["reference", blobs.at(-1)]]) {
      const figure = this.pictures[role];
      const image = figure.querySelector("img");
      figure.hidden = !blob?.length;
      if (image.src) URL.revokeObjectURL(image.src);
      image.src = figure.hidden ? "" : URL.createObjectURL(new Blob([blob]));
    }
  }

  setAside(aside) {
    this.root.classList.toggle("without", aside);
    this.aside.hidden = !aside;
  }

  /** A limit under a moving hand: all views follow in the next frame, Python hears nothing yet. */
  drag(limits) {
    if (!areFinite(limits.review, limits.reject)) return;
    this.limits = limits;
    this.held = true;
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      this.follow();
    });
  }

  release() {
    if (!this.held) return;
    this.held = false;
    this.follow();
    if (!sameLimits(this.limits, this.data.limits) || !this.isTaken("limits")) this.sendMove("limits", this.limits);
    this.followSentence();
  }

  setLimits(limits) {
    this.drag(limits);
    this.histogram.makeRoomFor(this.limits);
    this.release();
  }

  choose(position) {
    if (position >= this.data.parts.length) {
      this.showUnscored(position);
      return;
    }
    const back = this.unscored !== null;
    this.unscored = null;
    this.setAside(false);
    this.gallery.select(position);
    if (position === this.chosen) {
      if (back && this.part) this.show(this.part);
      return;
    }
    this.chosen = position;
    this.root.classList.add("waiting");
    // A held arrow key runs through the gallery; only where it rests is asked for.
    clearTimeout(this.sending);
    this.sending = setTimeout(() => this.sendMove("position", { value: position }), REST_MS);
    this.sent.position = NaN;
  }

  /** Send a move to Python, stamped so that it is known when it has been taken over. */
  sendMove(name, value) {
    this.lastStamp = Math.max(this.lastStamp + 1, Date.now());
    this.sent[name] = this.lastStamp;
    this.send(name, { ...value, stamp: this.lastStamp });
  }

  follow() {
    this.gallery.judge(this.limits);
    this.followFigures();
    if (this.part) this.followPart();
  }

  followFigures() {
    this.followSentence();
    this.histogram.follow(this.limits, this.words);
    this.boxes.follow(this.limits);
  }

  /** Ours while it moves; Python's once it has counted the same limits. */
  followSentence() {
    const { parts, hidden, unscored_counts: without, bounds, own, relabelled, sentence, preview } = this.data;
    const counts = countParts([...parts, ...hidden], this.limits, without);
    const ours = inParts(counts, bounds, hasReviewBand(this.limits), own, relabelled);
    const answered = preview || (!this.held && this.isTaken("limits") && sameLimits(this.limits, this.data.limits));
    this.words = answered ? sentence : ours;
    if (this.sentence.textContent !== this.words) {
      this.sentence.replaceChildren(...linked(this.words, (filter) => this.gallery.showCounted(filter)));
    }
    this.check.classList.toggle("on", answered && sentence === ours);
    if (answered && sentence !== this.announced) this.announcer.textContent = this.announced = sentence;
  }

  followPart() {
    const { part, limits, decimals } = this;
    this.stage.judge({ limits, typicalScore: this.data.typical_score, colours: this.colours, decimals });
    if (this.unscored !== null) return;
    const { verdict, finding } = this.card.judge(part, limits, decimals);
    this.description = `${part.name}: ${VERDICTS[verdict].word}, score ${part.score.toFixed(decimals)}. ${finding}.`;
    this.stage.describe(this.description);
  }
}

/** Said when the photo on screen holds fewer pixels than the original. */
function reducedNote({ photo_size: [height, width], image_size: size }) {
  if (height === size[0] && width === size[1]) return null;
  return `Shown at ${width} × ${height} px of ${size[1]} × ${size[0]} px; inspected at full size.`;
}

/** Whether the page's theme is dark, from its background. */
function isDark(element) {
  const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  probe.fillStyle = getComputedStyle(element).getPropertyValue("--st-background-color").trim() || "#fff";
  probe.fillRect(0, 0, 1, 1);
  const [red, green, blue] = probe.getImageData(0, 0, 1, 1).data;
  return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
}

/** What it returns is called when the element is gone, and also when newer data overtook these: then the bench stays. */
export default function mount({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".bench"); // the parent may be given a new one
  let bench = benches.get(root);
  if (!bench) {
    if (!memories.has(data.key)) memories.set(data.key, {});
    bench = new Bench(parentElement, memories.get(data.key));
    benches.set(root, bench);
  }
  bench.receive(data, setStateValue);
  return () => {
    if (!root.isConnected) bench.close();
  };
}

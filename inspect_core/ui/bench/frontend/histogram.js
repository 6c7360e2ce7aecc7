/** The histogram: good parts and defects on lanes of their own, and a dot for each part to hover over and click. */

const SVG = "http://www.w3.org/2000/svg";
/** What the parts of a lane are for that the sentence does not count. */
const USES = {
  good: { short: "set the limit", long: "sets the limit" },
  defect: { short: "validation", long: "used for validation" },
};
const LANES = [
  { truth: "good", label: "good" },
  { truth: "defect", label: "defects" },
  { truth: "unknown", label: "unknown" },
];
const TAG_HEIGHT = 28;
const BAR_HEIGHT = 26;
const RUG_HEIGHT = 17;
const LANE_GAP = 6;
const AXIS_HEIGHT = 24;
const GUTTER = 136;
const REACH = 14;

function svg(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

class Histogram {
  /** handles: the limits on the axis; choose(position) picks a part by its dot. */
  constructor(find, { handles, choose }) {
    Object.assign(this, { handles, choose });
    this.plot = find(".plot");
    this.drawing = find(".plot svg");
    this.tip = find(".tip");
    this.dots = [];
    this.plot.addEventListener("pointermove", (event) => this.onHover(event));
    this.plot.addEventListener("pointerleave", () => this.hover(null));
    this.plot.addEventListener("click", (event) => this.onClick(event));
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.plot);
  }

  close() {
    this.observer.disconnect();
  }

  /** Take over the scores; the axis makes room for the limits in force and the suggested ones. */
  fill({ parts, suggested }, limits, decimals) {
    Object.assign(this, { parts, suggested, decimals });
    this.limits = limits;
    this.fitAxis();
    this.draw();
  }

  /** The axis after a limit was set from outside a drag. */
  makeRoomFor(limits) {
    if (limits.review >= this.axis.low && limits.reject <= this.axis.high) return;
    this.limits = limits;
    this.fitAxis();
    this.draw();
  }

  fitAxis() {
    const { limits, suggested } = this;
    const scores = this.parts.map(({ score }) => score);
    this.axis = axisFor(scores, [limits.review, limits.reject, suggested.review, suggested.reject]);
  }

  draw() {
    const width = this.plot.clientWidth;
    if (!this.axis || width === 0) return;
    this.lanes = LANES.map((lane) => ({
      ...lane,
      members: this.parts.map((_, i) => i).filter((i) => this.parts[i].ground_truth === lane.truth),
    })).filter((lane) => lane.members.length > 0);
    this.left = GUTTER;
    this.width = width - this.left - REACH;
    const laneHeight = BAR_HEIGHT + RUG_HEIGHT + LANE_GAP;
    this.bottom = TAG_HEIGHT + this.lanes.length * laneHeight;
    const height = this.bottom + AXIS_HEIGHT;
    this.plot.style.height = `${height}px`;
    this.drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.dots = [];
    this.drawing.replaceChildren(
      ...this.lanes.flatMap((lane, i) => this.drawLane(lane, TAG_HEIGHT + i * laneHeight)),
      ...this.drawAxis(),
    );
    this.handles.layOut(this.axis, { left: this.left, width: this.width, top: TAG_HEIGHT, bottom: this.bottom });
    this.follow(this.limits);
    this.mark(this.chosen);
  }

  drawLane({ truth, label, members }, top) {
    const base = top + BAR_HEIGHT;
    const middle = base + RUG_HEIGHT / 2;
    const drawn = [];
    const name = svg("text", { x: 0, y: base - 6, class: "lane-name" });
    name.textContent = label;
    drawn.push(name);
    this.memberCounts(truth, members).forEach((text, line) => {
      const count = svg("text", { x: 0, y: base + 10 + 15 * line, class: "lane-count" });
      count.textContent = text;
      drawn.push(count);
    });
    const bins = Math.min(64, Math.max(20, Math.round(this.width / 14)));
    const heights = new Array(bins).fill(0);
    for (const i of members) heights[Math.min(bins - 1, Math.floor(this.axis.place(this.parts[i].score) * bins))] += 1;
    const highest = Math.max(...heights);
    heights.forEach((number, bin) => {
      if (number === 0) return;
      const height = Math.max(2, (number / highest) * (BAR_HEIGHT - 2));
      const x = this.left + (bin / bins) * this.width + 0.5;
      const barWidth = this.width / bins - 1;
      drawn.push(svg("rect", { class: `bar ${truth}`, x, y: base - height, width: barWidth, height, rx: 1.5 }));
    });
    drawn.push(
      svg("line", { class: "ground", x1: this.left, x2: this.left + this.width, y1: base + 0.5, y2: base + 0.5 }),
    );
    for (const i of members) {
      // A fixed small shift by position keeps equal scores apart.
      const x = this.left + this.axis.place(this.parts[i].score) * this.width;
      const y = middle + (((i * 7) % 5) - 2) * 1.6;
      const hollow = USES[truth] && this.parts[i].counted === "" ? " hollow" : "";
      const dot = svg("path", {
        class: `dot ${truth}${hollow}`,
        d: dotShape(truth),
        transform: `translate(${x} ${y})`,
      });
      this.dots.push({ position: i, element: dot, x, y, wrong: false });
      drawn.push(dot);
    }
    return drawn;
  }

  /** How many parts a lane holds; those that only set the limit, or settings are chosen by, are told from the counted. */
  memberCounts(truth, members) {
    const counted = members.filter((i) => this.parts[i].counted !== "").length;
    const others = members.filter((i) => this.parts[i].counted === "" && !this.parts[i].relabelled).length;
    if (!USES[truth] || counted === 0 || others === 0) {
      return [`${members.length} ${members.length === 1 ? "part" : "parts"}`];
    }
    const [solid, hollow] = truth === "good" ? ["●", "○"] : ["◆", "◇"];
    return [`${solid} ${counted} tested`, `${hollow} ${others} ${USES[truth].short}`];
  }

  drawAxis() {
    const drawn = [
      svg("line", { class: "axis", x1: this.left, x2: this.left + this.width, y1: this.bottom, y2: this.bottom }),
    ];
    let taken = -Infinity;
    const ticks = this.axis.ticks(Math.max(3, this.width / 110));
    for (const tick of ticks) {
      const x = this.left + this.axis.place(tick) * this.width;
      if (x - taken < 44) continue;
      taken = x;
      drawn.push(svg("line", { class: "axis", x1: x, x2: x, y1: this.bottom, y2: this.bottom + 4 }));
      const text = svg("text", { class: "tick", x, y: this.bottom + 17, "text-anchor": "middle" });
      text.textContent = String(Number(tick.toPrecision(6)));
      drawn.push(text);
    }
    const name = svg("text", { class: "lane-count", x: 0, y: this.bottom + 17 });
    name.textContent = "score";
    drawn.push(name);
    return drawn;
  }

  /** Handles and wrongly judged dots under these limits; sentence: what the limits do, for those who listen. */
  follow(limits, sentence = this.sentence) {
    this.limits = limits;
    this.sentence = sentence;
    if (!this.lanes) return;
    this.handles.follow(limits, { decimals: this.decimals, suggested: this.suggested, sentence: sentence ?? "" });
    for (const dot of this.dots) {
      const part = this.parts[dot.position];
      const [truth, verdict] = [part.ground_truth, verdictOf(part, limits)];
      const wrong = (truth === "good" && verdict === "reject") || (truth === "defect" && verdict === "accept");
      if (wrong !== dot.wrong) dot.element.classList.toggle("wrong", wrong);
      dot.wrong = wrong;
    }
  }

  /** Ring the dot of the part on the bench. */
  mark(position) {
    this.chosen = position;
    this.ring?.remove();
    const dot = this.dots.find((each) => each.position === position);
    if (!dot) return;
    this.ring = svg("circle", { class: "ring", cx: dot.x, cy: dot.y, r: 8 });
    this.drawing.append(this.ring);
  }

  nearest(event) {
    const box = this.plot.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let best = null;
    let least = REACH;
    for (const dot of this.dots) {
      const distance = Math.hypot(dot.x - x, dot.y - y);
      if (distance < least) [best, least] = [dot, distance];
    }
    return best;
  }

  onHover(event) {
    this.hover(event.target.closest(".handle") || event.buttons ? null : this.nearest(event));
  }

  hover(dot) {
    this.plot.classList.toggle("on-dot", dot !== null);
    this.tip.hidden = dot === null;
    if (dot === null) return;
    const { name, label, score, ground_truth: truth, counted, relabelled } = this.parts[dot.position];
    const does = relabelled ? "relabelled" : USES[truth]?.long;
    const use = does && counted === "" ? ` · ${does}, not counted` : "";
    this.tip.textContent = `${name} · ${labelInWords(label)} · ${score.toFixed(this.decimals)}${use}`;
    this.tip.style.top = `${dot.y - 36}px`;
    const room = this.plot.clientWidth - this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, Math.min(room, dot.x - this.tip.offsetWidth / 2))}px`;
  }

  onClick(event) {
    if (event.target.closest(".handle")) return;
    const dot = this.nearest(event);
    if (dot) this.choose(dot.position);
  }
}

/** Good parts are round, defects pointed, the rest square: told apart without colour. */
function dotShape(truth) {
  if (truth === "good") return "M -3.2 0 A 3.2 3.2 0 1 1 3.2 0 A 3.2 3.2 0 1 1 -3.2 0 Z";
  if (truth === "defect") return "M 0 -4.4 L 4.4 0 L 0 4.4 L -4.4 0 Z";
  return "M -3 -3 H 3 V 3 H -3 Z";
}

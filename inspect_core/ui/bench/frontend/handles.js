/** The limits as handles on the axis of scores: dragged, or moved by keys. */

const FINE_STEPS = 200;
const COARSE = 10;
const TAG_GAP = 2;
/** In CSS pixels, as in histogram.css; a handle's limit is in its middle. */
const HANDLE_WIDTH = 28;

class LimitHandles {
  /** move(limits) follows a hand, release() ends it. Limits are {review, reject}; equal, they are one handle. */
  constructor(find, { move, release }) {
    Object.assign(this, { move, release });
    this.plot = find(".plot");
    this.handles = { review: find(".handle.review"), reject: find(".handle.reject") };
    this.tags = { review: find(".handle.review .tag"), reject: find(".handle.reject .tag") };
    this.shades = { review: find(".shade.review"), reject: find(".shade.reject") };
    this.suggestedMarks = { review: find(".suggested-mark.review"), reject: find(".suggested-mark.reject") };
    for (const [role, handle] of Object.entries(this.handles)) this.listen(role, handle);
  }

  /** Where the axis lies in the plot: from left over width, lanes between top and bottom, in CSS pixels. */
  layOut(axis, { left, width, top, bottom }) {
    Object.assign(this, { axis, left, width });
    for (const handle of Object.values(this.handles)) handle.style.height = `${bottom}px`;
    for (const shade of Object.values(this.shades)) shade.style.height = `${bottom - top + 4}px`;
    for (const mark of Object.values(this.suggestedMarks)) mark.style.top = `${bottom}px`;
  }

  x(score) {
    return this.left + this.axis.place(score) * this.width;
  }

  follow(limits, { decimals, suggested, sentence }) {
    this.limits = limits;
    const two = hasReviewBand(limits);
    const x = { review: this.x(limits.review), reject: this.x(limits.reject) };
    const end = { review: x.reject, reject: this.left + this.width };
    const names = { review: "Review limit", reject: two ? "Reject limit" : "Limit" };
    this.handles.review.hidden = !two;
    for (const [role, handle] of Object.entries(this.handles)) {
      const value = limits[role].toFixed(decimals);
      this.tags[role].textContent = `${two ? role : "limit"} ${value}`;
      handle.style.left = `${x[role]}px`;
      handle.setAttribute("aria-label", names[role]);
      handle.setAttribute("aria-valuemin", this.axis.low);
      handle.setAttribute("aria-valuemax", this.axis.high);
      handle.setAttribute("aria-valuenow", limits[role]);
      handle.setAttribute("aria-valuetext", `${value}. ${sentence}`);
      this.shades[role].style.left = `${x[role]}px`;
      this.shades[role].style.width = `${Math.max(0, end[role] - x[role])}px`;
    }
    this.placeTags(two, x);
    this.suggestedMarks.review.hidden = !hasReviewBand(suggested);
    for (const [role, mark] of Object.entries(this.suggestedMarks)) mark.style.left = `${this.x(suggested[role])}px`;
  }

  /** Tags stand over their limits, but side by side where they would overlap and never outside the plot. */
  placeTags(two, x) {
    const { review, reject } = this.tags;
    const room = this.plot.clientWidth;
    const [reviewWidth, rejectWidth] = [two ? review.offsetWidth + TAG_GAP : 0, reject.offsetWidth];
    const within = (low, value, high) => Math.max(low, Math.min(high, value));
    let rejectLeft = within(reviewWidth, x.reject - rejectWidth / 2, room - rejectWidth);
    let reviewLeft = within(0, x.review - reviewWidth / 2, room - reviewWidth);
    if (two && reviewLeft + reviewWidth > rejectLeft) {
      rejectLeft = within(reviewWidth, (x.review + x.reject) / 2, room - rejectWidth);
      reviewLeft = rejectLeft - reviewWidth;
    }
    reject.style.left = `${rejectLeft - x.reject + HANDLE_WIDTH / 2}px`;
    review.style.left = `${reviewLeft - x.review + HANDLE_WIDTH / 2}px`;
  }

  listen(role, handle) {
    let grip = null;
    handle.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      handle.focus();
      handle.setPointerCapture(event.pointerId);
      const box = handle.getBoundingClientRect();
      grip = event.clientX - box.left - box.width / 2;
    });
    handle.addEventListener("pointermove", (event) => {
      if (grip === null) return;
      const x = event.clientX - grip - this.plot.getBoundingClientRect().left;
      this.set(role, this.axis.score((x - this.left) / this.width));
    });
    for (const type of ["pointerup", "pointercancel"]) {
      handle.addEventListener(type, () => {
        if (grip !== null) this.release();
        grip = null;
      });
    }
    handle.addEventListener("keydown", (event) => this.onKey(event, role));
    handle.addEventListener("keyup", () => this.release());
    handle.addEventListener("blur", () => this.release());
  }

  onKey(event, role) {
    const step = event.shiftKey ? COARSE : 1;
    const steps = {
      ArrowRight: step,
      ArrowUp: step,
      ArrowLeft: -step,
      ArrowDown: -step,
      PageUp: COARSE,
      PageDown: -COARSE,
    };
    const ends = { Home: 0, End: 1 };
    if (!(event.key in steps || event.key in ends) || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const place = ends[event.key] ?? this.axis.place(this.limits[role]) + steps[event.key] / FINE_STEPS;
    this.set(role, this.axis.score(place));
  }

  /** Move one limit; two keep their order and a little room between them. */
  set(role, score) {
    const { axis } = this;
    const { review, reject } = this.limits;
    const gap = 0.5 / FINE_STEPS;
    let limits = { review: score, reject: score };
    if (review < reject && role === "review") {
      limits = { review: Math.min(score, axis.score(axis.place(reject) - gap)), reject };
    } else if (review < reject) {
      limits = { review, reject: Math.max(score, axis.score(axis.place(review) + gap)) };
    }
    this.limits = limits;
    this.move(limits);
  }
}

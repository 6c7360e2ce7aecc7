/** Limits typed instead of dragged: raw scores, a wanted overkill, the suggested ones, one limit or a review band. */
const BAND_SHARE = 0.15;

class LimitBoxes {
  /** set(limits) takes a limit over at once. */
  constructor(find, set) {
    this.set = set;
    this.boxes = { review: find('input[name="review"]'), reject: find('input[name="reject"]') };
    this.reviewField = find(".field.review");
    this.rejectLabel = find(".field.reject span");
    this.overkill = find('input[name="overkill"]');
    this.overkillField = find(".field.overkill");
    this.suggest = find(".suggest");
    this.band = find('input[name="band"]');
    for (const box of [...Object.values(this.boxes), this.overkill]) {
      box.addEventListener("input", () => (this.typedIn = box));
      for (const ended of ["change", "blur"]) box.addEventListener(ended, () => (this.typedIn = null));
    }
    for (const [role, box] of Object.entries(this.boxes)) {
      box.addEventListener("change", () => this.onScore(role, box));
    }
    this.overkill.addEventListener("change", () => this.onOverkill());
    this.suggest.addEventListener("click", () => this.set({ ...this.suggested }));
    this.band.addEventListener("change", () => this.onBand());
  }

  /** setting_scores: of the good parts a wanted overkill is met on; calm: where colour begins. */
  fill({ suggested, setting_scores: setScores, calm }, decimals) {
    Object.assign(this, { suggested, setScores, calm, decimals });
    this.overkillField.hidden = setScores.length === 0;
    this.overkillField.title = `Overkill on the ${setScores.length} good parts that set the limit`;
  }

  follow(limits) {
    this.limits = limits;
    const two = hasReviewBand(limits);
    this.reviewField.hidden = !two;
    this.rejectLabel.textContent = two ? "Reject above" : "Limit";
    this.band.checked = two;
    for (const [role, box] of Object.entries(this.boxes)) {
      this.show(box, limits[role].toFixed(this.decimals));
    }
    if (this.overkillLimit !== limits.reject) this.show(this.overkill, "");
    const [review, reject] = [this.suggested.review, this.suggested.reject].map((each) => each.toFixed(this.decimals));
    this.suggest.textContent = `Suggested ${hasReviewBand(this.suggested) ? `${review} – ` : ""}${reject}`;
    this.suggest.disabled = sameLimits(limits, this.suggested);
  }

  /** A reply of the server does not wipe out a number that is being typed. */
  show(box, text) {
    if (this.typedIn !== box) box.value = text;
  }

  onScore(role, box) {
    const score = Number(box.value.replace(",", "."));
    if (box.value.trim() === "" || !Number.isFinite(score)) {
      box.value = this.limits[role].toFixed(this.decimals);
      return;
    }
    const { review, reject } = this.limits;
    if (!hasReviewBand(this.limits)) this.set({ review: score, reject: score });
    else if (role === "review") this.set({ review: score, reject: Math.max(score, reject) });
    else this.set({ review: Math.min(review, score), reject: score });
  }

  onOverkill() {
    const rate = Number(this.overkill.value.replace(",", ".")) / 100;
    if (this.overkill.value.trim() === "" || !(rate >= 0 && rate < 1)) {
      this.overkill.value = "";
      return;
    }
    const limit = limitForOverkill(this.setScores, rate);
    this.overkillLimit = limit;
    const review = hasReviewBand(this.limits) ? Math.min(this.limits.review, limit) : limit;
    this.set({ review, reject: limit });
  }

  onBand() {
    const { review } = this.limits;
    const width = BAND_SHARE * Math.abs(review - this.calm) || 1;
    this.set({ review, reject: this.band.checked ? review + width : review });
  }
}

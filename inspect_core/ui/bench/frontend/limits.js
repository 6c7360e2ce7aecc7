/** Limits typed instead of dragged: raw scores, a wanted overkill, the suggested ones, one limit or a review band. */
const BAND_SHARE = 0.15;
/** How far above the highest score a limit is asked about, in times of that score: it would accept every part. */
const FAR_ABOVE = 2;

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
      box.addEventListener("input", () => {
        this.typedIn = box;
        box.setCustomValidity("");
      });
      for (const ended of ["change", "blur"]) box.addEventListener(ended, () => (this.typedIn = null));
    }
    for (const [role, box] of Object.entries(this.boxes)) {
      box.addEventListener("change", () => this.onScore(role, box));
    }
    this.overkill.addEventListener("change", () => this.onOverkill());
    this.suggest.addEventListener("click", () => this.set({ ...this.suggested }));
    this.band.addEventListener("change", () => this.onBand());
  }

  /** setting_scores: of the good parts a wanted overkill is met on; typicalScore: where colour begins. */
  fill({ suggested, setting_scores: setScores, typical_score: typicalScore, parts }, decimals) {
    const scores = parts.map(({ score }) => score).filter(Number.isFinite);
    const [lowest, highest] = [Math.min(...scores), Math.max(...scores, suggested.reject)];
    Object.assign(this, { suggested, setScores, typicalScore, decimals, lowest, highest });
    this.overkillField.hidden = setScores.length === 0;
    this.overkillField.title = `False-reject rate on the ${setScores.length} calibration parts`;
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
    const told = (value) => value.toFixed(this.decimals);
    const typed = box.value.trim();
    const score = Number(typed.replace(",", "."));
    const limits = hasReviewBand(this.limits) ? { ...this.limits, [role]: score } : { review: score, reject: score };
    const refuse = (why) => this.refuse(box, told(this.limits[role]), why);
    if (typed === "") box.value = told(this.limits[role]);
    else if (!Number.isFinite(score)) refuse(`“${typed}” is not a number: enter a score.`);
    else if (score < Math.min(this.lowest, this.typicalScore)) {
      refuse(`This limit would reject every part: the lowest score is ${told(this.lowest)}.`);
    } else if (limits.review > limits.reject) {
      const order = "The review limit must be below the reject limit";
      const [here, there] = role === "review" ? ["at most", limits.reject] : ["at least", limits.review];
      refuse(`${order}: enter ${here} ${told(there)}, or untick the review band.`);
    } else if (score > FAR_ABOVE * Math.abs(this.highest) && score !== this.asked) {
      this.asked = score;
      refuse(`A limit of ${typed} accepts every part: the highest score is ${told(this.highest)}. Enter it again to set it.`);
    } else this.set(limits);
  }

  /** The number goes back to what is in force, and the box says why. */
  refuse(box, inForce, why) {
    box.value = inForce;
    box.setCustomValidity(why);
    box.reportValidity();
  }

  onOverkill() {
    const typed = this.overkill.value.trim();
    const rate = Number(typed.replace(/ ?%$/, "").replace(",", ".")) / 100;
    if (typed === "") return;
    if (!(rate >= 0 && rate < 1)) {
      this.refuse(this.overkill, "", `“${typed}” is not a percentage: enter 0 or more, below 100.`);
      return;
    }
    const limit = limitForOverkill(this.setScores, rate);
    this.overkillLimit = limit;
    const review = hasReviewBand(this.limits) ? Math.min(this.limits.review, limit) : limit;
    this.set({ review, reject: limit });
  }

  onBand() {
    const { review } = this.limits;
    const width = BAND_SHARE * Math.abs(review - this.typicalScore) || 1;
    this.set({ review, reject: this.band.checked ? review + width : review });
  }
}

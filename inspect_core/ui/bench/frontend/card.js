/** The verdict card: the word, score and limit, what speaks against it, and where the part exceeds the limit. */
const MOST_REGIONS = 12;

class VerdictCard {
  /** zoomTo(box): a region was clicked, its box in pixels of the original; label(name): what the engineer says it is. */
  constructor(find, { zoomTo, label }) {
    this.zoomTo = zoomTo;
    this.labelling = find(".labelling");
    this.isGood = find('.labelling button[value="good"]');
    this.isDefect = find('.labelling button[value="defect"]');
    this.type = find(".labelling select");
    this.isGood.addEventListener("click", () => label("good"));
    this.isDefect.addEventListener("click", () => label("defect"));
    this.type.addEventListener("change", () => label(this.type.value));
    this.card = find(".card");
    this.alarm = find(".card .alarm");
    this.word = find(".card .word");
    this.figures = find(".card dl");
    this.defectType = find(".card .defect-type");
    this.score = find(".card .score");
    this.limit = find(".card .limit");
    this.limitName = find(".card .limit-name");
    this.remark = find(".card .remark");
    this.guard = find(".card .guard");
    this.note = find(".card .note");
    this.heading = find(".card .regions-heading");
    this.list = find(".card ol");
    this.more = find(".card .more");
    this.rows = Array.from({ length: MOST_REGIONS }, () => this.newRow());
    this.list.append(...this.rows.map((row) => row.item));
  }

  /** As by a click on the button of a label, where it can be clicked. */
  press(label) {
    if (!this.labelling.hidden) ({ good: this.isGood, defect: this.isDefect })[label].click();
  }

  newRow() {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    const bar = document.createElement("span");
    bar.className = "bar";
    const size = document.createElement("span");
    const peak = document.createElement("span");
    peak.className = "peak";
    button.append(bar, size, peak);
    item.append(button);
    const row = { item, button, bar, size, peak, box: null };
    button.addEventListener("click", () => this.zoomTo(row.box));
    return row;
  }

  /** A photo without a score: its verdict and the reason are all there is. */
  showUnscored({ verdict: stated, reason }) {
    const verdict = WITHOUT_SCORE[stated];
    this.card.dataset.verdict = verdict;
    this.word.textContent = `${VERDICTS[verdict].icon} ${VERDICTS[verdict].word}`;
    for (const element of [this.defectType, this.figures, this.remark, this.alarm, this.guard, this.heading, this.more, this.labelling]) {
      element.hidden = true;
    }
    this.list.hidden = true;
    setOrHide(this.note, `${reason[0].toUpperCase()}${reason.slice(1)}.`);
  }

  /**
   * part: what Python sent of the part shown, with its map; returns the verdict and, in
   * words, what lies above the limit for review. What is said of another product stands above the verdict.
   */
  judge(part, limits, decimals) {
    const verdict = verdictOf(part, limits);
    const { icon, word } = VERDICTS[verdict];
    this.card.dataset.verdict = verdict;
    this.word.textContent = `${icon} ${word}`;
    setOrHide(this.defectType, verdict === "accept" ? null : part.defect_type);
    const two = hasReviewBand(limits);
    const nearest = verdict === "reject" ? limits.reject : limits.review;
    const [score, limit] = toldApart(part.score, nearest, decimals);
    this.score.textContent = score;
    this.limitName.textContent = two ? "limits" : "limit";
    this.limit.textContent = two ? `${limits.review.toFixed(decimals)} – ${limits.reject.toFixed(decimals)}` : limit;
    this.figures.hidden = this.heading.hidden = false;
    setOrHide(this.remark, remarkOn(part, verdict, limits));
    setOrHide(this.alarm, part.is_foreign ? part.check : null);
    setOrHide(this.guard, part.is_foreign ? null : part.check);
    setOrHide(this.note, part.note);
    const above = limits.preview ? [] : regionsAbove(part.map, limits.review, part.area);
    const regions = above.map((region) => scaleRegion(region, part.map, part.image_size));
    const finding = limits.preview ? "Its verdict follows" : findingOn(part, regions, limits.review);
    this.list.hidden = regions.length === 0;
    this.heading.textContent = finding;
    const highest = regions[0]?.peak - limits.review;
    this.rows.forEach((row, i) => {
      const region = regions[i];
      row.item.hidden = region === undefined;
      if (region === undefined) return;
      const [x0, y0, x1, y1] = region.box;
      row.box = region.box;
      row.size.textContent = sizeInWords(x1 - x0, y1 - y0, part.mm_per_pixel);
      row.peak.textContent = `peak ${region.peak.toFixed(decimals)}`;
      row.bar.style.setProperty("--share", highest > 0 ? (region.peak - limits.review) / highest : 1);
      row.button.title = `${areasInWords([region.area], part.mm_per_pixel)} above the limit. Zoom in.`;
    });
    this.followLabel(part, limits.preview);
    const left = regions.length - MOST_REGIONS;
    setOrHide(this.more, left > 0 ? `and ${left} more` : null);
    return { verdict, finding };
  }

  /** What the part is taken for: good, or a defect of one of the types on the bench. */
  followLabel({ label, ground_truth: truth, parts }, preview) {
    this.labelling.hidden = preview;
    for (const [button, own] of [[this.isGood, "good"], [this.isDefect, "defect"]]) {
      button.setAttribute("aria-pressed", truth === own);
      button.disabled = truth === own;
    }
    this.type.hidden = truth !== "defect";
    const labels = parts.filter((part) => part.ground_truth === "defect").map((part) => part.label);
    const types = [...new Set([...labels, "defect"])].sort();
    this.type.replaceChildren(...types.map((type) => new Option(labelInWords(type), type, false, type === label)));
  }
}

/** What of a part lies above the limit, in pixels of the photo. */
function findingOn({ map, image_size: size, area, mm_per_pixel: mmPerPixel }, regions, limit) {
  if (regions.length > 0) return `${regions.length} ${regions.length === 1 ? "region" : "regions"} above the limit`;
  const above = areaAbove(map, limit);
  if (above === 0) return "No region above the limit";
  const smallest = scaleArea(area, map, size);
  // On a photo smaller than the map both may round to the same number.
  const reached = Math.min(scaleArea(above, map, size), smallest - 1);
  return `Below the minimum area: ${areasInWords([reached, smallest], mmPerPixel)}`;
}

/** Where verdict and truth disagree, in the words of the shop floor. */
function remarkOn(part, verdict, limits) {
  if (part.ground_truth === "good" && verdict === "reject") return "False reject: this part is good.";
  if (isElsewhere(part, limits)) {
    return `${ELSEWHERE}: no region above the minimum area overlaps the true defect.`;
  }
  const escaped = part.ground_truth === "defect" && verdict === "accept";
  return escaped ? `Escape: this part has a defect (${labelInWords(part.label)}).` : null;
}

function setOrHide(element, text) {
  element.hidden = !text;
  element.textContent = text ?? "";
}

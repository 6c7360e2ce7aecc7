/** Whether a part is behind a filter: "all", a verdict, "missed", "stopped" or "elsewhere". */
const passes = ({ verdict, wrong, tag }, filter) =>
  filter === "all" || wrong === filter || (filter === "elsewhere" ? !tag.hidden : verdict === filter);

/** The gallery: a picture of every part with its verdict, sorted, filtered and searched. */
class Gallery {
  /** choose(position) is called when a part is picked. */
  constructor(find, choose) {
    this.choose = choose;
    this.list = find(".parts");
    this.nothing = find(".nothing");
    this.verdictButtons = [...find(".filters").querySelectorAll("button")];
    this.selects = { label: find('select[name="label"]'), group: find('select[name="group"]') };
    this.filter = { verdict: "all", label: "", group: "", text: "" };
    this.sorting = find('select[name="sort"]');
    this.search = find('input[name="search"]');
    this.items = [];
    this.order = [];
    for (const button of this.verdictButtons) {
      button.addEventListener("click", () => this.filterBy({ verdict: button.value }));
    }
    for (const [name, select] of Object.entries(this.selects)) {
      select.addEventListener("change", () => this.filterBy({ [name]: select.value }));
    }
    this.sorting.addEventListener("change", () => this.arrange());
    this.search.addEventListener("input", () => this.filterBy({ text: this.search.value }));
    find(".nothing button").addEventListener("click", () => this.showAll());
    this.list.addEventListener("click", (event) => {
      const item = event.target.closest(".part");
      if (item) this.choose(Number(item.dataset.position));
    });
    this.list.addEventListener("keydown", (event) => this.onKey(event));
  }

  /**
   * Take over the parts; items are kept where they are the same. Photos without a score come after the others.
   */
  fill({ parts: scored, unscored }, decimals) {
    const parts = [...scored, ...unscored];
    const same = parts.length === this.items.length && parts.every(({ name }, i) => name === this.parts[i].name);
    if (!same) {
      this.items = parts.map(({ name, label }, i) => this.newItem(name, label, i));
      this.pictures = undefined;
    }
    this.parts = parts;
    this.items.forEach((item, i) => (item.score.textContent = parts[i].score?.toFixed(decimals) ?? ""));
    if (!same) this.order = [];
    this.arrange();
    this.fillSelect("label", "All defect types", parts.map(({ label }) => label));
    this.fillSelect("group", "All lots", parts.map(({ group }) => group).filter((group) => group !== null));
  }

  /** Bring the parts into the order that is asked for: highest score first, by name, or nearest to the limit first. */
  arrange() {
    const { parts, limits } = this;
    const ranks = {
      score: ({ score }) => score ?? -Infinity,
      margin: ({ score }) => (score === undefined || !limits ? -Infinity : -Math.abs(score - limits.reject)),
      name: () => 0,
    };
    const rank = ranks[this.sorting.value];
    const byName = (a, b) => parts[a].name.localeCompare(parts[b].name, undefined, { numeric: true });
    const tie = this.sorting.value === "name" ? byName : (a, b) => a - b;
    const order = parts
      .map((_, i) => i)
      .sort((a, b) => (rank(parts[a]) === rank(parts[b]) ? tie(a, b) : rank(parts[b]) - rank(parts[a])));
    if (order.length === this.order.length && order.every((position, i) => position === this.order[i])) return;
    this.order = order;
    this.list.replaceChildren(...order.map((i) => this.items[i].element));
  }

  newItem(name, label, position) {
    const element = document.createElement("div");
    element.className = "part";
    element.id = `part-${position}`;
    element.role = "option";
    element.dataset.position = position;
    const picture = document.createElement("span");
    picture.className = "picture";
    const image = document.createElement("img");
    image.alt = "";
    image.decoding = "async";
    image.loading = "lazy";
    picture.append(image);
    const texts = document.createElement("span");
    texts.className = "texts";
    const [badge, score, tag, caption] = ["badge", "score", "tag", "name"].map((role) => {
      const span = document.createElement("span");
      span.className = role;
      return span;
    });
    const words = document.createElement("bdi");
    words.textContent = name.split("/").slice(-2).join("/");
    caption.append(words);
    caption.title = `${name} · ${labelInWords(label)}`;
    tag.textContent = ELSEWHERE;
    tag.hidden = true;
    texts.append(badge, score, tag, caption);
    element.append(picture, texts);
    return { element, image, badge, score, tag };
  }

  fillSelect(name, all, values) {
    const select = this.selects[name];
    const options = [...new Set(values)].sort();
    select.parentElement.hidden = options.length < 2;
    const known = [...select.options].slice(1).map((option) => option.value);
    if (select.options.length && known.length === options.length && known.every((value, i) => value === options[i])) {
      return;
    }
    select.replaceChildren(
      new Option(all, ""),
      ...options.map((value) => new Option(name === "label" ? labelInWords(value) : value, value)),
    );
    this.filter[name] = "";
  }

  /** Pictures of the parts as blobs, in their order. */
  showPictures(blobs) {
    if (this.pictures === blobs) return;
    this.pictures = blobs;
    this.items.forEach(({ image }, i) => {
      if (!blobs[i]) return;
      if (image.src) URL.revokeObjectURL(image.src);
      image.src = URL.createObjectURL(new Blob([blobs[i]]));
    });
  }

  /** Verdicts under these limits; only what changes is touched. */
  judge(limits) {
    this.limits = limits;
    const counts = { all: this.items.length, elsewhere: 0, missed: 0, stopped: 0 };
    for (const verdict of Object.keys(VERDICTS)) counts[verdict] = 0;
    let changed = false;
    this.items.forEach((item, i) => {
      const part = this.parts[i];
      const verdict = WITHOUT_SCORE[part.verdict] ?? verdictOf(part, limits);
      const elsewhere = !part.verdict && isElsewhere(part, limits);
      const wrong = part.verdict ? null : wrongVerdict(part, limits);
      counts[verdict] += 1;
      counts.elsewhere += elsewhere;
      if (wrong) counts[wrong] += 1;
      if (item.verdict === verdict && item.tag.hidden === !elsewhere && item.wrong === wrong) return;
      item.verdict = verdict;
      item.wrong = wrong;
      item.tag.hidden = !elsewhere;
      item.element.dataset.verdict = verdict;
      item.badge.textContent = `${VERDICTS[verdict].icon} ${VERDICTS[verdict].word}`;
      changed = true;
    });
    for (const button of this.verdictButtons) {
      button.querySelector("b").textContent = counts[button.value];
      button.title = this.setsOf(button.value);
      const always = button.value === "review" ? hasReviewBand(limits) : !button.closest(".more-filters");
      button.hidden = counts[button.value] === 0 && !always && this.filter.verdict !== button.value;
    }
    if (this.sorting.value === "margin") this.arrange();
    if (changed) this.applyFilter();
  }

  /** Which sets the parts behind a filter belong to: "3 test photos, 6 validation defects". */
  setsOf(filter) {
    const sets = this.parts.filter((_, i) => passes(this.items[i], filter)).map(({ set }) => set);
    const each = [...new Set(sets)].map((set) => `${sets.filter((own) => own === set).length} ${set}`);
    return each.join(", ");
  }

  showAll() {
    this.search.value = "";
    this.filterBy({ verdict: "all", label: "", group: "", text: "" });
  }

  /** Show exactly the parts that the sentence counts: "missed" or "stopped". */
  showCounted(verdict) {
    this.showAll();
    this.filterBy({ verdict });
  }

  /** Show the parts that pass; where the chosen one does not, the first of them is chosen. */
  filterBy(change) {
    Object.assign(this.filter, change);
    for (const [name, select] of Object.entries(this.selects)) select.value = this.filter[name];
    this.applyFilter();
    this.step(0);
  }

  applyFilter() {
    const { verdict, label, group, text } = this.filter;
    const wanted = text.trim().toLowerCase();
    let count = 0;
    this.items.forEach((item, i) => {
      const fits =
        (item.verdict === "preview" || passes(item, verdict)) &&
        this.parts[i].name.toLowerCase().includes(wanted) &&
        (label === "" || this.parts[i].label === label) &&
        (group === "" || this.parts[i].group === group);
      item.element.hidden = !fits;
      count += fits;
    });
    for (const button of this.verdictButtons) button.setAttribute("aria-pressed", button.value === verdict);
    this.nothing.hidden = count > 0;
  }

  /** Mark the chosen part and bring it into view within the gallery. */
  select(position) {
    if (this.selected === position && this.items[position]?.element.ariaSelected === "true") return;
    this.items.forEach((item, i) => item.element.setAttribute("aria-selected", i === position));
    this.selected = position;
    const { element } = this.items[position];
    this.list.setAttribute("aria-activedescendant", element.id);
    if (element.hidden) return;
    const { list } = this;
    const [shelf, item] = [list.getBoundingClientRect(), element.getBoundingClientRect()];
    if (item.top < shelf.top || item.bottom > shelf.bottom) list.scrollTop += item.top - shelf.top - shelf.height / 3;
    if (item.left < shelf.left || item.right > shelf.right) list.scrollLeft += item.left - shelf.left - shelf.width / 3;
  }

  /** The part so many places further on among those visible. */
  step(places) {
    const visible = this.order.filter((i) => !this.items[i].element.hidden);
    if (visible.length === 0) return;
    const here = visible.indexOf(this.selected);
    const next = here < 0 ? 0 : Math.min(visible.length - 1, Math.max(0, here + places));
    if (visible[next] !== this.selected) this.choose(visible[next]);
  }

  /** The next visible part whose truth is unknown, from the first again after the last. */
  stepToUnlabelled() {
    const visible = this.order.filter((i) => !this.items[i].element.hidden);
    const here = visible.indexOf(this.selected);
    const turned = [...visible.slice(here + 1), ...visible.slice(0, here + 1)];
    const next = turned.find((i) => this.parts[i].ground_truth === "unknown");
    if (next !== undefined && next !== this.selected) this.choose(next);
  }

  onKey(event) {
    const places = {
      ArrowDown: 1,
      ArrowRight: 1,
      ArrowUp: -1,
      ArrowLeft: -1,
      PageDown: 6,
      PageUp: -6,
      Home: -1e9,
      End: 1e9,
    };
    if (!(event.key in places) || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.step(places[event.key]);
  }
}

/** What is known of a part, in words. */
function labelInWords(label) {
  return label === "unknown" ? "unknown" : label.replaceAll("_", " ");
}

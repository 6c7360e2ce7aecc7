/**
 * The arithmetic of limits, the same as in scoring/verdict_rule.py, counts.py and limits.py to the bit and to the word.
 * Scores are float32 from Python; JavaScript's numbers are float64, in which Python compares too.
 */
const VERDICTS = {
  reject: { icon: "✕", word: "Reject" },
  review: { icon: "?", word: "Review" },
  accept: { icon: "✓", word: "Accept" },
  unjudged: { icon: "!", word: "Not judged" },
  lost: { icon: "ø", word: "Not located" },
  unread: { icon: "–", word: "Not judged" },
  preview: { icon: "", word: "Preview" },
};

/** Verdict on a photo without a score, by Python's word. */
const WITHOUT_SCORE = { "not located": "lost", "not judged": "unread" };

const ELSEWHERE = "↗ Detected elsewhere";

/** Whether numbers can be compared with one another; what is not finite decides nothing, and nothing is accepted on it. */
const areFinite = (...numbers) => numbers.every(Number.isFinite);

/**
 * "accept" for score <= review, "review" for score <= reject, else "reject"; "unjudged" where a number is not finite.
 * stopped: Python's product check rejects the photo, whatever its score; never_accepted: it does not show all of the
 * part, or an area is of another shade. "preview" under the limits of a preview, which only set its colours.
 */
function verdictOf({ score, stopped, never_accepted: neverAccepted }, limits) {
  if (limits.preview) return "preview";
  if (stopped) return "reject";
  if (!areFinite(score, limits.review, limits.reject)) return "unjudged";
  if (score <= limits.review) return neverAccepted ? "review" : "accept";
  return score <= limits.reject ? "review" : "reject";
}

const hasReviewBand = (limits) => limits.review < limits.reject;

const sameLimits = (a, b) => a.review === b.review && a.reject === b.reject;

/** Whether a defect is caught, but not where it is; found_up_to: of scoring/defect_hits.py, null where that is not known. */
const isElsewhere = (part, limits) =>
  part.found_up_to !== null && part.found_up_to <= limits.review && !["accept", "preview"].includes(verdictOf(part, limits));

/** "missed" for a defect that is counted and accepted, "stopped" for a good part that is counted and rejected, else null. */
function wrongVerdict(part, limits) {
  const verdict = verdictOf(part, limits);
  if (part.counted === "defect" && verdict === "accept") return "missed";
  return part.counted === "good" && verdict === "reject" ? "stopped" : null;
}

const NO_SCORE = { not_located: 0, not_judged: 0 };

/**
 * What the limits do to the parts that count, by their verdicts; `counted` of a part: "good", "defect" or "";
 * withoutScore: for good parts and defects, how many have no score, by word.
 */
function countParts(parts, limits, withoutScore = { good: NO_SCORE, defect: NO_SCORE }) {
  const [good, defect] = [withoutScore.good, withoutScore.defect].map((own) => own.not_located + own.not_judged);
  const counts = { goodRejected: 0, goodTotal: good, missed: 0, defectsTotal: defect, withoutScore, good: 0, defects: 0 };
  Object.assign(counts, { goodReviewed: 0, defectsReviewed: 0, withMask: 0, there: 0, elsewhere: 0 });
  for (const part of parts.filter(({ counted }) => counted)) {
    const verdict = verdictOf(part, limits);
    if (part.counted === "good") {
      counts.goodTotal += 1;
      counts.good += 1;
      if (verdict === "reject") counts.goodRejected += 1;
      if (verdict === "review") counts.goodReviewed += 1;
    } else {
      counts.defectsTotal += 1;
      counts.defects += 1;
      if (verdict === "accept") counts.missed += 1;
      if (verdict === "review") counts.defectsReviewed += 1;
      if (part.found_up_to === null) continue;
      counts.withMask += 1;
      if (part.found_up_to > limits.review) counts.there += 1;
      if (isElsewhere(part, limits)) counts.elsewhere += 1;
    }
  }
  counts.caught = counts.defects - counts.missed;
  return counts;
}

/** Where the sentence names parts that the gallery can show: the words before the number -> its filter. */
const COUNTED = { rejects: "stopped", misses: "missed" };

/** The sentence as nodes: numbers of COUNTED above 0 are buttons that call show(filter). */
function linked(sentence, show) {
  return sentence.split(/\b((?:rejects|misses) [1-9]\d*)(?= of)/i).map((words, i) => {
    if (i % 2 === 0) return words;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "plain";
    button.textContent = words;
    button.title = "Show these parts in the gallery";
    button.addEventListener("click", () => show(COUNTED[words.split(" ")[0].toLowerCase()]));
    return button;
  });
}

/** The sentence in parts; bounds: as text for every number of good parts rejected, sent by Python. */
function inParts(counts, bounds, twoLimits, limitSetOnThese, relabelled = 0) {
  const clauses = [];
  if (counts.goodTotal) {
    const bound = bounds[counts.goodRejected];
    const inspected = counts.good < counts.goodTotal ? "inspected " : "";
    clauses.push(`rejects ${counts.goodRejected} of ${counts.good} ${inspected}good parts (long-run upper bound ${bound})`);
  }
  if (counts.defectsTotal) {
    const noun = counts.defects === 1 ? "defect" : "defects";
    const inspected = counts.defects < counts.defectsTotal ? "inspected " : "";
    clauses.push(`misses ${counts.missed} of ${counts.defects} ${inspected}${noun}`);
    if (counts.withMask) clauses.push(`detects ${counts.caught} of ${counts.defects}${whereCaught(counts)}`);
  }
  if (clauses.length === 0) return "No parts to count.";
  if (twoLimits || counts.goodReviewed || counts.defectsReviewed) clauses.push(sentToReview(counts));
  const toSort = [
    ...withoutScoreOfAll(counts.withoutScore.defect, counts.defectsTotal, "defects"),
    ...withoutScoreOfAll(counts.withoutScore.good, counts.goodTotal, "good parts"),
  ];
  const sentence = clauses.join(", ") + (toSort.length ? `; ${toSort.join(", ")}, sort by hand` : "");
  const note = limitSetOnThese ? " These parts also set the limit." : "";
  const aside = relabelled ? ` ${relabelled} relabelled; teach again to count ${relabelled === 1 ? "it" : "them"}.` : "";
  return `${sentence[0].toUpperCase()}${sentence.slice(1)}.${note}${aside}`;
}

function sentToReview({ good: ofGood, defects: ofDefects, goodTotal, goodReviewed: good, defectsTotal, defectsReviewed: defects }) {
  const kinds = [defects && `${defects} ${defects === 1 ? "defect" : "defects"}`, good && `${good} good`].filter(Boolean);
  const which = goodTotal && defectsTotal && kinds.length ? `: ${kinds.join(", ")}` : "";
  return `sends ${good + defects} of ${ofGood + ofDefects} to review${which}`;
}

function withoutScoreOfAll({ not_located: lost, not_judged: unjudged }, total, noun) {
  const inWords = (count, word) => count && `${count} of ${total} ${noun} ${word}`;
  return [inWords(lost, "not located"), inWords(unjudged, "not judged")].filter(Boolean);
}

function whereCaught({ caught, there, elsewhere }) {
  if (caught === 0) return "";
  const unknown = caught - there - elsewhere;
  return ` (${there} at the defect, ${elsewhere} elsewhere${unknown ? `, ${unknown} without a mask` : ""})`;
}

/** The limit that rejects at most the share `rate` of the given good scores: limit_for_overkill of scoring/limits.py. */
function limitForOverkill(goodScores, rate) {
  const scores = Float64Array.from(goodScores).sort();
  const allowed = Math.min(Math.trunc(rate * scores.length + 1e-9), scores.length - 1);
  const accepted = scores[scores.length - 1 - allowed];
  const above = scores.find((score) => score > accepted);
  if (above !== undefined) {
    const middle = accepted + (above - accepted) / 2;
    return middle < above ? middle : accepted;
  }
  const below = scores.findLast((score) => score < accepted);
  return below === undefined ? accepted : accepted + (accepted - below) / 2;
}

/**
 * The range in which scores are told apart: that of all of them, but no more than four times the way from a typical
 * score to the suggested limit, so that one photo of something else takes no decimals from the others.
 */
function rangeToTell(scores, typical, suggested) {
  const range = Math.max(...scores) - Math.min(typical, ...scores);
  const toLimit = 4 * (suggested.reject - typical);
  return toLimit > 0 ? Math.min(range, toLimit) : range;
}

/** Decimals with which a hundredth of the range can still be told apart. */
function decimalsFor(range) {
  return Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(range || 1))));
}

/** Two scores as text, with more decimals than asked when they differ and would read the same. */
function toldApart(a, b, decimals) {
  let enough = decimals;
  while (a !== b && enough < 12 && a.toFixed(enough) === b.toFixed(enough)) enough += 1;
  return [a.toFixed(enough), b.toFixed(enough)];
}

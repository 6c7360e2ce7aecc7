/** The axis of scores: places between 0 and 1 for scores, and back. */
class Axis {
  constructor(low, high, logarithmic) {
    this.low = low;
    this.high = high;
    this.warp = logarithmic ? Math.log : (value) => value;
    this.unwarp = logarithmic ? Math.exp : (value) => value;
    this.logarithmic = logarithmic;
    this.from = this.warp(low);
    this.span = this.warp(high) - this.from;
  }

  place(score) {
    return (this.warp(Math.max(score, this.logarithmic ? this.low : score)) - this.from) / this.span;
  }

  /** The score at a place, kept on the axis. */
  score(place) {
    const score = this.unwarp(this.from + Math.min(1, Math.max(0, place)) * this.span);
    return Math.min(this.high, Math.max(this.low, score));
  }

  /** About `count` round scores to write under the axis. */
  ticks(count) {
    if (this.logarithmic) {
      const ticks = [];
      for (let power = Math.floor(Math.log10(this.low)); power <= Math.log10(this.high); power += 1) {
        for (const digit of [1, 2, 5]) ticks.push(digit * 10 ** power);
      }
      return ticks.filter((tick) => tick >= this.low && tick <= this.high);
    }
    const rough = (this.high - this.low) / count;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((digit) => digit * power >= rough);
    const ticks = [];
    for (let i = Math.ceil(this.low / step); i * step <= this.high; i += 1) ticks.push(i * step);
    return ticks;
  }
}

/**
 * An axis on which all scores and limits have room. Where defects lie far beyond the good, distances are shown as
 * ratios (a logarithmic axis), or the good parts would be one bar.
 */
function axisFor(scores, marks) {
  const sorted = [...scores].sort((a, b) => a - b);
  const ends = [sorted[0], sorted[sorted.length - 1], ...marks];
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (low > 0 && sorted[sorted.length - 1] > 8 * middle) return new Axis(low / 1.1, high * 1.1, true);
  const margin = 0.04 * (high - low) || 0.05 * Math.abs(high) || 1;
  return new Axis(low - margin, high + margin, false);
}

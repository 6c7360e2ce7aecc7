// Pillow's BILINEAR, byte for byte: step 2 of docs/RUNNER.md.

/**
 * RGB bytes of a photo of [height, width], row by row, at the size [toHeight, toWidth].
 * @returns {Uint8Array}
 */
export function squash(rgb, [height, width], [toHeight, toWidth]) {
  const narrow = alongAxis(rgb, height, width, toWidth, 3);
  return alongAxis(narrow, 1, height, toHeight, 3 * toWidth);
}

/** The middle axis of bytes of the shape (outer, from, inner), resized to `to`. */
function alongAxis(bytes, outer, from, to, inner) {
  const scale = from / to;
  const reach = Math.max(1, scale);
  const resized = new Uint8Array(outer * to * inner);
  for (let i = 0; i < to; i++) {
    const centre = (i + 0.5) * scale;
    const first = Math.max(0, Math.floor(centre - reach + 0.5));
    const end = Math.min(from, Math.floor(centre + reach + 0.5));
    const weights = [];
    for (let j = first; j < end; j++) weights.push(Math.max(0, 1 - Math.abs(j - centre + 0.5) / reach));
    const sum = weights.reduce((total, weight) => total + weight, 0);
    const whole = Int32Array.from(weights, (weight) => Math.floor((weight / sum) * 2 ** 22 + 0.5));
    for (let o = 0; o < outer; o++) {
      for (let c = 0; c < inner; c++) {
        let total = 2 ** 21;
        for (let k = 0; k < whole.length; k++) total += whole[k] * bytes[(o * from + first + k) * inner + c];
        resized[(o * to + i) * inner + c] = total >> 22;
      }
    }
  }
  return resized;
}

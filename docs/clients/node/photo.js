// From a PNG file to RGB bytes: step 1 of docs/RUNNER.md.

import { PNG } from "pngjs";

/**
 * The photo in the content of a PNG file, a Buffer: { rgb, size: [height, width] }.
 * depth: of recipe.json. Throws an Error for another format, and for a photo that is not of this depth.
 */
export function photoOf(content, depth) {
  if (content.toString("latin1", 1, 4) !== "PNG") throw new Error("it is not a PNG, the format this client reads");
  const bits = content[24];
  const { width, height, data, colorType } = PNG.sync.read(content, { skipRescale: bits === 16 });
  const isDeep = bits === 16 && colorType === 0;
  if (depth && (depth.stored_bits === 16) !== isDeep) {
    throw new Error(`it does not store ${depth.stored_bits} bits a pixel, as the good photos do`);
  };
  const rgb = new Uint8Array(3 * width * height);
  const byteOf = isDeep ? brightness(data, depth ?? FULL) : (value) => (bits === 16 ? value >> 8 : value);
  for (let i = 0; i < width * height; i++) {
    const alpha = isDeep ? 255 : byteOf(data[4 * i + 3]);
    for (let c = 0; c < 3; c++) rgb[3 * i + c] = Math.floor((byteOf(data[4 * i + c]) * alpha) / 255 + 0.5);
  }
  return { rgb, size: [height, width] };
}

const FULL = { bits: 16, left_aligned: false, black: 0, white: 65535, min_peak: 0 };

/** The function from a stored value to a byte, for a 16-bit grey photo with these values (RGBA). */
function brightness(values, depth) {
  const filled = (2 ** depth.bits - 1) << (depth.left_aligned ? 16 - depth.bits : 0);
  let largest = 0;
  for (let i = 0; i < values.length; i += 4) {
    largest = Math.max(largest, values[i]);
    if (values[i] & ~filled) throw new Error(`its value ${values[i]} is not one of ${depth.bits} bits`);
  }
  if (3 * largest < depth.min_peak) {
    throw new Error(`its brightest value is ${largest}, and every good photo reaches ${depth.min_peak}`);
  };
  const span = depth.white - depth.black;
  return (value) => {
    const above = Math.min(Math.max(value, depth.black), depth.white) - depth.black;
    return Math.floor((255 * above + Math.floor(span / 2)) / span);
  };
}

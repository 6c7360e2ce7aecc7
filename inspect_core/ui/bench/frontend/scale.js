/** Pixels of the photo in words, in mm and mm² too where its scale is known: mm a pixel, or null. */

const DIGITS = 2;

/** "23 × 14 px", or "1.2 × 0.7 mm" where there is no room for both. */
function sizeInWords(across, down, scale) {
  return scale ? `${figure(across * scale)} × ${figure(down * scale)} mm` : `${across} × ${down} px`;
}

/** "23 × 14 px", or "23 × 14 px, 1.2 × 0.7 mm". */
function lengthsInWords(across, down, scale) {
  const pixels = sizeInWords(across, down, null);
  return scale ? `${pixels}, ${sizeInWords(across, down, scale)}` : pixels;
}

/** "37 of 131 px", or "37 of 131 px, 0.4 of 1.3 mm²". */
function areasInWords(areas, scale) {
  const words = `${areas.join(" of ")} px`;
  return scale ? `${words}, ${areas.map((area) => figure(area * scale * scale)).join(" of ")} mm²` : words;
}

function figure(value) {
  return Number(value.toPrecision(DIGITS)).toString();
}

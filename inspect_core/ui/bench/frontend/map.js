/**
 * What the browser reads off an anomaly map: regions, contours, colours.
 * A map is {values: Float32Array of height * width, row by row, height, width}.
 */

/** How many pixels of a map lie strictly above the limit. */
function areaAbove({ values }, limit) {
  let count = 0;
  for (const value of values) if (value > limit) count += 1;
  return count;
}

/**
 * Connected regions of pixels strictly above the limit, as scoring.anomaly_map.regions finds them: none with fewer than
 * `area` pixels above it in the whole map; touching at a corner connects; box [x0, y0, x1, y1] half-open in pixels of
 * the map; highest peak first, then the largest.
 */
function regionsAbove(map, limit, area) {
  if (areaAbove(map, limit) < area) return [];
  const { values, height, width } = map;
  const seen = new Uint8Array(values.length);
  const stack = new Int32Array(values.length);
  const found = [];
  for (let start = 0; start < values.length; start += 1) {
    if (seen[start] || !(values[start] > limit)) continue;
    const region = { area: 0, peak: -Infinity, box: [width, height, 0, 0] };
    let top = 0;
    stack[top++] = start;
    seen[start] = 1;
    while (top > 0) {
      const at = stack[--top];
      const x = at % width;
      const y = (at - x) / width;
      region.area += 1;
      region.peak = Math.max(region.peak, values[at]);
      const [x0, y0, x1, y1] = region.box;
      region.box = [Math.min(x0, x), Math.min(y0, y), Math.max(x1, x + 1), Math.max(y1, y + 1)];
      for (let v = Math.max(0, y - 1); v <= Math.min(height - 1, y + 1); v += 1) {
        for (let u = Math.max(0, x - 1); u <= Math.min(width - 1, x + 1); u += 1) {
          const near = v * width + u;
          if (!seen[near] && values[near] > limit) {
            seen[near] = 1;
            stack[top++] = near;
          }
        }
      }
    }
    found.push(region);
  }
  const left = (region) => region.box[0];
  const top = (region) => region.box[1];
  return found.sort((a, b) => b.peak - a.peak || b.area - a.area || left(a) - left(b) || top(a) - top(b));
}

/** The region of a map on a photo of another size, as scoring.anomaly_map.scale_region: the covering whole-pixel box. */
function scaleRegion(region, map, [toHeight, toWidth]) {
  const [x0, y0, x1, y1] = region.box;
  return {
    area: scaleArea(region.area, map, [toHeight, toWidth]),
    peak: region.peak,
    box: [
      Math.floor((x0 * toWidth) / map.width),
      Math.floor((y0 * toHeight) / map.height),
      Math.ceil((x1 * toWidth) / map.width),
      Math.ceil((y1 * toHeight) / map.height),
    ],
  };
}

/** An area in pixels of a map in those of a photo of another size, at least 1. */
function scaleArea(area, map, [toHeight, toWidth]) {
  return Math.max(1, roundHalfToEven((area * (toHeight * toWidth)) / (map.height * map.width)));
}

/** Python's round: a half goes to the even neighbour. */
function roundHalfToEven(value) {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}

/**
 * Outline of the pixels above a level, by marching squares, as a Path2D in pixels of the map (centres at a half).
 *
 * Crossings lie between pixel centres where the level is met on the straight line between them; at the border of the
 * map the outline follows the border. Where two pixels above touch at a corner they are joined, as regions are.
 */
function contourPath({ values, height, width }, level) {
  const columns = width + 2;
  const rows = height + 2;
  const above = new Uint8Array(columns * rows);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) above[(y + 1) * columns + x + 1] = values[y * width + x] > level ? 1 : 0;
  }
  // An edge between neighbours is named by its first pixel; those going down come after those going right. Every
  // crossed edge has two neighbours on the outline, so the outlines are closed; 0 stands for none yet.
  const down = columns * rows;
  const before = new Int32Array(2 * down);
  const after = new Int32Array(2 * down);
  const crossed = [];
  const join = (a, b) => {
    if (before[a]) after[a] = b;
    else before[a] = b;
    if (before[b]) after[b] = a;
    else before[b] = a;
    crossed.push(a);
  };
  for (let at = 0; at < down - columns - 1; at += 1) {
    const code = above[at] | (above[at + 1] << 1) | (above[at + columns + 1] << 2) | (above[at + columns] << 3);
    if (code === 0 || code === 15) continue;
    const top = at;
    const right = down + at + 1;
    const bottom = at + columns;
    const left = down + at;
    if (code === 1 || code === 14) join(left, top);
    else if (code === 2 || code === 13) join(top, right);
    else if (code === 4 || code === 11) join(right, bottom);
    else if (code === 8 || code === 7) join(bottom, left);
    else if (code === 3 || code === 12) join(left, right);
    else if (code === 6 || code === 9) join(top, bottom);
    else if (code === 5) {
      join(top, right);
      join(bottom, left);
    } else {
      join(left, top);
      join(right, bottom);
    }
  }
  const value = (x, y) => (x < 1 || y < 1 || x > width || y > height ? null : values[(y - 1) * width + x - 1]);
  const crossing = (edge) => {
    const across = edge < down;
    const first = across ? edge : edge - down;
    const x = first % columns;
    const y = (first - x) / columns;
    const a = value(x, y);
    const b = across ? value(x + 1, y) : value(x, y + 1);
    const share = a === null || b === null ? 0.5 : Math.min(1, Math.max(0, (level - a) / (b - a)));
    return across ? [x - 0.5 + share, y - 0.5] : [x - 0.5, y - 0.5 + share];
  };
  const path = new Path2D();
  const done = new Uint8Array(2 * down);
  for (const start of crossed) {
    if (done[start]) continue;
    path.moveTo(...crossing(start));
    done[start] = 1;
    let edge = start;
    for (;;) {
      edge = done[before[edge]] ? after[edge] : before[edge];
      if (done[edge]) break;
      done[edge] = 1;
      path.lineTo(...crossing(edge));
    }
    path.closePath();
  }
  return path;
}

/** The range of scores over which colours run: from low over the limit to high, or straight when `middle` is null. */
function colourRange(map, { typicalScore, limit, stretch, rainbow }) {
  if (stretch) {
    let low = Infinity;
    let high = -Infinity;
    for (const value of map.values) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return { low, middle: null, high };
  }
  const span = Math.max(limit - typicalScore, Number.MIN_VALUE);
  return { low: limit - span, middle: rainbow ? null : limit, high: limit + span };
}

/** Colours of scores, 512 of them as RGBA in one number each, written to `pixels` (Uint32Array). */
function paintScores(pixels, values, colours, { low, middle, high }) {
  const last = colours.length - 1;
  const half = colours.length / 2;
  if (middle === null) {
    const perScore = last / (high - low || 1);
    for (let i = 0; i < values.length; i += 1) {
      pixels[i] = colours[Math.min(last, Math.max(0, (values[i] - low) * perScore)) | 0];
    }
    return;
  }
  const perScore = half / (middle - low);
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i];
    const step =
      value > middle
        ? half + Math.min(half - 1, (value - middle) * perScore)
        : Math.min(half - 1, Math.max(0, (value - low) * perScore));
    pixels[i] = colours[step | 0];
  }
}

/** The heat colours of Python, (512, 4) bytes, as numbers in the byte order of a canvas. */
function packedColours(bytes) {
  return new Uint32Array(Uint8Array.from(bytes).buffer);
}

/** The rainbow of the papers (jet): blue, cyan, yellow, red, equally dense everywhere. */
function rainbowColours(count) {
  const bytes = new Uint8Array(4 * count);
  const ramp = (t, centre) => 255 * Math.min(1, Math.max(0, 1.5 - Math.abs(4 * t - centre)));
  for (let i = 0; i < count; i += 1) {
    const t = i / (count - 1);
    bytes.set([ramp(t, 3), ramp(t, 2), ramp(t, 1), 150], 4 * i);
  }
  return packedColours(bytes);
}

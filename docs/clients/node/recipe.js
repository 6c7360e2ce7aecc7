// From RGB bytes to a verdict: steps 2 to 5 of docs/RUNNER.md.

import * as ort from "onnxruntime-web";
import { squash } from "./squash.js";

/** In words, what each value of review.onnx stands for. */
const REASONS = ["", "less to be seen", "an area is paler or darker"];

export class Recipe {
  /** Reads an exported recipe; read(name): bytes of one of its files. Throws an Error for one that it cannot run. */
  static async open(read) {
    const recipe = new Recipe();
    recipe.document = JSON.parse(new TextDecoder().decode(read("recipe.json")));
    const { schema, alignment, areas, product_check: productCheck, tiles, quality } = recipe.document;
    if (schema !== 5) throw new Error(`its schema is ${schema}, and this client knows 5; take the client of its time`);
    if (alignment || areas) throw new Error("it has an alignment or areas, which need OpenCV; use the Python runner");
    recipe.productCheck = productCheck?.mode === "off" ? null : productCheck;
    recipe.arrays = recipe.productCheck && arraysOf(read("arrays.safetensors"), "product_check.");
    recipe.model = await ort.InferenceSession.create(read("model.onnx"));
    recipe.whole = tiles && (await ort.InferenceSession.create(read("tiles_to_map.onnx")));
    recipe.review = quality?.setup && (await ort.InferenceSession.create(read("review.onnx")));
    return recipe;
  }

  /** { score, verdict, reason, foreign } of a photo { rgb, size }, whose size is [height, width]. */
  async inspect({ rgb, size }) {
    const { geometry, limits, live_values: live, tiles } = this.document;
    const pictureSize = tiles ? tiles.size : geometry.size;
    const picture = squash(rgb, size, pictureSize);
    const whole = tiles && this.productCheck ? squash(rgb, size, geometry.size) : picture;
    const found = tiles && !this.productCheck ? {} : await this.run(whole);
    const map = tiles ? await this.mapOfTiles(picture) : found.map.data;
    if (!map.every(Number.isFinite)) throw new Error("the map is not finite; this part has no verdict");
    const score = Float32Array.from(map).sort()[map.length - live.area];
    const foreign = Boolean(this.productCheck) && !(this.foreignness(found) <= this.productCheck.limit);
    if (foreign && this.productCheck.mode === "stop") return { score, verdict: "reject", reason: "other product", foreign };
    const verdict = score <= limits.review ? "accept" : score <= limits.reject ? "review" : "reject";
    const reason = verdict === "accept" && this.review ? await this.reasonToReview(picture, pictureSize) : "";
    return { score, verdict: reason ? "review" : verdict, reason, foreign };
  }

  /** What sends a photo to review whatever its score, "" for nothing; RGB bytes at the size of review.onnx. */
  async reasonToReview(picture, size) {
    const { reason } = await this.review.run({ images: new ort.Tensor("uint8", picture, [1, ...size, 3]) });
    return REASONS[Number(reason.data[0])];
  }

  /** The outputs of model.onnx for RGB bytes at the network's size. */
  async run(rgb) {
    return await this.model.run({ images: new ort.Tensor("uint8", rgb, [1, ...this.document.geometry.size, 3]) });
  }

  /** The map of a photo at the size of the tiles' plan, RGB bytes. */
  async mapOfTiles(rgb) {
    const { geometry, tiles } = this.document;
    const [down, across] = [0, 1].map((axis) => spans(tiles.size[axis], geometry.size[axis], tiles));
    const [rows, columns] = geometry.grid;
    const whole = {};
    for (const row of down) {
      for (const column of across) {
        const found = await this.run(cut(rgb, tiles.size[1], row.start, column.start, geometry.size));
        for (const name of this.whole.inputNames) {
          const { data, dims: [, k, high, wide] } = found[name];
          whole[name] ??= new ort.Tensor("float32", new Float32Array(k * rows * columns), [1, k, rows, columns]);
          for (let plane = 0; plane < k; plane++) {
            for (let r = row.first; r < row.end; r++) {
              const own = (plane * high + r - row.start / tiles.cell) * wide - column.start / tiles.cell;
              const cells = data.subarray(own + column.first, own + column.end);
              whole[name].data.set(cells, (plane * rows + r) * columns + column.first);
            }
          }
        }
      }
    }
    return (await this.whole.run(whole)).map.data;
  }

  /** The product check's score, from the outputs embedding and logits. */
  foreignness({ embedding, logits }) {
    const { mean, components, eigenvalues } = this.arrays;
    const { fused, min_energy: minEnergy, detector: { explained_variance: wanted } } = this.productCheck;
    const length = Math.hypot(...embedding.data) + 1e-10;
    const centred = Array.from(embedding.data, (value, i) => value / length - mean[i]);
    const total = eigenvalues.reduce((sum, value) => sum + value, 0);
    const rest = [...centred];
    for (let q = 0, held = 0; q < eigenvalues.length && !(held >= wanted - 1e-12); q++) {
      const share = centred.reduce((sum, value, i) => sum + value * components[i * eigenvalues.length + q], 0);
      rest.forEach((_, i) => (rest[i] -= share * components[i * eigenvalues.length + q]));
      held += eigenvalues[q] / total;
    }
    const error = Math.hypot(...rest);
    if (!fused) return error;
    const top = Math.max(...logits.data);
    const energy = top + Math.log(logits.data.reduce((sum, value) => sum + Math.exp(value - top), 0));
    return -Math.max(1 - error, 0) * Math.max(energy - minEnergy, 0);
  }
}

/** Along one axis, the tiles: first pixel of each, and the first cell that it gives and the one behind the last. */
function spans(side, tile, { overlap, cell }) {
  const free = (side - tile) / 32;
  const last = Math.ceil(free / ((tile - overlap) / 32));
  const starts = Array.from({ length: last + 1 }, (_, i) => 32 * Math.floor((free * i) / Math.max(last, 1)));
  const border = (i) => Math.floor((starts[i - 1] + tile + starts[i]) / 2 / cell);
  return starts.map((start, i) => ({ start, first: i ? border(i) : 0, end: i < last ? border(i + 1) : side / cell }));
}

function cut(rgb, width, top, left, [high, wide]) {
  const tile = new Uint8Array(high * wide * 3);
  for (let row = 0; row < high; row++) {
    const start = ((top + row) * width + left) * 3;
    tile.set(rgb.subarray(start, start + wide * 3), row * wide * 3);
  }
  return tile;
}

/** The float arrays of a safetensors file whose names begin so, by the rest of their names. */
function arraysOf(bytes, prefix) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = 8 + Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)));
  const kinds = { F32: Float32Array, F64: Float64Array };
  return Object.fromEntries(
    Object.entries(header)
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, { dtype, data_offsets: [from, to] }]) => {
        return [name.slice(prefix.length), new kinds[dtype](bytes.slice(start + from, start + to).buffer)];
      }),
  );
}

// Inspects PNG photos with an exported recipe that was unpacked into a folder, after its golden images have proved it:
// node inspect.js FOLDER PHOTO... Exits with 0 if all are accepted, with 1 if not, with 2 if it could not inspect.

import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { photoOf } from "./photo.js";
import { Recipe } from "./recipe.js";

/** Opens a recipe and inspects its golden images: step 6. Throws an Error when one gets another verdict or score. */
async function proved(folder) {
  const read = (name) => new Uint8Array(readFileSync(join(folder, name)));
  const recipe = await Recipe.open(read);
  const { limits } = recipe.document;
  const good = rowsOf(read("calibration.csv")).filter((row) => row.subset === "calibration").map((row) => Number(row.score));
  const allowed = 1e-4 * Math.abs(limits.reject - median(good));
  let largest = 0;
  const golden = rowsOf(read("golden/expected.csv"));
  for (const { file, score, verdict, reason } of golden) {
    const found = await inspected(recipe, join(folder, file));
    const difference = Math.abs(found.score - Number(score));
    if (found.verdict !== verdict || found.reason !== reason || !(difference <= allowed)) {
      throw new Error(`${file} gets ${found.verdict} with ${found.score}, and got ${verdict} with ${score}`);
    }
    largest = Math.max(largest, difference);
  }
  console.error(`${golden.length} golden images, largest difference ${largest} of ${allowed} allowed`);
  return recipe;
}

async function inspected(recipe, path) {
  try {
    return await recipe.inspect(photoOf(readFileSync(path), recipe.document.depth));
  } catch (error) {
    throw new Error(`${basename(path)}: ${error.message}`, { cause: error });
  }
}

/** The rows of a CSV file, each an object of texts by the names of the columns. */
function rowsOf(bytes) {
  const rows = [[]];
  const text = new TextDecoder().decode(bytes);
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\n]*))(,|\n)/g)) {
    rows.at(-1).push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === "\n") rows.push([]);
  }
  const [names, ...values] = rows.slice(0, -1);
  return values.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i]])));
}

/** 0 for no values. */
function median(values) {
  const sorted = Float64Array.from(values).sort();
  return sorted.length ? (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2 : 0;
}

const [folder, ...photos] = process.argv.slice(2);
try {
  if (!folder) throw new Error("name the folder of an exported recipe, and photos to inspect");
  const recipe = await proved(folder);
  for (const path of photos) {
    let row;
    try {
      const { verdict, score, reason, foreign } = await inspected(recipe, path);
      row = [verdict, score, reason || (foreign ? "other product" : "")];
    } catch (error) {
      row = ["not judged", "", error.message];
    }
    if (row[0] !== "accept") process.exitCode = 1;
    console.log([basename(path), ...row].join("\t"));
  }
} catch (error) {
  console.error(error.message);
  process.exitCode = 2;
}

import { readdirSync, readFileSync } from "node:fs";
import js from "@eslint/js";
import globals from "globals";

// The scripts of a component are joined into one before the browser sees them: each may use what another declares,
// and only the last exports.
const scripts = readdirSync("inspect_core", { recursive: true })
  .filter((path) => path.endsWith(".js"))
  .map((path) => ({ path: `inspect_core/${path}`, text: readFileSync(`inspect_core/${path}`, "utf8") }));
const declared = scripts.flatMap(({ text }) => [...text.matchAll(/^(?:class|const|let|function) (\w+)/gm)]);
const shared = Object.fromEntries(declared.map(([, name]) => [name, "readonly"]));

export default [
  { ignores: [".venv/", "workspace/"] },
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: { eqeqeq: "error", "no-var": "error", "prefer-const": "error" },
  },
  { files: ["docs/clients/node/*.js"], languageOptions: { globals: globals.node } },
  {
    files: ["inspect_core/**/*.js"],
    languageOptions: { sourceType: "script", globals: { ...globals.browser, ...shared } },
    rules: { "no-redeclare": ["error", { builtinGlobals: false }], "no-unused-vars": ["error", { vars: "local" }] },
  },
  {
    files: scripts.filter(({ text }) => /^export /m.test(text)).map(({ path }) => path),
    languageOptions: { sourceType: "module" },
  },
];

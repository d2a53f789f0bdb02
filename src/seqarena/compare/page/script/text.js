// Data, state, and how numbers and names become text. Whatever comes from records is set as text, never as markup.
// characters that turn or hide text are shown, not obeyed
const CONTROLS = /([\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff])/;
const code = (c) => `U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
const visible = (text) => String(text).split(CONTROLS).map((p) => (CONTROLS.test(p) ? code(p) : p)).join("");
const marked = (text) => {
  const out = document.createDocumentFragment();
  for (const part of String(text).split(CONTROLS)) {
    out.append(CONTROLS.test(part) ? el("span", { class: "ctl", title: "control character" }, code(part)) : part);
  }
  return out;
};
const readable = (tree) => {                                 // all texts but those of examples, which are marked when shown
  if (typeof tree === "string") return visible(tree);
  if (Array.isArray(tree)) return tree.map(readable);
  if (tree === null || typeof tree !== "object") return tree;
  return Object.fromEntries(Object.entries(tree).map(([k, v]) => [k, k === "examples" ? v : readable(v)]));
};
const D = readable(JSON.parse(document.getElementById("records").textContent));
const $ = (s, r = document) => r.querySelector(s), $$ = (s, r = document) => [...r.querySelectorAll(s)];
const state = {
  block: 0, cost: null, scale: "score", clock: "steps", axis: null, curve: null, factor: null, off: new Set(), baseline: null, sort: ["mean", -1],
  page: 0, limits: {},
};
const B = () => D.blocks[state.block];
const keys = () => Object.keys(B().models);
const shown = (m) => !state.off.has(m);
const scored = () => B().rows.filter((r) => r.mean !== null);
const rowOf = (m) => B().rows.find((r) => r.model === m);
const sign = () => (B().less ? -1 : 1);

const el = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes)) {
    if (v !== null && v !== undefined && v !== false) node.setAttribute(k, v === true ? "" : v);
  }
  node.append(...children.filter((c) => c !== null && c !== undefined));
  return node;
};
const num = (v, digits = 1, plus = false) => {
  if (v === null || v === undefined) return "–";
  const text = Math.abs(v)
    .toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })
    .replace(/,/g, "\u202f");
  return (+Math.abs(v).toFixed(digits) === 0 ? "" : v < 0 ? "−" : plus ? "+" : "") + text;
};
const brief = (v) => {                                       // three significant digits at most
  if (v === null || v === undefined) return "–";
  const a = Math.abs(v);
  for (const [size, letter] of [[1e9, "\u00a0G"], [1e6, "\u00a0M"]]) {
    if (a >= size) return num(v / size, a / size >= 100 ? 0 : 1) + letter;
  }
  if (a >= 1e4) return `${num(v / 1e3, 0)}k`;
  return num(v, a >= 100 || Number.isInteger(a) ? 0 : a >= 1 ? 1 : 2);
};
const tidy = (v) => (v >= 1e4 ? brief(v) : String(+v.toPrecision(3)));
const look = (m) => B().models[m] ?? D.scaling.models[m];      // a group of the block, or a line over an option
const name = (m) => look(m).name;
const LABEL = 24;
const tag = (m) => {                                         // of a long name the values alone, then its ends: they tell settings apart
  const n = name(m).length > LABEL ? name(m).replace(/(^| )[\w.]+=/g, "$1") : name(m);
  return n.length > LABEL ? `${n.slice(0, LABEL - 11)}…${n.slice(-10)}` : n;
};
const safe = (s) => String(s).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;"); // plotly reads some HTML
const cap = (s) => s.charAt(0).toUpperCase() + s.slice(1);
const join = (list) => (list.length < 2 ? list.join("") : `${list.slice(0, -1).join(", ")} and ${list[list.length - 1]}`);
const score = (v) => num(v, B().digits) + (B().unit ? `\u00a0${B().unit}` : "");
const interval = (r) => (r.low === null ? "no interval" : `${num(r.low, B().digits)} to ${num(r.high, B().digits)}`);
const costLabel = (c) => B().costs[c].label;
const costUnit = (c) => B().costs[c].unit;

const PATHS = {
  right: "M3.2 8.6 6.5 11.8 12.8 4.6", wrong: "M4 4 12 12M12 4 4 12",
  better: "M8 12.5V4M4.2 7.6 8 3.8 11.8 7.6", worse: "M8 3.5V12M4.2 8.4 8 12.2 11.8 8.4",
  same: "M3 6.6C5 4.6 7 5.2 8 6.1S11 7.6 13 5.6M3 10.6C5 8.6 7 9.2 8 10.1S11 11.6 13 9.6",
};
const icon = (id) => {
  const space = "http://www.w3.org/2000/svg", node = document.createElementNS(space, "svg");
  for (const [k, v] of Object.entries({ class: "icon", viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" })) {
    node.setAttribute(k, v);
  }
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", PATHS[id]);
  node.append(path);
  return node;
};
const chips = () => $$(`.models[data-block="${state.block}"] .chip`);
const swatch = (m) => $(".swatch", chips().find((c) => c.dataset.model === m) ?? $(`#lines [data-model="${m}"]`)).cloneNode(true);

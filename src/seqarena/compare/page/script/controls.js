// Tabs, chips, axes, theme, address, print; then the first drawing.
const axes = () => Object.keys(B().strata);
const costs = () => $$('input[name="cost"]').map((r) => r.value);
const save = () => {                                         // the address holds the view, so that it can be sent
  const q = new URLSearchParams({ block: state.block, by: state.scale, clock: state.clock, baseline: state.baseline });
  for (const k of ["cost", "axis", "curve", "factor"]) if (state[k]) q.set(k, state[k]);
  if (state.off.size) q.set("hide", [...state.off].join("."));
  try { history.replaceState(null, "", `#${q}`); } catch { /* some viewers forbid it */ }
};
const load = () => {
  const q = new URLSearchParams(location.hash.slice(1)), take = (k, list, f) => { if (list.includes(q.get(k))) f(q.get(k)); };
  take("block", D.blocks.map((_, i) => String(i)), (v) => { state.block = +v; });
  take("cost", costs(), (v) => { state.cost = v; });
  take("axis", axes(), (v) => { state.axis = v; });
  take("curve", Object.keys(B().reach), (v) => { state.curve = v; });
  take("factor", Object.keys(D.scaling.factors), (v) => { state.factor = v; });
  take("by", ["score", "kept"], (v) => { state.scale = v; });
  take("clock", ["steps", "tokens", "seconds"], (v) => { state.clock = v; });
  take("baseline", keys(), (v) => { state.baseline = v; });
  for (const m of (q.get("hide") || "").split(".")) if (keys().includes(m) && state.off.size < keys().length - 1) state.off.add(m);
};
const fill = (select, options, value) => {
  if (!select) return;
  select.replaceChildren(...options.map(([v, text]) => el("option", { value: v }, text)));
  select.value = value;
};
const showBlock = () => {
  $$("[data-block]").forEach((n) => { n.hidden = n.dataset.block !== String(state.block); });
  $$("[data-tab]").forEach((b) => { const on = b.dataset.tab === String(state.block); b.setAttribute("aria-selected", String(on)); b.tabIndex = on ? 0 : -1; });
  if (!keys().includes(state.baseline)) state.baseline = B().rows[0].model;
  state.factor ??= Object.keys(D.scaling.factors)[0] ?? null;
  fill($("#factor-name"), Object.keys(D.scaling.factors).map((f) => [f, factorWords(f)]), state.factor);
  if (!axes().includes(state.axis)) state.axis = axes()[0] ?? null;
  const reach = Object.keys(B().reach);
  if (!reach.includes(state.curve)) state.curve = reach[0] ?? null;
  if (!B().shown_costs.includes(state.cost)) state.cost = costs().find((c) => B().shown_costs.includes(c)) ?? costs()[0] ?? null;
  state.limits = { ...B().limits.sliders };                   // those that the command had
  $$("[data-limit]").forEach((s) => { s.value = placeOf(s.dataset.limit); limitText(s.dataset.limit); s.disabled = !B().shown_costs.includes(s.dataset.limit); });
  const named = keys().map((m) => [m, tag(m)]);
  fill($("#baseline"), named, state.baseline);
  fill($("#sort"), sortOptions(), state.sort[0]);
  fill($("#axis"), axes().map((a) => [a, axisWords(a)]), state.axis);
  fill($("#curve"), reach.map((c) => [c, B().reach[c].label]), state.curve);
  fill($("#ex-model"), [["any", "any model"], ...named], "any");
  if ($("#axis-field")) $("#axis-field").hidden = axes().length < 2;
  if ($("#strata")) $("#strata").hidden = !axes().length;
  if ($("#curves")) $("#curves").hidden = !Object.keys(B().curves).length;
  if ($("#reach")) $("#reach").hidden = !reach.length && !B().reaches.length;
  if ($("#fig-reach")) { $("#fig-reach").hidden = !reach.length; $("#curve-field").hidden = reach.length < 2; }
  if ($("#examples")) $("#examples").hidden = !B().examples.length;
  chips().forEach((c) => c.setAttribute("aria-pressed", String(shown(c.dataset.model))));
  check();
  state.page = 0;
  readColors(); drawBoard(); drawAll(); drawExamples();
};
const check = () => {
  for (const group of ["cost", "scale", "clock"]) {
    const one = $$(`input[name="${group}"]`).find((i) => i.value === state[group]);
    if (one) one.checked = true;
  }
};
const open = (block) => { state.block = block; state.off.clear(); state.sort = ["mean", -sign()]; showBlock(); save(); };
const tabs = $$("[data-tab]");
tabs.forEach((b, i) => {
  b.addEventListener("click", () => open(i));
  b.addEventListener("keydown", (e) => {
    const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    const next = tabs[(to + tabs.length) % tabs.length];
    next.focus(); next.click();
  });
});
$$(".chip").forEach((c) => c.addEventListener("click", () => {
  const m = c.dataset.model;
  if (shown(m) && keys().filter(shown).length === 1) return;  // one model always stays
  if (shown(m)) state.off.add(m); else state.off.delete(m);
  c.setAttribute("aria-pressed", String(shown(m)));
  drawBoard(); drawAll(); drawExamples(); save();
}));
for (const [group, draw] of [["cost", drawChoose], ["scale", drawStrata], ["clock", drawCurves]]) {
  $$(`input[name="${group}"]`).forEach((r) => r.addEventListener("change", () => { state[group] = r.value; draw(); save(); }));
}
$("#curve")?.addEventListener("change", (e) => { state.curve = e.target.value; drawReach(); save(); });
$("#factor-name")?.addEventListener("change", (e) => { state.factor = e.target.value; drawFactor(); save(); });
$("#axis")?.addEventListener("change", (e) => { state.axis = e.target.value; drawStrata(); save(); });

const dark = matchMedia("(prefers-color-scheme: dark)"), root = document.documentElement;
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
const themeLabel = () => $("#theme").setAttribute("aria-label", `Theme: ${isDark() ? "dark" : "light"}. Switch to ${isDark() ? "light" : "dark"}`);
const repaint = () => { readColors(); themeLabel(); drawAll(); };
if (D.blocks.length) {
  $("#theme").addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; repaint(); });
  dark.addEventListener("change", () => { if (!root.dataset.theme) repaint(); });
  let width = innerWidth, timer;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; clearTimeout(timer); timer = setTimeout(drawAll, 120); } });
  let before;
  addEventListener("beforeprint", () => { before = root.dataset.theme; root.dataset.theme = "light"; $$("details").forEach((d) => { d.open = true; }); paper = true; repaint(); });
  addEventListener("afterprint", () => { if (before) root.dataset.theme = before; else delete root.dataset.theme; paper = false; repaint(); });
  load();
  if (B().less) state.sort = ["mean", 1];
  themeLabel();
  showBlock();
}

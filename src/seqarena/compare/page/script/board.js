// The leaderboard: sorting, and the model that the others are compared with.
const board = () => $(`.board[data-board="${state.block}"]`);
const missing = (v) => v === null || v === undefined;
const drawBoard = () => {
  const b = board(), body = $("tbody", b), base = state.baseline, [by, way] = state.sort;
  const value = (r) => ({ mean: r.mean, n: r.n - r.diverged / 10, name: name(r.model).toLowerCase(), diff: r.model === base ? 0 : r.versus[base]?.difference })[by] ?? r.cost[by];
  const order = (x, y) => (missing(x) || missing(y) ? missing(x) - missing(y) : (x < y ? -1 : x > y ? 1 : 0) * way);  // what is not known comes last
  const rows = new Map($$("tr", body).map((tr) => [tr.dataset.model, tr]));
  for (const r of [...B().rows].sort((a, c) => order(value(a), value(c)))) {
    const tr = rows.get(r.model), cell = $(".c-diff", tr);
    body.append(tr);
    tr.classList.toggle("dim", !shown(r.model));
    cell.dataset.label = `Against ${tag(base)}`;
    cell.replaceChildren(...difference(r, base));
  }
  $$("thead th", b).forEach((th) => {
    if ($("button", th).dataset.sort === by) th.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
    else th.removeAttribute("aria-sort");
  });
  $('[data-slot="baseline"]', b).textContent = tag(base);
  $("#sort").value = by;
};
const difference = (r, base) => {
  if (r.model === base) return [el("span", { class: "pill is-base" }, "baseline")];
  const d = r.versus[base];
  if (!d) return [];
  const kind = ["better", "worse"].includes(d.word) ? d.word : "same", gap = (v) => (B().ratio ? `×${num(v, 2)}` : num(v, B().digits, true));
  const range = d.low === null ? "" : ` (${gap(d.low)} to ${gap(d.high)})`;
  return [el("span", { class: `pill is-${kind}` }, icon(kind), d.word),
    d.difference === null ? null : el("small", {}, el("b", {}, gap(d.difference)), range),
    d.rest ? el("small", { class: "why" }, d.rest) : null].filter(Boolean);
};
const firstWay = (by) => (by === "mean" ? -sign() : by === "name" ? 1 : by === "n" || by === "diff" || B().costs[by]?.more ? -1 : 1);
$$(".board thead button").forEach((button) => button.addEventListener("click", () => {
  const by = button.dataset.sort;
  state.sort = [by, state.sort[0] === by ? -state.sort[1] : firstWay(by)];
  drawBoard();
}));
const sortOptions = () => [["mean", "score"], ["name", "name"], ["diff", "difference"], ["n", "seeds"], ...B().shown_costs.map((c) => [c, costLabel(c).toLowerCase()])];
$("#sort")?.addEventListener("change", (e) => { state.sort = [e.target.value, firstWay(e.target.value)]; drawBoard(); });
$("#baseline")?.addEventListener("change", (e) => { state.baseline = e.target.value; drawBoard(); save(); });

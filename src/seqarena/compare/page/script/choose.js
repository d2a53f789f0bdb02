// Quality against cost: the Pareto front, limits, and which model to use.
const unfair = (m, c) => B().unfair.models.includes(m) && B().unfair.costs.includes(c);
const limitOf = (c) => state.limits[c] ?? Infinity;
const allowed = (r) => Object.keys(state.limits).every((c) => limitOf(c) === Infinity || (!unfair(r.model, c) && r.cost[c] !== null && r.cost[c] <= limitOf(c)));
const higher = (a, b) => sign() * (a.mean - b.mean);
const cheaper = (a, b, c) => (B().costs[c].more ? a.cost[c] > b.cost[c] : a.cost[c] < b.cost[c]);
const beats = (o, r, c) => higher(o, r) >= 0 && !cheaper(r, o, c) && (higher(o, r) > 0 || cheaper(o, r, c));
const front = (rows, c) => rows.filter((r) => !rows.some((o) => o !== r && beats(o, r, c)));

// a model far below the rest would flatten the others: it gets an arrow at the foot
const scatterRange = (rows) => {
  const inside = rows.filter((r) => r.mean >= B().axis.low && r.mean <= B().axis.high), near = inside.length > 1 ? inside : rows;
  const low = Math.min(...near.map((r) => r.low ?? r.mean)), high = Math.max(...near.map((r) => r.high ?? r.mean));
  const pad = Math.max(high - low, 0.5 * 10 ** -B().digits) * 0.14;
  return { y0: low - pad, y1: high + pad, pad };
};
const drawChoose = () => {
  const c = state.cost, cost = B().costs[c], rows = scored().filter((r) => shown(r.model) && r.cost[c] > 0);
  if (!rows.length) return noCost();
  const fair = rows.filter((r) => !unfair(r.model, c) && allowed(r));
  const best = front(fair, c).sort((a, b) => higher(b, a)), on = new Set(best.map((r) => r.model));
  const xs = rows.map((r) => r.cost[c]), lo = Math.min(...xs) / 1.35, hi = Math.max(...xs) * 1.5, { y0, y1, pad } = scatterRange(rows);
  const S = { c, cost, rows, best, on, lo, hi, y0, y1, floor: sign() > 0 ? y0 : y1, far: cost.more ? lo : hi,
    out: (r) => r.mean < y0 || r.mean > y1, at: (r) => Math.min(Math.max(r.mean, y0 + pad * 0.32), y1 - pad * 0.32) };
  const { notes, shapes } = limitShade(S);
  const dense = hi / lo < 8 && !narrow("choose"), ticks = logTicks(lo, hi, dense);
  notes.push(...scatterNames(S), { xref: "paper", yref: "paper", x: cost.more ? 1 : 0, y: 1, xanchor: cost.more ? "right" : "left", yanchor: "top",
    yshift: 6, showarrow: false, text: cost.more ? "better ↗" : "↖ better", font: { size: 12, color: C.ink3 } });
  paint("choose", {
    traces: [...frontTraces(S), ...rows.map((r) => scatterMark(S, r))], models: rows.map((r) => r.model),
    lay: layout("choose", { hovermode: "closest", margin: { l: 52, r: narrow("choose") ? 14 : 28, t: 14, b: 52 }, annotations: notes, shapes,
      xaxis: axis({ type: "log", range: [Math.log10(lo), Math.log10(hi)], tickvals: ticks, ticktext: ticks.map(tidy),
        title: titled(`${costLabel(c)}, ${costUnit(c)}${cost.more ? " (more is better)" : " (less is better)"}`) }),
      yaxis: axis({ showspikes: false, range: sign() > 0 ? [y0, y1] : [y1, y0], dtick: nice(y0, y1, 7).s, ticksuffix: tickSuffix() }) }),
    title: `${B().metric} against ${costLabel(c).toLowerCase()}`,
    sub: "filled marks are on the Pareto front; everything in the shade is beaten by one of them",
    table: plainTable(["Model", B().metric, "95 % interval", `${costLabel(c)}, ${costUnit(c)}`, "On the front"],
      rows.map((r) => [name(r.model), score(r.mean), interval(r), brief(r.cost[c]) + (unfair(r.model, c) ? " †" : ""), on.has(r.model) ? "yes" : "no"])),
    alt: `${B().metric} against ${costLabel(c)}. On the Pareto front: ${join(best.map((r) => name(r.model)))}.` });
  answer();
};
const noCost = () => {
  paint("choose", { traces: [], models: [], lay: layout("choose", {}), title: `${costLabel(state.cost)} was not measured here`, sub: "", table: el("p", {}, "Not measured."), alt: "Not measured." });
  answer();
};
const frontTraces = ({ c, best, far, floor }) => {           // everything in the shade is beaten by a model on the front
  if (!best.length) return [];
  const x = [far], y = [best[0].mean];
  best.forEach((r, k) => { x.push(r.cost[c], r.cost[c]); y.push(r.mean, k + 1 < best.length ? best[k + 1].mean : floor); });
  return [{ x: [...x, far], y: [...y, floor], mode: "lines", fill: "toself", fillcolor: alpha(C.ink3, 0.07), line: { width: 0 }, hoverinfo: "skip" },
    { x: x.slice(1, -1), y: y.slice(1, -1), mode: "lines", line: { color: C.ink2, width: 1.6 }, hoverinfo: "skip" }];
};
const scatterMark = ({ c, on, out, at, y0 }, r) => {
  const m = r.model, open = !on.has(m), arrow = r.mean < y0 ? "arrow-down" : "arrow-up";
  return { x: [r.cost[c]], y: [at(r)], mode: "markers", opacity: allowed(r) ? 1 : 0.28,
    error_y: { visible: r.low !== null && !out(r), type: "data", symmetric: false, array: [r.high - r.mean], arrayminus: [r.mean - r.low], color: C.model[m], thickness: 1.6, width: 0 },
    marker: { size: 13, symbol: (out(r) ? arrow : B().models[m].symbol) + (open ? "-open" : ""), color: C.model[m], line: { width: open ? 2.2 : 0, color: C.model[m] } },
    hovertemplate: `<b>${safe(tag(m))}</b><br>${safe(B().metric)} ${score(r.mean)} (${interval(r)})<br>${costLabel(c)} ${brief(r.cost[c])} ${costUnit(c)}${unfair(m, c) ? "<br>† other machine, not comparable" : ""}<extra></extra>` };
};
// each name takes the free place nearest to its mark, clear of marks, whiskers, the front and other names
const scatterNames = ({ c, rows, best, lo, hi, y0, y1, out, at }) => {
  const canvas = figures.choose.canvas, pw = (canvas.clientWidth || 680) - 52 - (narrow("choose") ? 14 : 28), ph = (canvas.clientHeight || 470) - 66;
  const X = (v) => pw * Math.log(v / lo) / Math.log(hi / lo), share = (v) => (v - y0) / (y1 - y0), Y = (v) => ph * (sign() > 0 ? 1 - share(v) : share(v));
  const span = (r) => { const y = Y(at(r)), ends = out(r) || r.low === null ? [y] : [Y(r.low), Y(r.high)]; return [Math.min(y - 9, ...ends), Math.max(y + 9, ...ends)]; };
  const boxes = rows.map((r) => [X(r.cost[c]) - 9, span(r)[0], X(r.cost[c]) + 9, span(r)[1]]);
  best.slice(1).forEach((r, k) => {
    const xa = X(best[k].cost[c]), xb = X(r.cost[c]), y = Y(at(r));
    boxes.push([xa - 3, Y(at(best[k])), xa + 3, y], [Math.min(xa, xb), y - 3, Math.max(xa, xb), y + 3]);
  });
  const over = (b, o) => Math.max(0, Math.min(b[2], o[2]) - Math.max(b[0], o[0])) * Math.max(0, Math.min(b[3], o[3]) - Math.max(b[1], o[1]));
  const hits = (b) => boxes.reduce((s, o) => s + over(b, o), 0) + 40 * (Math.max(0, -b[0]) + Math.max(0, b[2] - pw) + Math.max(0, -b[1]) + Math.max(0, b[3] - ph));
  return rows.map((r) => {
    const text = tag(r.model) + (unfair(r.model, c) ? " †" : "") + (out(r) ? ` ${num(r.mean, B().digits)}` : "");
    const w = text.length * 7.2 + 4, h = 17, x = X(r.cost[c]), y = Y(at(r)), [up, down] = span(r);
    const spots = [[x + 12, y - h / 2], [x - 12 - w, y - h / 2], [x - w / 2, up - h - 2], [x - w / 2, down + 2],
      [x + 10, y - h - 8], [x + 10, y + 8], [x - 10 - w, y - h - 8], [x - 10 - w, y + 8]];
    const [bx, by] = spots.map((s, k) => [s, hits([s[0], s[1], s[0] + w, s[1] + h]) + k * 2]).sort((a, b) => a[1] - b[1])[0][0];
    boxes.push([bx, by, bx + w, by + h]);
    return { xref: "paper", yref: "paper", x: (bx + w / 2) / pw, y: 1 - (by + h / 2) / ph, xanchor: "center", yanchor: "middle", showarrow: false,
      text: `<b>${safe(text)}</b>`, opacity: allowed(r) ? 1 : 0.45, font: { size: 12.5, color: C.ink, family: FONT } };
  });
};
const limitShade = ({ c, lo, hi }) => {
  const limit = limitOf(c);
  if (limit === Infinity) return { notes: [], shapes: [] };
  const from = Math.max(lo, limit), box = { xref: "x", yref: "paper", y0: 0, y1: 1 };
  return {
    shapes: [{ ...box, type: "rect", x0: from, x1: hi, fillcolor: alpha(C.ink3, 0.1), line: { width: 0 }, layer: "below" },
      { ...box, type: "line", x0: limit, x1: limit, line: { color: C.ink2, width: 1.2, dash: "4px,3px" } }],
    notes: [{ xref: "x", x: Math.log10(from), yref: "paper", y: 1, xanchor: "left", yanchor: "top", xshift: 4, yshift: 6, showarrow: false, text: "over your limit →", font: { size: 12, color: C.ink2 } }] };
};

// advice: among models not distinguishable from the top, the cheapest on the chosen axis
const TIED = ["not distinguishable", "equal", "identical"], OPEN = ["undecided", "incomplete", "not comparable"];
const answer = () => {
  const box = $("#answer"), c = state.cost, rows = scored().filter((r) => shown(r.model)), ok = rows.filter((r) => allowed(r) && r.cost[c] !== null);
  const set = (lead, ...rest) => box.replaceChildren(el("p", { class: "lead" }, lead), ...rest.filter(Boolean).map((r) => el("p", { class: "rest" }, r)));
  const limits = Object.keys(state.limits).filter((k) => limitOf(k) !== Infinity).map((k) => `at most ${brief(limitOf(k))}\u00a0${costUnit(k)}${k === "parameters" ? " parameters" : ""}`);
  const dropped = rows.filter((r) => Object.keys(state.limits).some((k) => limitOf(k) !== Infinity && unfair(r.model, k)));
  const aside = dropped.length ? `${join(dropped.map((r) => name(r.model)))} left out: measured on another machine.` : "";
  if (!ok.length) return set("No model fits.", limits.length ? `Nothing was measured with ${join(limits)}. Loosen one limit.` : "This cost was not measured.", aside);
  const top = ok.reduce((a, b) => (higher(b, a) > 0 ? b : a)), word = (r) => top.versus[r.model]?.word ?? "undecided";
  const ties = ok.filter((r) => r !== top && TIED.includes(word(r)) && !unfair(r.model, c));
  const few = ok.some((r) => r !== top && OPEN.includes(word(r)));
  const pool = unfair(top.model, c) && ties.length ? ties : [top, ...ties], pick = pool.reduce((a, b) => (cheaper(b, a, c) ? b : a));
  const amount = `${brief(pick.cost[c])}\u00a0${costUnit(c)}${c === "parameters" ? " parameters" : ""}`;
  const why = `${B().metric} ${score(pick.mean)} (95 % interval ${interval(pick)}) at ${amount}${limits.length ? `, with ${join(limits)}` : ""}.`;
  set(few ? `${tag(pick.model)}, for now` : `Use ${tag(pick.model)}`, why, because({ c, ok, top, ties, pool, pick }),
    floor(pick), few ? "Too few runs to tell these models apart: more seeds may change the answer." : "", aside, beside());
};
const beside = () => (B().limits.beside ? `Here no limit on ${B().limits.beside} is kept; the advice at the top keeps the command's.` : "");
const floor = (r) => {
  const chance = B().chance, reaches = chance !== null && r.low !== null && r.low <= chance;
  return reaches ? `Its interval reaches what always answering the most frequent class scores (${score(chance)}).` : "";
};
const because = ({ c, ok, top, ties, pool, pick }) => {
  if (pick === top) {
    if (ties.length) return `It also has the ${B().costs[c].more ? "highest" : "lowest"} ${costLabel(c).toLowerCase()} among the models that cannot be told apart from it (${join(ties.map((r) => name(r.model)))}).`;
    return scored().length === 1 ? "Nothing else was measured here." : ok.length === 1 ? "No other model fits." : "Every other model that fits scores worse.";
  }
  const ratio = Math.max(pick.cost[c], top.cost[c]) / Math.min(pick.cost[c], top.cost[c]);
  const times = ratio < 1.95 ? `${num((ratio - 1) * 100, 0)}\u00a0% faster` : `${num(ratio, 1)} times as fast`;
  const gain = { speed: `trains ${times}`, decoding: `decodes ${times}`, parameters: "is smaller", flops: "computes less", memory: "needs less memory", latency: "answers sooner" }[c] ?? "costs less";
  const others = pool.filter((r) => r !== pick && r !== top).map((r) => name(r.model));
  return `${name(top.model)} scores ${num(Math.abs(top.mean - pick.mean), B().digits)} ${sign() > 0 ? "more" : "less"}, but the difference is not distinguishable, and ${name(pick.model)} ${gain} (${brief(pick.cost[c])} against ${brief(top.cost[c])} ${costUnit(c)}).`
    + (others.length ? ` ${join(others)} ${others.length > 1 ? "are" : "is"} not distinguishable either.` : "");
};
const sliderRange = (c) => { const v = scored().map((r) => r.cost[c]).filter((x) => x > 0); return [Math.min(...v) * 0.9, Math.max(...v)]; };
const placeOf = (c) => {
  const [lo, hi] = sliderRange(c), at = limitOf(c) === Infinity || !B().shown_costs.includes(c) ? 100 : (100 * Math.log(limitOf(c) / lo)) / Math.log(hi / lo);
  return Math.min(100, Math.max(0, Math.round(at)));
};
const limitText = (c) => {
  const text = limitOf(c) === Infinity ? "no limit" : `${brief(limitOf(c))}\u00a0${costUnit(c)}`;
  $(`#out-${c}`).textContent = text;
  $(`#lim-${c}`).setAttribute("aria-valuetext", text);
};
$$("[data-limit]").forEach((slider) => slider.addEventListener("input", () => {
  const c = slider.dataset.limit, [lo, hi] = sliderRange(c), at = +slider.value;
  state.limits[c] = at >= 100 ? Infinity : +(lo * (hi / lo) ** (at / 100)).toPrecision(2);
  limitText(c);
  drawChoose();
}));

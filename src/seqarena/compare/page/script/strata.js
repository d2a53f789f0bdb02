// The score by length, distance, and whatever else the data is cut by.
const FOOT = 0.19;                                           // where the curves end and the room for the bars begins
const stratum = () => B().strata[state.axis];
const axisWords = (a) => ({ length: "length", distance: "distance" })[a] ?? a.replace(/_/g, " ");
const bases = (t, m) => {                                    // the score at training lengths, else in the first bucket
  const end = t.boundary ?? 1, part = t.series[m].map((r, i) => [r, t.n[i]]).slice(0, end).filter(([r]) => r);
  return part.reduce((s, [r, n]) => s + r[0] * n, 0) / part.reduce((s, [, n]) => s + n, 0) / 100;
};
const drawStrata = () => {
  const t = stratum();
  if (!t) return;
  const kept = state.scale === "kept" && !B().less, small = narrow("strata"), x = t.buckets.map((_, i) => i);
  const models = keys().filter((m) => t.series[m] && shown(m) && (!kept || bases(t, m) > 0));
  const series = Object.fromEntries(models.map((m) => [m, t.series[m].map((r) => r && r.map((v) => (v === null ? null : v / (kept ? bases(t, m) : 1))))]));
  const all = models.flatMap((m) => series[m].flat()).filter((v) => v !== null && v !== undefined), chance = kept ? null : B().chance;
  if (!all.length) all.push(0, 1);
  const ys = nice(Math.min(...all, chance ?? Infinity), Math.max(...all), 6);
  if (B().unit === "%" && !kept) { ys.hi = Math.min(100, ys.hi); ys.lo = Math.max(0, ys.lo); }
  const y0 = ys.lo - (ys.hi - ys.lo) * 0.02, y1 = ys.hi + (ys.hi - ys.lo) * 0.09, domain = [FOOT, 1], what = axisWords(state.axis);
  const { shapes, notes } = strataMarks(t, { chance, y0, small });
  notes.push(...endLabels("strata", models.map((m) => ({ model: m, y: (series[m].findLast((r) => r) ?? [y0])[0] })), y0, y1, domain));
  const tilt = small || t.buckets.some((b) => b.length * 7 * t.buckets.length > 620);
  const finding = B().findings.strata[state.axis];
  $("#h-strata").textContent = finding;
  $("#k-strata").textContent = `By ${what}`;
  $("#scale").hidden = B().less;
  paint("strata", {
    traces: [...models.map((m) => bandOf(x, series[m], C.model[m])), ...models.map((m) => strataLine(x, series[m], m)), strataBars(t, x, small)], models,
    lay: layout("strata", { shapes, annotations: notes, bargap: 0.3, margin: { l: 52, r: small ? 10 : edge(), t: 14, b: tilt ? 66 : 52 },
      xaxis: axis({ range: [-0.5, x.length - 0.5], showgrid: false, anchor: "y2", tickvals: x, ticktext: t.buckets.map(safe), tickangle: tilt ? -50 : 0,
        tickfont: { size: small ? 10.5 : 12, color: C.ink2 }, title: titled(safe(state.axis === "length" ? "Length, tokens" : cap(what)), tilt ? 4 : 10) }),
      yaxis: axis({ showspikes: false, domain, range: [y0, y1], tick0: ys.lo, dtick: ys.s, ticksuffix: tickSuffix(kept) }),
      yaxis2: axis({ showspikes: false, linecolor: "rgba(0,0,0,0)", domain: [0, 0.13], range: [0, Math.max(...t.n) * 1.55], showgrid: false, showticklabels: false }) }),
    title: kept ? `${B().metric}, as a share of the score ${t.boundary ? "at training lengths" : "in the first bucket"}` : `${B().metric} by ${what}`,
    sub: "mean over seeds, band: 95 % interval",
    table: plainTable([cap(what), ...models.map(name), "n"], t.buckets.map((b, i) => [b, ...models.map((m) => strataCell(series[m][i])), num(t.n[i], 0)])),
    alt: `${B().metric} by ${what} for ${join(models.map(name))}. ${finding}.` });
};
const strataCell = (r) => (!r ? "–" : num(r[0], B().digits) + (r[1] === null ? "" : ` (${num(r[1], B().digits)} to ${num(r[2], B().digits)})`));
const strataLine = (x, series, m) => ({ x, y: series.map((r) => (r ? r[0] : null)), mode: "lines+markers", name: safe(tag(m)), line: lineOf(m), marker: markOf(m),
  connectgaps: false, customdata: series.map((r) => (r && r[1] !== null ? ` (${num(r[1], B().digits)} to ${num(r[2], B().digits)})` : "")), hovertemplate: `%{y:.${B().digits}f}%{customdata}` });
const strataBars = (t, x, small) => ({ x, y: t.n, type: "bar", yaxis: "y2", width: 0.62, name: "test examples", text: t.n.map((v) => num(v, 0)), textposition: "outside",
  textfont: { size: small ? 9 : 11, color: C.ink3 }, cliponaxis: false, textangle: 0, hovertemplate: "%{text}",
  marker: { color: t.n.map((_, i) => alpha(C.ink3, t.boundary !== null && i >= t.boundary ? 0.85 : 0.55)) } });
const strataMarks = (t, { chance, y0, small }) => {
  const shapes = [], notes = [{ xref: "paper", x: 0, yref: "paper", y: 0.13, xanchor: "right", xshift: -8, yanchor: "middle", showarrow: false, text: "n", font: { size: 12, color: C.ink3 } }];
  if (t.boundary !== null) {
    const cut = t.boundary - 0.5, box = { xref: "x", yref: "paper", y0: 0, y1: 1 };
    shapes.push({ ...box, type: "rect", x0: cut, x1: t.buckets.length - 0.5, fillcolor: alpha(C.ink3, 0.085), line: { width: 0 }, layer: "below" },
      { ...box, type: "line", x0: cut, x1: cut, line: { color: C.ink3, width: 1.2, dash: "4px,3px" } });
    notes.push({ xref: "x", x: cut, yref: "paper", y: 1, xanchor: "left", yanchor: "top", xshift: 4, yshift: 1, showarrow: false, align: "left",
      text: small ? "unseen lengths" : "longer than anything in training →", font: { size: small ? 11 : 12, color: C.ink2 } });
  }
  if (chance !== null && chance > y0) {
    shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, yref: "y", y0: chance, y1: chance, line: { color: C.ink3, width: 1, dash: "2px,3px" } });
    notes.push({ xref: "paper", x: 1, xanchor: "right", yref: "paper", y: FOOT, yanchor: "top", yshift: 1, showarrow: false, text: `┄ most frequent class, ${score(chance)}`, font: { size: 11.5, color: C.ink3 } });  // between the curves and the bars, where nothing is drawn
  }
  return { shapes, notes };
};

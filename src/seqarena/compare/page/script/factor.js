// The score over an option that was given several numbers, over all blocks of the page.
const factorWords = (f) => f.split(".").pop().replace(/_/g, " ");
const drawFactor = () => {
  const t = D.scaling.factors[state.factor];
  if (!t) return;
  const { metric, digits } = D.scaling, models = Object.keys(t.series), small = narrow("factor"), what = factorWords(state.factor);
  const log = t.x[0] > 0 && t.x[t.x.length - 1] / t.x[0] >= 8, scaled = (v) => (log ? Math.log10(v) : v);
  const all = models.flatMap((m) => t.series[m].flat()).filter((v) => v !== null && v !== undefined), ys = nice(Math.min(...all), Math.max(...all), 6);
  if (D.scaling.unit === "%") { ys.hi = Math.min(100, ys.hi); ys.lo = Math.max(0, ys.lo); }
  const lo = ys.lo - (ys.hi - ys.lo) * 0.02, hi = ys.hi + (ys.hi - ys.lo) * 0.06, ends = models.map((m) => ({ model: m, y: t.series[m].findLast((r) => r)[0] }));
  const first = scaled(t.x[0]), last = scaled(t.x[t.x.length - 1]), room = (last - first) * 0.05 || 1;
  const cell = (r) => (!r ? "–" : num(r[0], digits) + (r[1] === null ? "" : ` (${num(r[1], digits)} to ${num(r[2], digits)})`));
  $("#k-factor").textContent = `By ${what}`;
  $("#h-factor").textContent = `${metric} by ${what}`;
  paint("factor", {
    traces: [...models.map((m) => bandOf(t.x, t.series[m], C.model[m])), ...models.map((m) => factorLine(t, m))], models,
    lay: layout("factor", { annotations: endLabels("factor", ends, lo, hi), margin: { l: 52, r: small ? 14 : edge(models), t: 14, b: 52 },
      xaxis: axis({ type: log ? "log" : "linear", range: [first - room, last + room], showgrid: false, tickvals: t.x, ticktext: t.x.map(brief), title: titled(safe(cap(what))) }),
      yaxis: axis({ showspikes: false, range: [lo, hi], tick0: ys.lo, dtick: ys.s, ticksuffix: D.scaling.unit ? " %" : "" }) }),
    title: `${metric} by ${what}`, sub: "mean over seeds, band: 95 % interval",
    table: plainTable([cap(what), ...models.map(name)], t.x.map((x, i) => [brief(x), ...models.map((m) => cell(t.series[m][i]))])),
    alt: `${metric} by ${what} for ${join(models.map(name))}.` });
};
const factorLine = (t, m) => ({ x: t.x, y: t.series[m].map((r) => (r ? r[0] : null)), mode: "lines+markers", name: safe(tag(m)), line: lineOf(m), marker: markOf(m), connectgaps: true,
  customdata: t.series[m].map((r) => (r && r[1] !== null ? ` (${num(r[1], D.scaling.digits)} to ${num(r[2], D.scaling.digits)})` : "")), hovertemplate: `%{y:.${D.scaling.digits}f}%{customdata}` });

// Learning curves: every seed thin, the median over seeds thick, counted in steps, tokens or time.
const clocked = (one) => one[state.clock];
const drawCurves = () => {
  const models = keys().filter((m) => B().curves[m] && shown(m));
  const all = models.flatMap((m) => [B().curves[m].median, ...B().curves[m].runs]);
  const top = Math.max(...models.flatMap((m) => clocked(B().curves[m].median)), 0), hours = top > 5400;
  const per = { steps: 1, tokens: top >= 1e6 ? 1e6 : 1, seconds: hours ? 3600 : 60 }[state.clock];
  const unit = { steps: "Updates", tokens: `Training tokens${top >= 1e6 ? ", millions" : ""}`, seconds: hours ? "Training time, hours" : "Training time, minutes" }[state.clock];
  const values = all.flatMap((c) => c.values).filter((v) => v !== null), ys = nice(Math.min(...values), Math.max(...values));
  if (B().unit === "%") ys.hi = Math.min(100, ys.hi);
  const lo = ys.lo, hi = ys.hi + (ys.hi - ys.lo) * 0.04, metric = B().curve_metric;
  const ends = models.map((m) => ({ model: m, y: B().curves[m].median.values.findLast((v) => v !== null) ?? lo }));
  const steps = [...new Set(models.flatMap((m) => B().curves[m].median.steps))].sort((a, b) => a - b);
  paint("curves", {
    traces: models.flatMap((m) => curveTraces(m, per)), models,
    lay: layout("curves", { annotations: endLabels("curves", ends, lo, hi),
      xaxis: axis({ range: [0, (top || 1) / per], showgrid: false, nticks: narrow("curves") ? 5 : 8, separatethousands: true, title: titled(unit) }),
      yaxis: axis({ showspikes: false, range: [lo, hi], dtick: ys.s, ticksuffix: tickSuffix() }) }),
    title: `Validation ${/^[A-Z]+$|chrF|BLEU/.test(metric) ? metric : metric.toLowerCase()} during training`,
    sub: { steps: "equal updates", tokens: "equal tokens", seconds: "equal time, on the machine of each run; a large mark where training ends" }[state.clock],
    table: plainTable(["Updates", ...models.map(name)], steps.map((s) => [num(s, 0), ...models.map((m) => curveCell(B().curves[m].median, s))])),
    alt: `Validation ${metric} during training. ${B().findings.curves}.` });
};
const curveCell = (median, step) => { const i = median.steps.indexOf(step); return i < 0 ? "–" : num(median.values[i], B().digits); };
const curveTraces = (m, per) => {
  const { runs, median } = B().curves[m], at = (one) => clocked(one).map((v) => (v === null ? null : v / per)), traces = [];
  for (const run of runs) {
    traces.push({ x: at(run), y: run.values, mode: "lines", line: { color: C.model[m], width: 1 }, opacity: 0.32, hoverinfo: "skip" });
    const last = run.values.findLastIndex((v) => v !== null);
    if (run.diverged && last >= 0) {
      traces.push({ x: [at(run)[last]], y: [run.values[last]], mode: "markers", cliponaxis: false, hovertemplate: `${safe(tag(m))}: a seed that diverged<extra></extra>`,
        marker: { symbol: "x-thin", size: 10, line: { width: 2.4, color: C.model[m] } } });
    }
  }
  const x = at(median), y = median.values, end = x.length - 1;
  traces.push({ x, y, mode: "lines+markers", name: safe(tag(m)), line: lineOf(m), marker: { ...markOf(m), maxdisplayed: 7 }, cliponaxis: false, hovertemplate: `%{y:.${B().digits}f}` });
  if (state.clock === "seconds") traces.push({ x: [x[end]], y: [y[end]], mode: "markers", marker: { ...markOf(m, 11), line: { width: 1.5, color: C.bg } }, hoverinfo: "skip", cliponaxis: false });
  return traces;
};

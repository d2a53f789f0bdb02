// How far models reach: what the probes found by distance.
const reachCurve = () => B().reach[state.curve];
const drawReach = () => {
  const t = reachCurve();
  if (!t) return;
  const models = keys().filter((m) => t.series[m] && shown(m)), small = narrow("reach");
  const seen = (v) => (t.log && v <= 0 ? null : v);          // what is exactly zero lies below every logarithmic axis
  const series = Object.fromEntries(models.map((m) => [m, t.series[m].map(([, ...r]) => (seen(r[0]) === null ? null : [r[0], seen(r[1]) ?? r[0], r[2]]))]));
  const all = models.flatMap((m) => series[m]).filter(Boolean).flat(), scaled = (v) => (t.log ? Math.log10(v) : v);
  if (!all.length) all.push(t.log ? 0.1 : 0, 1);
  const ys = nice(scaled(Math.min(...all)), scaled(Math.max(...all)), 5), lo = t.log ? scaled(Math.min(...all)) - 0.1 : ys.lo, hi = t.log ? scaled(Math.max(...all)) + 0.15 : ys.hi;
  const at = (m) => t.series[m].map(([x]) => x), last = Math.max(...models.flatMap(at), 1);
  const ends = models.map((m) => ({ model: m, y: scaled((series[m].findLast((r) => r) ?? [all[0]])[0]) }));
  const places = [...new Set(models.flatMap(at))].sort((a, b) => a - b);
  const cell = (m, x) => { const i = at(m).indexOf(x), r = i < 0 ? null : t.series[m][i]; return r ? `${tiny(r[1])} (${tiny(r[2])} to ${tiny(r[3])})` : "–"; };
  $("#h-reach").textContent = t.label;
  paint("reach", {
    traces: [...models.map((m) => bandOf(at(m), series[m], C.model[m])), ...models.map((m) => reachLine(at(m), series[m], m))], models,
    lay: layout("reach", { annotations: endLabels("reach", ends, lo, hi), margin: { l: 62, r: small ? 14 : edge(), t: 14, b: 52 },
      xaxis: axis({ range: [-0.02 * last, last * 1.02], showgrid: false, title: titled("Distance from the end of the text, tokens") }),
      yaxis: axis({ showspikes: false, type: t.log ? "log" : "linear", range: [lo, hi], exponentformat: "power", dtick: t.log ? 1 : ys.s }) }),
    title: t.label, sub: "after training, mean over seeds; band: lowest and highest seed",
    table: plainTable(["Distance", ...models.map(name)], places.map((x) => [num(x, 0), ...models.map((m) => cell(m, x))])),
    alt: `${t.label} by distance for ${join(models.map(name))}.` });
};
const tiny = (v) => (v === 0 ? "0" : String(+v.toPrecision(3)));
const reachLine = (x, series, m) => ({ x, y: series.map((r) => (r ? r[0] : null)), mode: "lines+markers", name: safe(tag(m)), line: lineOf(m), marker: { ...markOf(m), maxdisplayed: 9 },
  connectgaps: false, customdata: series.map((r) => (r ? ` (${tiny(r[1])} to ${tiny(r[2])})` : "")), hovertemplate: "%{y:.3g}%{customdata}" });

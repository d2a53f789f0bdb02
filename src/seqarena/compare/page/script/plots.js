// What all plots share: colors read from the page, axes, names at line ends, the table behind each plot.
const probe = el("span", { hidden: true });
document.body.append(probe);
const css = (value) => { probe.style.color = value; return getComputedStyle(probe).color; };
let C = {};
const readColors = () => {                                   // once per theme, so that plots and page agree
  const token = (t) => css(`var(--${t})`);
  C = { ink: token("ink"), ink2: token("ink-2"), ink3: token("ink-3"), grid: token("grid"), line: token("line-2"),
    bg: token("bg"), surface: token("surface"),
    model: Object.fromEntries(Object.entries({ ...D.scaling.models, ...B().models }).map(([k, m]) => [k, css(`light-dark(${m.light},${m.dark})`)])) };
};
const alpha = (rgb, a) => rgb.replace(/^rgb\((.+)\)$/, (_, c) => `rgba(${c}, ${a})`);

const ready = typeof window.Plotly !== "undefined";
const figures = {};
for (const root of $$("figure.plot")) {
  const id = root.id.slice(4), slot = (s) => $(`[data-slot="${s}"]`, root);
  figures[id] = { root, slot, canvas: slot("canvas") };
  const button = $('[data-act="table"]', root);
  button.addEventListener("click", () => {
    const table = slot("table").hidden;
    slot("table").hidden = !table; slot("canvas").hidden = table; slot("legend").hidden = table;
    button.setAttribute("aria-pressed", String(table));
    button.textContent = table ? "Show as plot" : "Show as table";
    if (!table) drawOne(id);
  });
  $('[data-act="save"]', root).addEventListener("click", () => saveImage(id));
  if (!ready) {
    slot("canvas").classList.add("no-plots");
    slot("canvas").removeAttribute("role");
    slot("canvas").textContent = "Plots need the file plotly.min.js in the folder above this page. “Show as table” has the same numbers.";
    $('[data-act="save"]', root).hidden = true;
  }
}
const saveImage = (id) => {                                  // the image carries its title, for slides
  const f = figures[id], { data, layout: lay } = f.canvas;
  const text = `<b>${safe(f.slot("title").textContent)}</b>  ${safe(f.slot("source").textContent)}`;
  const title = { text, x: 0, xref: "paper", xanchor: "left", y: 0.97, yanchor: "top", font: { size: 16, color: C.ink } };
  const options = { format: "png", scale: 2, width: 1100, height: 560, filename: `seqarena-${id}` };
  Plotly.downloadImage({ data, layout: { ...lay, title, margin: { ...lay.margin, t: 60 } } }, options);
};

const FONT = '"Seqarena Sans", Inter, system-ui, "Segoe UI", Roboto, Arial, sans-serif';
const DASH = { dot: "dot", dash: "6px,3px", longdash: "10px,4px", dashdot: "8px,3px,2px,3px", longdashdot: "11px,3px,2px,3px", solid: "solid" };
const narrow = (id) => figures[id].canvas.clientWidth < 560;
const edge = (models = keys()) => Math.min(190, Math.max(...models.map((m) => tag(m).length)) * 7.3 + 26);
const lineOf = (m, width = 2.4) => ({ color: C.model[m], width, dash: DASH[look(m).dash] });
const markOf = (m, size = 7) => ({ size, symbol: look(m).symbol, color: C.model[m], line: { width: 1, color: C.bg } });
const titled = (text, standoff = 10) => ({ text, font: { size: 12.5, color: C.ink2 }, standoff });
const axis = (extra) => ({ gridcolor: C.grid, linecolor: C.line, zeroline: false, tickfont: { size: 12, color: C.ink2 }, ticks: "",
  automargin: false, fixedrange: true, spikecolor: C.ink3, spikethickness: 1, spikedash: "3px,3px", ...extra });
const tickSuffix = (always) => (always || B().unit === "%" ? " %" : "");
let paper = false;                                           // while printing: fixed size, white ground
const layout = (id, extra) => ({
  ...(paper ? { width: 680, height: id === "curves" ? 320 : 380, autosize: false } : { autosize: true }),
  font: { family: FONT, size: 12, color: C.ink2 }, paper_bgcolor: paper ? "#FFFFFF" : C.bg, plot_bgcolor: "rgba(0,0,0,0)",
  showlegend: false, dragmode: false, separators: ".\u202f", hovermode: "x unified",
  margin: { l: 52, r: narrow(id) ? 14 : edge(), t: 14, b: 52, pad: 0 },
  hoverlabel: { bgcolor: C.surface, bordercolor: C.line, font: { family: FONT, size: 12.5, color: C.ink }, align: "left" },
  ...extra });
const CONFIG = { displayModeBar: false, responsive: true, scrollZoom: false, doubleClick: false, showTips: false };
const paint = (id, { traces, lay, title, sub, table, alt, models }) => {
  const f = figures[id];
  f.slot("title").textContent = title;
  f.slot("sub").textContent = sub;
  f.slot("source").textContent = `${B().data} · ${D.name}`;
  f.slot("legend").replaceChildren(...models.map((m) => el("li", {}, swatch(m), tag(m))));
  f.slot("table").replaceChildren(table);
  f.canvas.setAttribute("aria-label", alt);
  if (ready && !f.canvas.hidden) Plotly.react(f.canvas, traces, lay, CONFIG);
};
const plainTable = (head, rows) => el("table", { class: "plain" },
  el("thead", {}, el("tr", {}, ...head.map((h, i) => el("th", { scope: "col", class: i ? "num" : null }, h)))),
  el("tbody", {}, ...rows.map((r) => el("tr", {}, ...r.map((c, i) => (i ? el("td", { class: "num" }, c) : el("th", { scope: "row" }, c)))))));

// names at the line ends, pushed apart so that none touch
const endLabels = (id, items, lo, hi, domain = [0, 1], gap = 17) => {
  if (narrow(id) || !items.length) return [];
  const H = (figures[id].canvas.clientHeight || 400) - 66, floor = H * (1 - domain[0]) + 4;
  const want = (v) => H * (1 - domain[0]) - H * (domain[1] - domain[0]) * (v - lo) / (hi - lo);
  const list = items.map((i) => ({ ...i, at: want(i.y) })).sort((a, b) => a.at - b.at);
  for (let pass = 0; pass < 80; pass++) {
    for (let k = 1; k < list.length; k++) {
      const d = gap - (list[k].at - list[k - 1].at);
      if (d > 0) { list[k].at += d / 2; list[k - 1].at -= d / 2; }
    }
  }
  if (list[list.length - 1].at > floor) {
    for (let k = list.length - 1, f = floor; k >= 0; k--) { list[k].at = Math.min(list[k].at, f); f = list[k].at - gap; }
  }
  return list.flatMap((i) => endLabel(i.model, 1 - i.at / H));
};
const endLabel = (m, y) => {
  const place = { xref: "paper", x: 1, xanchor: "left", yref: "paper", y, yanchor: "middle", showarrow: false };
  return [{ ...place, xshift: 10, align: "left", text: `<b>${safe(tag(m))}</b>`, font: { size: 12.5, color: C.ink, family: FONT } },
    { ...place, xshift: 3, text: "▎", font: { size: 12, color: C.model[m] } }];
};
const nice = (lo, hi, parts = 5) => {
  const raw = Math.max(hi - lo, 1e-6) / parts, p = 10 ** Math.floor(Math.log10(raw));
  const s = [1, 2, 2.5, 5, 10].find((k) => k * p >= raw) * p;
  return { lo: Math.floor(lo / s) * s, hi: Math.ceil(hi / s) * s, s };
};
const logTicks = (lo, hi, dense) => {
  const out = [];
  for (let e = Math.floor(Math.log10(lo)) - 1; e <= Math.ceil(Math.log10(hi)); e++) {
    for (const k of dense ? [1, 1.5, 2, 3, 4, 5, 6, 8] : [1, 2, 5]) {
      const v = +(k * 10 ** e).toPrecision(3);
      if (v >= lo && v <= hi) out.push(v);
    }
  }
  return out;
};
const bandOf = (x, series, color) => {                       // the polygon between low and high, where both are known
  const at = x.filter((_, i) => series[i] && series[i][1] !== null), known = series.filter((r) => r && r[1] !== null);
  return { x: [...at, ...[...at].reverse()], y: [...known.map((r) => r[2]), ...known.map((r) => r[1]).reverse()], fill: "toself",
    fillcolor: alpha(color, 0.11), line: { width: 0 }, mode: "lines", hoverinfo: "skip" };
};
const drawOne = (id) => ({ choose: drawChoose, factor: drawFactor, strata: drawStrata, curves: drawCurves, reach: drawReach })[id]();
const drawAll = () => Object.keys(figures).forEach((id) => drawOne(id));

// Test examples, the ones that models disagree on first.
const PER_PAGE = 5, CLAMP = 260, RIGHT = 80;
const answers = (e) => e.guess || e.hypotheses;
const isRight = (e, m) => (e.hypotheses ? e.overlap[m] >= RIGHT : e.guess[m][0] === e.label);
const wordDiff = (ref, hyp) => {                             // longest common subsequence over words
  const a = ref.split(/\s+/), b = hyp.split(/\s+/), L = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) L[i][j] = a[i] === b[j] ? L[i + 1][j + 1] + 1 : Math.max(L[i + 1][j], L[i][j + 1]);
  const out = [];
  const push = (kind, w) => { const last = out[out.length - 1]; if (last && last[0] === kind) last[1] += ` ${w}`; else out.push([kind, w]); };
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { push("same", a[i]); i++; j++; }
    else if (i < a.length && (j >= b.length || L[i + 1][j] >= L[i][j + 1])) push("del", a[i++]);
    else push("ins", b[j++]);
  }
  return out;
};
const exampleText = (text) => {
  if (text === "") return [el("p", { class: "ex-text empty" }, "(empty text)")];
  const long = text.length > CLAMP, p = el("p", { class: `ex-text${long ? " clamp" : ""}`, dir: "auto" }, marked(text));
  if (!long) return [p];
  const more = el("button", { type: "button", class: "more", "aria-expanded": "false" }, "Show the whole text");
  more.addEventListener("click", () => {
    const closed = p.classList.toggle("clamp");
    more.textContent = closed ? "Show the whole text" : "Show less";
    more.setAttribute("aria-expanded", String(!closed));
  });
  return [p, more];
};
const card = (e) => {
  const models = keys().filter((m) => answers(e)[m] && shown(m)), wrong = models.filter((m) => !isRight(e, m)).length;
  const state_ = e.hypotheses ? `spread ${num(100 * e.disagreement, 0)}` : wrong === 0 ? "all right" : wrong === models.length ? "all wrong" : `${wrong} of ${models.length} wrong`;
  const head = el("p", { class: "ex-head" }, el("span", {}, `example ${e.id}`), el("span", {}, `${e.length} tokens`), el("b", {}, state_));
  return e.hypotheses ? translation(e, models, head) : classification(e, models, head);
};
const looks = (e, m) => {                                    // tokens, the darker the more attention they receive
  const map = e.attention?.[m];
  if (!map) return null;
  const most = Math.max(...map.share, 1e-9);
  const word = (token, i) => el("span", { style: `--w:${(map.share[i] / most).toFixed(3)}`, title: `${num(100 * map.share[i], 1)}\u00a0%` }, marked(token));
  return el("details", { class: "looks", style: `--c:light-dark(${B().models[m].light},${B().models[m].dark})` }, el("summary", {}, `Where ${name(m)} looks`),
    el("p", { dir: "auto" }, ...map.tokens.flatMap((t, i) => [word(t, i), " "])));
};
const attended = (e, models) => (e.attention ? [el("div", { class: "looked" }, ...models.map((m) => looks(e, m)))] : []);
const translation = (e, models, head) => {
  const row = (dt, dd, value, kind) => el("div", { class: kind }, el("dt", {}, ...dt), el("dd", { dir: "auto" }, ...dd), el("dd", { class: "val" }, value));
  const changed = (m) => wordDiff(visible(e.reference), visible(e.hypotheses[m])).flatMap(([kind, w]) => [
    kind === "same" ? document.createTextNode(w) : el(kind, {}, el("span", { class: "sr" }, kind === "ins" ? "added: " : "missing: "), w), " "]);
  return el("li", { class: "ex" }, head, el("dl", { class: "pairs" }, row(["Source"], [marked(e.source)], "", "src"), row(["Reference"], [marked(e.reference)], "", "ref"),
    ...models.map((m) => row([swatch(m), el("span", { class: "clip", title: name(m) }, name(m))], changed(m), String(e.overlap[m]), "hyp"))), ...attended(e, models));
};
const classification = (e, models, head) => el("li", { class: "ex" }, head, ...exampleText(e.text), el("p", { class: "truth" }, "Label: ", el("b", {}, marked(e.label))),
  el("div", { class: "guesses" }, ...models.map((m) => {
    const right = isRight(e, m), [word, votes, seeds] = e.guess[m];
    return el("div", { class: `guess is-${right ? "right" : "wrong"}` }, swatch(m), el("span", { class: "who clip", title: name(m) }, name(m)),
      el("span", { class: "what" }, marked(word), el("small", { title: "seeds that gave this answer" }, `${votes}/${seeds}`)),
      el("span", {}, icon(right ? "right" : "wrong"), el("span", { class: "sr" }, right ? "right" : "wrong")));
  })), ...attended(e, models));
const matching = () => {
  const model = $("#ex-model").value, want = $("#ex-right").value, part = $("#ex-find").value.trim().toLowerCase(), order = $("#ex-order").value;
  const models = (e) => (model === "any" ? Object.keys(answers(e)).filter(shown) : [model].filter((m) => answers(e)[m]));
  const text = (e) => [e.text, e.label, e.source, e.reference, ...Object.values(e.hypotheses ?? {})].filter(Boolean).join("\n").toLowerCase();
  const list = B().examples.filter((e) => want === "any" || models(e).some((m) => isRight(e, m) === (want === "right"))).filter((e) => !part || text(e).includes(part));
  if (order === "attention") return list.filter((e) => e.attention);
  if (order !== "disagreement") list.sort((a, b) => (order === "long" ? b.length - a.length : a.length - b.length));
  return list;
};
const drawExamples = () => {
  if (!$("#ex-list")) return;
  const list = matching(), pages = Math.max(1, Math.ceil(list.length / PER_PAGE)), total = B().examples.length;
  state.page = Math.min(state.page, pages - 1);
  const part = list.slice(state.page * PER_PAGE, (state.page + 1) * PER_PAGE), from = state.page * PER_PAGE + 1;
  $("#ex-list").replaceChildren(...part.map(card));
  $("#ex-count").textContent = list.length ? `${from} to ${from + part.length - 1} of ${list.length}${list.length < total ? ` that fit, of ${total}` : ""} examples with the most disagreement` : "No example fits these filters.";
  $("#ex-page").textContent = `${state.page + 1} of ${pages}`;
  $("#ex-prev").disabled = state.page === 0;
  $("#ex-next").disabled = state.page >= pages - 1;
  $("#ex-how").replaceChildren(...(B().examples[0]?.hypotheses
    ? ["Against the reference: ", el("del", {}, "missing words"), " and ", el("ins", {}, "added words"), `, of each model's first seed. The number is sentence chrF, 0 to 100; from ${RIGHT} on, an answer counts as right in the filter. Spread: best minus worst.`]
    : ["The answer that most seeds gave, and how many did. Texts appear exactly as they are stored."]),
    ...(B().examples.some((e) => e.attention) ? [" Where a run kept attention maps, words are the darker the more of the last layer's attention they receive, over all heads and words that look."] : []));
};
$$(".filters select, .filters input").forEach((s) => s.addEventListener("input", () => { state.page = 0; drawExamples(); }));
for (const [id, by] of [["#ex-prev", -1], ["#ex-next", 1]]) {
  $(id)?.addEventListener("click", () => { state.page += by; drawExamples(); $("#examples").scrollIntoView({ block: "start" }); });
}

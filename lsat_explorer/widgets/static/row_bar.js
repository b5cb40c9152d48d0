// What the rows are sorted and filtered by, and which page of them is shown.

const LATER = " It comes with the fit: start the run first.";
const COLUMNS = {
  doubt: ["doubt", "Least", "Most", "by how much the fit without a row favours another label than the one given"],
  effect: ["effect", "Smallest", "Largest", "what more weight on a row does to the validation loss: below 0 it raises it"],
  weight: ["weight", "Lightest", "Heaviest", "how much a row counts in the fit, e^{2ω}"],
  row: ["row number", "First", "Last", "the order of the data"],
  label: ["label", "Rising", "Falling", "what the data say"],
  predicted: ["predicted label", "Rising", "Falling", "what the fitted model says"],
  loss: ["loss", "Smallest", "Largest", "the loss ψ of the row alone, in the unit of the validation loss"],
};
const FEATURE = "feature ";
const TARGETS = { // where rows have numbers rather than labels
  doubt: ["doubt", "Least", "Most", "how far the target of a row is from what the fit without it predicts, in deviations of the noise"],
  label: ["target", "Smallest", "Largest", "what the data say"],
  predicted: ["predicted target", "Smallest", "Largest", "what the fitted model says"],
};
const classified = (model) => model.get("_shown").classes.length > 0;
const given = (model) => (classified(model) ? "label" : "target");
const about = (model, column) =>
  (classified(model) ? COLUMNS : { ...COLUMNS, ...TARGETS })[column] ?? [column.slice(FEATURE.length), "Smallest", "Largest", "a feature of the data, in its own unit"];
const parsed = (order) => {
  if (order === "lightest" || order === "heaviest") return ["weight", order === "heaviest"];
  return order.startsWith("-") ? [order.slice(1), true] : [order, false];
};
const named = (column, falling) =>
  (column === "weight" ? (falling ? "heaviest" : "lightest") : `${falling ? "-" : ""}${column}`);
const isPredicted = (column) => column === "predicted" || column === "loss";
const isExplained = (column) => column === "doubt" || column === "effect";
// why rows cannot be sorted by a column now, empty where they can
const unavailable = (model, column) => {
  const { part, explains, tuned } = model.get("_shown"), { can } = model.get("_standing");
  if (part !== "training" && (column === "weight" || isExplained(column))) return " Training rows alone have it.";
  if (column === "weight" && !tuned) return " The recipe tunes no row weights.";
  if (part === "test" && isPredicted(column)) return " Test rows are shown without predictions.";
  if (isPredicted(column) && !can) return LATER;
  if (isExplained(column) && !explains) return LATER;
  const judged = model.get("_parts").some(([name]) => name === "validation");
  return column === "effect" && !judged ? " It takes validation rows, and the data have none." : "";
};

// order, class, confusion; rows, page, size
function controlBar(model, set) {
  const sort = dom("select", {});
  sort.addEventListener("change", () => set("order", named(sort.value, ["loss", "doubt"].includes(sort.value))));
  const parts = dom("div", { class: "lsat-segments", role: "group", "aria-label": "Which rows" });
  const verdicts = dom("select", { title: "Show rows by your verdicts on them" });
  verdicts.addEventListener("change", () => set("verdict", verdicts.value));
  const point = (falling) => set("order", named(parsed(model.get("order"))[0], falling));
  const directions = [false, true].map((falling) => titled("", "", () => point(falling)));
  const segments = dom("div", { class: "lsat-segments", role: "group", "aria-label": "Which come first" },
    ...directions);
  const classes = dom("select", { title: "Show the rows of one class alone, by the label that the data give" });
  const classLabel = dom("label", {}, "Class", classes);
  classes.addEventListener("change", () => set("_class", Number(classes.value)));
  const fold = titled("Confusion", "", () => set("_folded", !model.get("_folded")));
  const cell = titled("", "Show rows of every cell again", () => set("_cell", []));
  const total = dom("span", { class: "lsat-muted", role: "status" });
  const everything = titled("Show all", "Take away class, verdict, confusion cell and range of weights", () => {
    for (const [name, value] of [["_class", -1], ["_cell", []], ["_brush", []], ["verdict", "all"]]) model.set(name, value);
    model.save_changes();
  });
  everything.className = "lsat-link";
  const size = dom("select", { title: "Rows on a page, at most 500" });
  size.addEventListener("change", () => set("_size", Number(size.value)));
  const turn = (by, text, label) => {
    const button = titled(text, label, () => set("page", model.get("page") + by));
    button.setAttribute("aria-label", label);
    return button;
  };
  const previous = turn(-1, "‹", "Previous page (Page Up in the rows)");
  const next = turn(1, "›", "Next page (Page Down in the rows)");
  const at = dom("input", { type: "number", min: "1", step: "1", title: "Number of the page" });
  at.addEventListener("change", () => {
    const wanted = Math.round(Number(at.value)), { pages } = model.get("_shown");
    if (at.value && Number.isFinite(wanted)) set("page", Math.min(pages, Math.max(1, wanted)));
    settled();
  });
  let typing = false; // what is being typed stands until it is sent
  const settled = () => { typing = false; at.value = String(model.get("page")); };
  at.addEventListener("input", () => { typing = true; });
  at.addEventListener("blur", settled);
  const of = dom("span", { class: "lsat-muted" });
  const pager = dom("span", { class: "lsat-row lsat-browser-pager" }, dom("label", {}, "Page", at), of, previous, next);
  const node = dom("div", { class: "lsat-row lsat-browser-bar" },
    parts, dom("label", {}, "Sort by", sort), segments, classLabel, dom("label", {}, "Verdict", verdicts), fold, cell,
    dom("span", { class: "lsat-row lsat-push" }, total, everything, pager, dom("label", {}, "Show", size)));

  const fill = (select, key, options) => {
    if (select.dataset.key === key) return;
    select.dataset.key = key;
    select.replaceChildren(...options());
  };
  const drawParts = () => {
    const key = JSON.stringify(model.get("_parts"));
    if (parts.dataset.key !== key) {
      parts.dataset.key = key;
      parts.replaceChildren(...model.get("_parts").map(([part, count]) => {
        const button = titled(`${part[0].toUpperCase()}${part.slice(1)}`, "", () => set("part", part));
        button.dataset.part = part;
        button.title = `Show the ${counted(count, `${part} row`)}${part === "training" ? "" : ": to look at, not to judge"}`;
        return button;
      }));
    }
    for (const button of parts.children) {
      button.setAttribute("aria-pressed", String(button.dataset.part === model.get("part")));
    }
  };
  const update = () => {
    const now = model.get("_shown"), { can } = model.get("_standing"), page = model.get("page");
    drawParts();
    const [column, falling] = parsed(model.get("order"));
    const feature = column.startsWith(FEATURE) ? [column.slice(FEATURE.length)] : [];
    const offered = [...new Set([...(now.features ?? []), ...feature])];
    const { counts } = model.get("_judged");
    fill(verdicts, JSON.stringify(counts), () => Object.entries(VERDICT_FILTERS).map(([value, text]) =>
      dom("option", { value, text: counts[value] ? `${text} (${counts[value]})` : text })));
    verdicts.value = model.get("verdict");
    fill(sort, JSON.stringify([offered, classified(model), can, now.tuned, now.part, now.explains, model.get("_parts")]), () => [
      ...Object.keys(COLUMNS).map((name) => {
        const option = dom("option", { value: name, text: about(model, name)[0] });
        option.title = unavailable(model, name).trim();
        option.disabled = Boolean(option.title);
        return option;
      }),
      ...(offered.length ? [dom("optgroup", { label: "features" },
        ...offered.map((name) => dom("option", { value: `${FEATURE}${name}`, text: name })))] : [])]);
    sort.value = column;
    sort.title = `What the rows are sorted by; now ${about(model, column)[0]}, ${about(model, column)[3]}.`
      + `${can ? "" : ` Doubt, effect, predicted ${given(model)} and loss come with the fit: start the run first.`}`;
    directions.forEach((button, place) => {
      button.textContent = about(model, column)[1 + place];
      button.title = `${about(model, column)[1 + place]} ${about(model, column)[0]} first`;
      button.setAttribute("aria-pressed", String(falling === Boolean(place)));
    });
    segments.hidden = column === "weight" && !now.tuned;
    classLabel.hidden = fold.hidden = now.classes.length === 0;
    fill(classes, JSON.stringify(now.classes), () =>
      ["all", ...now.classes].map((text, i) => dom("option", { value: String(i - 1), text })));
    classes.value = String(model.get("_class"));
    const folded = model.get("_folded"), chosen = model.get("_cell");
    fold.setAttribute("aria-expanded", String(!folded));
    fold.textContent = `Confusion ${folded ? "▸" : "▾"}`;
    const unseen = unavailable(model, "predicted");
    const many = tooMany(now.classes);
    fold.disabled = Boolean(unseen || (many && folded));
    fold.title = many || `How many ${now.part} rows of each class are predicted as each; a cell shows its rows.${unseen}`;
    cell.hidden = !chosen.length;
    cell.textContent = chosen.length ? `${now.classes[chosen[0]]} → ${now.classes[chosen[1]]} ×` : "";
    cell.setAttribute("aria-label", chosen.length
      ? `Given ${now.classes[chosen[0]]}, predicted ${now.classes[chosen[1]]}: show rows of every cell again` : "");
    const some = now.total < now.all ? `${now.total.toLocaleString("en-US")} of ` : "";
    total.textContent = some + counted(now.all, "row");
    everything.hidden = !(model.get("_class") >= 0 || chosen.length || model.get("_brush").length
      || model.get("verdict") !== "all");
    const present = model.get("_size");
    const sizes = [...new Set([20, 50, 100, 200, 500, present])].sort((a, b) => a - b);
    const option = (value) => dom("option", { value: String(value), text: `${value} rows` });
    fill(size, String(sizes), () => sizes.map(option));
    size.value = String(present);
    pager.hidden = now.pages < 2;
    at.max = String(now.pages);
    if (!typing) at.value = String(page);
    of.textContent = `of ${now.pages.toLocaleString("en-US")}`;
    previous.disabled = page <= 1;
    next.disabled = page >= now.pages;
  };
  const step = (by) => { const button = by < 0 ? previous : next; if (!button.disabled) button.click(); };
  return { node, update, step, clear: () => everything.click() };
}

// as of which iteration the predictions are, and why there are none
function standingLine(model) {
  const words = dom("span", { role: "status" });
  const why = "Predict with the fit of the last iteration; the run computes more slowly meanwhile";
  const update = titled("Update", why, () => model.send({ do: "update" }));
  const node = dom("div", { class: "lsat-row lsat-browser-standing lsat-muted" }, words, update);
  const draw = () => {
    const { number: as_of, now, behind, busy, problem } = model.get("_standing");
    const used = model.get("_shown").predicted || model.get("_zoom").said?.words;
    const { waits, tuned, suggested, part } = model.get("_shown"), column = parsed(model.get("order"))[0];
    const asked = used || suggested || isPredicted(column) || isExplained(column) || model.get("_cell").length;
    node.hidden = !(problem || (asked && (busy || as_of !== null)));
    node.classList.toggle("lsat-error", Boolean(problem));
    const later = behind ? `; the run is at ${now}` : "";
    const meanwhile = `in the order of ${tuned ? "their weights" : "the data"}`;
    words.textContent = problem
      || (busy && waits ? `Working out ${column} from the fit… until then the rows are ${meanwhile}.`
        : busy ? `Asking the fit about the ${part} rows…`
          : `${suggested && !used ? "Doubt and effect" : "Predictions"} as of iteration ${as_of}${later}.`);
    update.hidden = busy || !(behind || problem);
  };
  return { node, draw };
}

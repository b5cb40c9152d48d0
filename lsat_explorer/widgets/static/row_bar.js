// What the rows are sorted and filtered by, and which page of them is shown.

const LATER = " Predicted label and loss come with the fit: start the run first.";
const COLUMNS = {
  weight: ["weight", "Lightest", "Heaviest", "how much a row counts in the fit, e^{2ω}"],
  row: ["row number", "First", "Last", "the order of the data"],
  label: ["label", "Rising", "Falling", "what the data say"],
  predicted: ["predicted label", "Rising", "Falling", "what the fitted model says"],
  loss: ["loss", "Smallest", "Largest", "the loss ψ of the row alone, in the unit of the validation loss"],
};
const FEATURE = "feature ";
const about = (column) =>
  COLUMNS[column] ?? [column.slice(FEATURE.length), "Smallest", "Largest", "a feature of the data, in its own unit"];
const parsed = (order) => {
  if (order === "lightest" || order === "heaviest") return ["weight", order === "heaviest"];
  return order.startsWith("-") ? [order.slice(1), true] : [order, false];
};
const named = (column, falling) =>
  (column === "weight" ? (falling ? "heaviest" : "lightest") : `${falling ? "-" : ""}${column}`);
const isPredicted = (column) => column === "predicted" || column === "loss";

// order, class, confusion; rows, page, size
function controlBar(model, set) {
  const sort = dom("select", {});
  sort.addEventListener("change", () => set("order", named(sort.value, sort.value === "loss")));
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
  const everything = titled("Show all", "Take away class, confusion cell and range of weights", () => {
    for (const [name, value] of [["_class", -1], ["_cell", []], ["_brush", []]]) model.set(name, value);
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
    if (Number.isFinite(wanted)) set("page", Math.min(pages, Math.max(1, wanted)));
    at.value = String(model.get("page"));
  });
  const of = dom("span", { class: "lsat-muted" });
  const pager = dom("span", { class: "lsat-row lsat-browser-pager" }, dom("label", {}, "Page", at), of, previous, next);
  const node = dom("div", { class: "lsat-row lsat-browser-bar" },
    dom("label", {}, "Sort by", sort), segments, classLabel, fold, cell,
    dom("span", { class: "lsat-row lsat-push" }, total, everything, pager, dom("label", {}, "Show", size)));

  const fill = (select, key, options) => {
    if (select.dataset.key === key) return;
    select.dataset.key = key;
    select.replaceChildren(...options());
  };
  const update = () => {
    const now = model.get("_shown"), { can } = model.get("_standing"), page = model.get("page");
    const [column, falling] = parsed(model.get("order"));
    const feature = column.startsWith(FEATURE) ? [column.slice(FEATURE.length)] : [];
    const offered = [...new Set([...(now.features ?? []), ...feature])];
    fill(sort, JSON.stringify([offered, can, now.tuned]), () => [
      ...Object.keys(COLUMNS).map((name) => {
        const option = dom("option", { value: name, text: about(name)[0] });
        option.disabled = isPredicted(name) && !can;
        return option;
      }),
      ...(offered.length ? [dom("optgroup", { label: "features" },
        ...offered.map((name) => dom("option", { value: `${FEATURE}${name}`, text: name })))] : [])]);
    sort.value = column;
    sort.title = `What the rows are sorted by; now ${about(column)[0]}, ${about(column)[3]}.${can ? "" : LATER}`;
    directions.forEach((button, place) => {
      button.textContent = about(column)[1 + place];
      button.title = `${about(column)[1 + place]} ${about(column)[0]} first`;
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
    fold.disabled = !can;
    fold.title = "How many training rows of each class are predicted as each; a cell shows its rows."
      + (can ? "" : " Predictions come with the fit: start the run first.");
    cell.hidden = !chosen.length;
    cell.textContent = chosen.length ? `${now.classes[chosen[0]]} → ${now.classes[chosen[1]]} ×` : "";
    cell.setAttribute("aria-label", chosen.length
      ? `Given ${now.classes[chosen[0]]}, predicted ${now.classes[chosen[1]]}: show rows of every cell again` : "");
    const some = now.total < now.all ? `${now.total.toLocaleString("en-US")} of ` : "";
    total.textContent = some + counted(now.all, "row");
    everything.hidden = !(model.get("_class") >= 0 || chosen.length || model.get("_brush").length);
    const present = model.get("_size");
    const sizes = [...new Set([20, 50, 100, 200, 500, present])].sort((a, b) => a - b);
    const option = (value) => dom("option", { value: String(value), text: `${value} rows` });
    fill(size, String(sizes), () => sizes.map(option));
    size.value = String(present);
    pager.hidden = now.pages < 2;
    at.max = String(now.pages);
    if (document.activeElement !== at) at.value = String(page); // what is being typed stands
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
    const asked = used || isPredicted(parsed(model.get("order"))[0]) || model.get("_cell").length;
    node.hidden = !(problem || (asked && (busy || as_of !== null)));
    node.classList.toggle("lsat-error", Boolean(problem));
    const later = behind ? `; the run is at ${now}` : "";
    words.textContent = problem
      || (busy ? "Predicting the training rows…" : `Predictions as of iteration ${as_of}${later}.`);
    update.hidden = busy || !(behind || problem);
  };
  return { node, draw };
}

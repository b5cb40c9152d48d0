// What is assembled: a tab for each part of the recipe, a card for each piece. Its text stands in a view of its own.

const TABS = {
  Features: "How the inputs of a row become features",
  Regularizers: "Penalties on θ, and the weight of each",
  Weights: "How much each training row counts in the fit",
  Loss: "What is made small on the validation rows",
  Method: "How the hyper-parameters ω are searched, and when that ends",
  Code: "The whole recipe as Python and as JSON, to read, copy and edit",
};
const NAMES = Object.keys(TABS);
const GROUPS = { Weights: "penalties", Loss: "loss", Method: "method" };
const SVG = "http://www.w3.org/2000/svg";

const drawing = (path) => {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 1 1");
  svg.setAttribute("class", "lsat-graph");
  svg.setAttribute("aria-hidden", "true");
  const lines = document.createElementNS(SVG, "path");
  lines.setAttribute("d", path);
  svg.append(lines);
  return svg;
};

const quantity = (text) => {
  // e²ω and eσ read as powers: the exponent is raised
  const match = /^(.*\be)(²ω|σ|τ)$/u.exec(text);
  if (!match) return [text];
  return [match[1], dom("sup", { text: match[2].replace("²", "2") })];
};

const NOW = "Weight e²ω of this penalty at the last accepted iteration, without unit";
const WEIGHT = { low: 1e-6, high: 1e6, log: true, whole: false };
const SETTLE = 120; // ms of rest before a drag is sent

// Where the weight of a regularizer starts, and whether it is tuned. The row stays while its card is filled anew: a hand
// may be on it.
const startRow = (ask) => {
  const about = "Weight e²ω of this penalty at the first iteration, without unit: the larger, the smaller θ is held";
  const slider = dom("input", { type: "range", min: "0", max: String(POSITIONS), step: "1", title: about });
  const field = dom("input", {
    type: "text", inputmode: "decimal", class: "lsat-number", title: about, autocomplete: "off", spellcheck: "false",
  });
  const box = dom("input", { type: "checkbox" });
  const tuned = dom("label", {
    class: "lsat-muted", title: "Tuned: iterations move the weight. Not tuned: it stays where it starts",
  }, box, "tuned");
  let path = "", value = 1, timer = null, edited = false;
  const show = (next) => {
    value = next;
    slider.value = String(sliderPosition(WEIGHT, next));
    slider.setAttribute("aria-valuetext", number(next));
    field.value = number(next);
  };
  const send = (weight) => {
    clearTimeout(timer);
    timer = null;
    ask({ path, weight });
  };
  const typed = () => {
    if (!edited) return;
    edited = false;
    const next = Number(typedNumber(field.value) || NaN);
    if (next > 0 && Number.isFinite(next)) send(next);
    else ask({ path, weight: field.value });
    if (!(next > 0)) show(value);
  };
  const move = (next) => {
    show(next);
    clearTimeout(timer);
    timer = setTimeout(() => send(value), SETTLE);
  };
  slider.addEventListener("input", () => move(sliderValue(WEIGHT, Number(slider.value))));
  sliderKeys(slider, WEIGHT, move);
  field.addEventListener("input", () => { edited = true; });
  field.addEventListener("change", typed);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") typed();
    if (event.key === "Escape") { edited = false; show(value); }
  });
  box.addEventListener("change", () => ask({ path, tuned: box.checked }));
  const node = dom("div", { class: "lsat-start" },
    dom("span", { class: "lsat-muted" }, "starts at e", dom("sup", { text: "2ω" })), slider, field, tuned);
  node.addEventListener("keydown", (event) => event.stopPropagation()); // or the notebook's command mode takes the key
  const update = (card, fixed) => {
    node.hidden = card.start === null;
    if (node.hidden) return;
    path = card.path;
    for (const [control, what] of [[slider, "start"], [field, "start, value"]]) {
      control.setAttribute("aria-label", `${card.name} weight at the ${what}`);
      control.disabled = fixed;
    }
    box.setAttribute("aria-label", `${card.name} tuned`);
    box.disabled = fixed;
    box.checked = card.tuned;
    if (timer === null && !edited) show(card.start); // while it is moved the hand is right
  };
  return { node, update };
};

const fill = (node, card, picture, ask, fixed) => {
  if (!node.lsatStart) {
    node.lsatStart = startRow(ask);
    node.lsatHead = dom("div", { class: "lsat-row lsat-card-head" });
    node.lsatRest = dom("div", {});
    node.append(node.lsatHead, node.lsatStart.node, node.lsatRest);
  }
  const starts = card.start !== null;
  const state = card.tuned === null || starts ? "plain" : card.tuned ? "tuned" : "frozen";
  const [now = ["", "–"], ...rest] = card.facts; // of a regularizer the first is its weight e²ω
  node.lsatHead.replaceChildren(
    dom("span", { class: "lsat-strong", text: card.name }), dom("span", { class: "lsat-muted", text: card.kind }),
    // it stands there before the first iteration too, so that nothing moves when it changes
    ...(starts ? [dom("span", { class: "lsat-push lsat-now", title: NOW }, dom("span", { class: "lsat-muted", text: "now" }),
      dom("span", { class: "lsat-number", text: now[1] }))]
      : [dom("span", { class: `lsat-push lsat-state lsat-${state}`, text: state === "plain" ? "" : state })]));
  node.lsatStart.update(card, fixed);
  const facts = (starts ? rest : card.facts).map(([name, value]) => dom("div", { class: "lsat-fact" },
    dom("span", { class: "lsat-muted" }, ...quantity(name)), dom("span", { class: "lsat-number", text: value })));
  const notes = card.notes.map((text) => dom("div", { text }));
  const below = picture || notes.length ? [dom("div", { class: "lsat-picture" })] : [];
  if (picture) {
    if (node.lsatPath !== picture) [node.lsatPath, node.lsatDrawing] = [picture, drawing(picture)];
    below[0].append(node.lsatDrawing);
  }
  if (notes.length) below[0].append(dom("div", {}, ...notes));
  node.lsatRest.replaceChildren(...facts, ...below);
};

function render({ model, el }) {
  el.classList.add("lsat", "lsat-panel");
  const id = `lsat-${Math.random().toString(36).slice(2)}`;
  const bar = dom("div", { class: "lsat-tabs", role: "tablist", "aria-label": "Parts of the recipe" });
  const body = dom("div", { class: "lsat-tab-body", role: "tabpanel", id });
  const tools = dom("div", { class: "lsat-row lsat-tab-tools" });
  const problem = dom("div", { class: "lsat-error", role: "alert" });
  const reason = dom("div", { class: "lsat-muted lsat-whose" });
  el.append(bar, tools, problem, reason, body);
  const buttons = NAMES.map((name) => {
    const button = dom("button", { type: "button", role: "tab", text: name, title: TABS[name], "aria-controls": id });
    button.addEventListener("click", () => choose(name));
    bar.append(button);
    return button;
  });
  const choose = (name) => {
    if (name !== model.get("tab")) model.set("editing", false);
    model.set("tab", name);
    model.set("group", GROUPS[name] || "none");
    model.save_changes();
  };
  bar.addEventListener("keydown", (event) => {
    const moves = { ArrowRight: 1, ArrowLeft: -1, Home: -NAMES.length, End: NAMES.length };
    if (!(event.key in moves)) return;
    event.preventDefault();
    event.stopPropagation();
    const now = NAMES.indexOf(model.get("tab")) + moves[event.key];
    const next = Math.abs(moves[event.key]) > 1 ? Math.min(NAMES.length - 1, Math.max(0, now))
      : (now + NAMES.length) % NAMES.length;
    choose(NAMES[next]);
    buttons[next].focus();
  });
  // The cards of two tabs have an editor, which takes their place.
  const EDITORS = {
    Features: ["Edit features", "Assemble the features by hand: steps one after another, blocks side by side"],
    Regularizers: ["Edit graphs", "Draw graphs over the features: neighbours along an edge get like coefficients"],
  };
  const edit = dom("button", { type: "button", class: "lsat-edit" });
  edit.addEventListener("click", () => {
    model.set("editing", !model.get("editing"));
    model.save_changes();
  });
  tools.append(edit);
  let shown = "";
  const show = () => {
    const tab = model.get("tab");
    buttons.forEach((button, index) => {
      const chosen = NAMES[index] === tab;
      button.setAttribute("aria-selected", String(chosen));
      button.tabIndex = chosen ? 0 : -1;
    });
    body.setAttribute("aria-label", tab);
    problem.textContent = model.get("problem");
    problem.hidden = !problem.textContent;
    const editing = model.get("editing");
    tools.hidden = !(tab in EDITORS);
    if (tab in EDITORS) {
      edit.textContent = editing ? "Done" : EDITORS[tab][0];
      edit.title = editing ? "Back to the cards and the curves" : EDITORS[tab][1];
      edit.classList.toggle("lsat-primary", editing);
    }
    body.hidden = tab === "Code" || editing; // another view stands below
    reason.hidden = body.hidden || !model.get("fixed");
    reason.textContent = `The settings of ${model.get("whose") || "another run"}, to be read. Go back to the run of the buttons to change them.`;
    if (!body.hidden) {
      const list = model.get("cards")[tab] || [];
      const pictures = model.get("pictures");
      if (shown !== tab || body.children.length !== list.length) {
        body.replaceChildren(...list.map(() => dom("div", { class: "lsat-card" })));
      }
      list.forEach((card, index) => fill(
        body.children[index], card, pictures[`${tab}/${card.name}`], (what) => model.send(what), model.get("fixed")));
    }
    shown = tab;
  };
  return follow(model, [[["tab", "cards", "pictures", "editing", "problem", "fixed", "whose"], show]]);
}

export default { render: heard(render) };

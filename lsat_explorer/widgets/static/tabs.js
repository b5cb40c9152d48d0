// What is assembled: a tab for each part of the recipe, a card for each piece. Its text stands in a view of its own.

const NAMES = ["Features", "Regularizers", "Weights", "Loss", "Method", "Code"];
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

const fill = (node, card, picture) => {
  const state = card.tuned === null ? "" : card.tuned ? "tuned" : "frozen";
  const head = dom("div", { class: "lsat-row lsat-card-head" },
    dom("span", { class: "lsat-strong", text: card.name }), dom("span", { class: "lsat-muted", text: card.kind }),
    dom("span", { class: `lsat-push lsat-state lsat-${state || "plain"}`, text: state }));
  const facts = card.facts.map(([name, value]) => dom("div", { class: "lsat-fact" },
    dom("span", { class: "lsat-muted" }, ...quantity(name)), dom("span", { class: "lsat-number", text: value })));
  const notes = card.notes.map((text) => dom("div", { text }));
  const below = picture || notes.length ? [dom("div", { class: "lsat-picture" })] : [];
  if (picture) {
    if (node.lsatPath !== picture) [node.lsatPath, node.lsatDrawing] = [picture, drawing(picture)];
    below[0].append(node.lsatDrawing);
  }
  if (notes.length) below[0].append(dom("div", {}, ...notes));
  node.replaceChildren(head, ...facts, ...below);
};

function render({ model, el }) {
  el.classList.add("lsat", "lsat-panel");
  const id = `lsat-${Math.random().toString(36).slice(2)}`;
  const bar = dom("div", { class: "lsat-tabs", role: "tablist", "aria-label": "Parts of the recipe" });
  const body = dom("div", { class: "lsat-tab-body", role: "tabpanel", id });
  const tools = dom("div", { class: "lsat-row lsat-tab-tools" });
  const problem = dom("div", { class: "lsat-error", role: "alert" });
  el.append(bar, tools, problem, body);
  const buttons = NAMES.map((name) => {
    const button = dom("button", { type: "button", role: "tab", text: name, "aria-controls": id });
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
    if (!body.hidden) {
      const list = model.get("cards")[tab] || [];
      const pictures = model.get("pictures");
      if (shown !== tab || body.children.length !== list.length) {
        body.replaceChildren(...list.map(() => dom("div", { class: "lsat-card" })));
      }
      list.forEach((card, index) => fill(body.children[index], card, pictures[`${tab}/${card.name}`]));
    }
    shown = tab;
  };
  return follow(model, [[["tab", "cards", "pictures", "editing", "problem"], show]]);
}

export default { render };

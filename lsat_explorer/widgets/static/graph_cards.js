// The cards beside the drawing: graphs and their weights, patterns of edges, one node and its neighbours, the selection.

// Every graph by its name; the chosen one with its weight, its block and what else it is.
const graphsCard = (model, tell) => {
  const list = dom("div", { class: "lsat-editor-graphs", role: "group", "aria-label": "Graph that is edited" });
  const name = textField("Name of this regularizer in ω");
  const block = textField("Block of features that the graph is on; empty for all", { placeholder: "all features" });
  const meaning = "e^{2ω}: how much the differences across the graph's edges count in the fit, without unit";
  const slider = dom("input", {
    type: "range", min: "-10", max: "10", step: "0.05", "aria-label": "Weight", title: meaning,
  });
  const field = textField(meaning, { inputmode: "decimal", class: "lsat-number", "aria-label": "Weight, value" });
  const label = dom("span", { class: "lsat-muted" }, "weight e", dom("sup", { text: "2ω" }));
  const weight = dom("div", { class: "lsat-setting" }, label, slider, field);
  const more = "One more graph on the same nodes, a regularizer with a weight of its own";
  const add = button("+ Add a graph", more, () => tell("add"), "lsat-editor-add");
  const remove = button("Remove", "Remove this graph and its weight", () => tell("remove"));
  const refused = dom("div", { class: "lsat-error lsat-small", role: "alert" });
  refused.hidden = true;
  const { node, facts } = card("Graphs", list, weight,
    dom("div", { class: "lsat-editor-fields" }, labelled("name", name), labelled("block", block)), refused,
    dom("div", { class: "lsat-editor-ends" }, add, remove));
  const fields = { rename: name, block, weigh: field };
  // Says beside its field why what was typed there is refused; returns whether it was one of these.
  const complain = () => {
    const wrong = model.get("_problem") && fields[model.get("_refused")];
    for (const one of Object.values(fields)) one.setAttribute("aria-invalid", String(one === wrong));
    refused.textContent = wrong ? model.get("_problem") : "";
    refused.hidden = !wrong;
    return Boolean(wrong);
  };
  for (const one of Object.values(fields)) one.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    update();
    one.setAttribute("aria-invalid", "false");
    refused.hidden = true;
  });
  name.addEventListener("change", () => tell("rename", { name: name.value }));
  block.addEventListener("change", () => tell("block", { block: block.value }));
  field.addEventListener("change", () => tell("weigh", { weight: field.value }));
  let timer = null;
  slider.addEventListener("input", () => {
    field.value = number(Math.exp(2 * Number(slider.value)));
    clearTimeout(timer);
    timer = setTimeout(() => { timer = null; tell("weigh", { log_weight: Number(slider.value) }); }, SETTLE);
  });
  const update = () => {
    const { graphs } = model.get("_shown"), active = model.get("active");
    list.replaceChildren(...graphs.map((graph, slot) => {
      const swatch = dom("span", { class: "lsat-editor-swatch", "aria-hidden": "true" });
      swatch.style.background = `var(--lsat-graph-${slot % COLOURS})`;
      const pressed = String(graph.name === active);
      const choose = dom("button", { type: "button", "aria-pressed": pressed, title: `Edit ${graph.name}` }, swatch,
        dom("span", { class: "lsat-editor-name", text: graph.name }),
        dom("span", { class: "lsat-muted lsat-push", text: `${graph.about} · weight ${graph.weight}` }));
      choose.addEventListener("click", () => tell("choose", { name: graph.name }));
      return choose;
    }));
    const chosen = graphs.find((graph) => graph.name === active);
    if (!chosen) return;
    name.value = chosen.name;
    block.value = chosen.block;
    if (timer === null) { // while it is dragged the hand is right
      slider.value = String(chosen.log_weight);
      slider.setAttribute("aria-valuetext", chosen.weight);
      field.value = chosen.weight;
    }
    remove.disabled = graphs.length < 2;
    facts.textContent = counted(graphs.length, "regularizer");
  };
  return { node, update, complain };
};

const edgesCard = (model, tell) => {
  const presets = dom("div", { class: "lsat-editor-presets", role: "group", "aria-label": "Replace all edges by" });
  const k = dom("input", { type: "number", min: "1", max: "99", title: "Neighbours of each column for Nearest" });
  const nearest = labelled("k", k);
  nearest.className = "lsat-editor-k";
  const limits = dom("span", { class: "lsat-muted lsat-small", role: "status" });
  nearest.append(limits);
  k.addEventListener("change", () => {
    const most = Math.max(1, model.get("_names").length - 1), wanted = Number(k.value);
    const next = clamp(Math.round(wanted) || 1, 1, most);
    limits.textContent = next === wanted && k.value ? "" : `${k.value || "nothing"} cannot be: a whole number from 1 to ${most.toLocaleString("en-US")}`;
    k.value = String(next);
    tell("near", { k: next });
  });
  const what = dom("div", { class: "lsat-muted", text: "Replace all edges by" });
  const { node, heading, facts } = card("Edges", what, presets);
  const update = () => {
    const { patterns } = model.get("_frame"), { preset, counts } = model.get("_shown");
    heading.textContent = `Edges of ${model.get("active")}`;
    facts.textContent = counts.join(" · ");
    k.value = String(model.get("_k"));
    presets.replaceChildren(...patterns.map(({ name, label, title, enabled }) => {
      const choose = button(label, title, () => tell("pattern", { pattern: name }));
      choose.setAttribute("aria-pressed", String(name === preset));
      choose.disabled = !enabled;
      return name === "nearest" && enabled ? dom("span", { class: "lsat-row" }, choose, nearest) : choose;
    }));
  };
  return { node, update };
};

// The way without a pointer: a node by its name, its neighbours, an edge to another one.
const nodeCard = (model, tell) => {
  const id = `lsat-nodes-${views += 1}`;
  const names = dom("datalist", { id });
  const fill = () => { // hundreds of options are made when somebody wants them
    if (names.childElementCount !== model.get("_names").length) {
      names.replaceChildren(...model.get("_names").map((value) => dom("option", { value })));
    }
  };
  const input = (title) => {
    const node = textField(title, { list: id });
    node.addEventListener("focus", fill);
    return node;
  };
  const find = input("Name or number of a node"), meet = input("Name or number of the node at the other end");
  find.addEventListener("change", () => tell("find", { text: find.value }));
  const toggle = button("Toggle edge", "Add the edge between the two nodes, or remove it", () => {
    tell("meet", { text: meet.value });
    meet.value = "";
  });
  meet.addEventListener("keydown", (event) => { if (event.key === "Enter") toggle.click(); });
  const list = dom("div", { class: "lsat-editor-neighbours" });
  const edge = dom("div", { class: "lsat-row" }, labelled("edge to", meet), toggle);
  const { node, facts } = card("Node", labelled("name", find), list, edge, names);
  const update = () => {
    const { node: chosen, first } = model.get("_shown");
    edge.hidden = !chosen;
    if (!chosen) {
      facts.textContent = "";
      find.value = "";
      list.replaceChildren(dom("span", { class: "lsat-muted", text: "Choose a node by its name, or click one." }));
      return;
    }
    find.value = chosen.name;
    facts.textContent = counted(chosen.count, "neighbour");
    list.replaceChildren(...chosen.neighbours.map(([other, name]) => {
      const remove = () => tell("toggle", { a: chosen.number, b: other });
      const gone = button(`${name} ×`, `Remove the edge from ${chosen.name} to ${name}`, remove);
      gone.setAttribute("aria-label", gone.title);
      return gone;
    }), ...(chosen.count > chosen.neighbours.length ? [`and ${chosen.count - chosen.neighbours.length} more`] : []));
    list.classList.toggle("lsat-editor-waiting", first);
  };
  const forget = () => names.replaceChildren();
  return { node, update, forget };
};

const selectionCard = (model, tell) => {
  const choice = dom("select", { title: "Which neighbourhood to join or to cut among the selected nodes" });
  const act = (label, title, name) => button(label, title, () => tell(name, { pattern: choice.value }));
  const hint = dom("div", { class: "lsat-muted", text: "Drag a box over nodes, or hold Shift with the arrow keys." });
  const row = dom("div", { class: "lsat-row lsat-editor-picked" },
    labelled("pattern", choice),
    act("Join", "Add the edges of this pattern between selected nodes", "join"),
    act("Cut", "Remove the edges of this pattern between selected nodes", "cut"),
    button("Clear inside", "Remove every edge between two selected nodes (Delete)", () => tell("clear")),
    button("Deselect", "Let go of the selected nodes (Escape)", () => tell("select", { nodes: [] })));
  const { node, facts } = card("Selection", hint, row);
  const update = () => {
    const count = model.get("_selected").length;
    facts.textContent = count ? `${counted(count, "node")} selected` : "";
    hint.hidden = count > 0;
    row.hidden = !count;
    const offered = model.get("_frame").patterns.filter(({ name, enabled }) => enabled && name !== "none");
    if ([...choice.options].map((option) => option.value).join() !== offered.map(({ name }) => name).join()) {
      choice.replaceChildren(...offered.map(({ name, label }) => dom("option", { value: name, text: label })));
    }
  };
  return { node, update };
};

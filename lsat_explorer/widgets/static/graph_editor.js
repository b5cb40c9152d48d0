// Graphs drawn and edited: what a hand means is told to Python in messages, which stay in their order, and Python
// answers with traits; nothing of a graph is decided here.

const SETTLE = 120; // ms a slider rests before its value is told
const ZOOMS = [1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32];
const HINT = "Click two nodes to add or remove an edge. Drag a box to select nodes.";
const KEYS = "Arrow keys move from node to node, Enter on two of them adds or removes an edge, Shift with arrow keys "
  + "selects a box, Escape lets go, Delete clears the edges inside the selection, plus and minus zoom.";

const counted = (count, noun) => `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
let views = 0; // a datalist is found by an id

const button = (text, title, act, kind = "") => {
  const node = dom("button", { type: "button", text, title });
  if (kind) node.className = kind;
  node.addEventListener("click", act);
  return node;
};
const labelled = (text, control) => dom("label", {}, dom("span", { class: "lsat-muted", text }), control);
const textField = (title, more = {}) =>
  dom("input", { type: "text", spellcheck: "false", autocomplete: "off", title, ...more });
const card = (title, ...content) => {
  const heading = dom("span", { class: "lsat-strong", text: title });
  const facts = dom("span", { class: "lsat-muted lsat-push" });
  const node = dom("section", { class: "lsat-card lsat-editor-card", "aria-label": title },
    dom("div", { class: "lsat-row" }, heading, facts), ...content);
  return { node, heading, facts };
};
const download = (name, text) => {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  const link = dom("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
};

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
  const { node, facts } = card("Graphs", list, weight,
    dom("div", { class: "lsat-editor-fields" }, labelled("name", name), labelled("block", block)),
    dom("div", { class: "lsat-editor-ends" }, add, remove));
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
  return { node, update };
};

const edgesCard = (model, tell) => {
  const presets = dom("div", { class: "lsat-editor-presets", role: "group", "aria-label": "Replace all edges by" });
  const k = dom("input", { type: "number", min: "1", max: "99", title: "Neighbours of each column for Nearest" });
  const nearest = labelled("k", k);
  nearest.className = "lsat-editor-k";
  k.addEventListener("change", () => tell("near", { k: Math.max(1, Math.round(Number(k.value)) || 1) }));
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

// θ of one output without and with the penalty, as two images of one scale or as two curves.
const effectCard = (model) => {
  const choice = dom("select", { title: "Whose coefficients θ are shown" });
  const noun = dom("span", { class: "lsat-muted" });
  const chooser = dom("label", {}, noun, choice);
  choice.addEventListener("change", () => { model.set("_class", Number(choice.value)); model.save_changes(); });
  const pictures = dom("div", { class: "lsat-editor-pictures" });
  const table = dom("table", { class: "lsat-table" });
  const words = dom("div", { class: "lsat-muted", role: "status" });
  const inside = dom("div", { class: "lsat-editor-effect" }, pictures, dom("div", {}, table, words));
  const { node, facts } = card("Effect on θ", inside);
  facts.replaceChildren(chooser);
  const colour = (variable) => { // as the theme has it now, whatever way it is written
    const probe = dom("span"), point = dom("canvas", { width: 1, height: 1 });
    const brush = point.getContext("2d", { willReadFrequently: true });
    probe.style.color = `var(${variable})`;
    node.append(probe);
    brush.fillStyle = getComputedStyle(probe).color;
    probe.remove();
    brush.fillRect(0, 0, 1, 1);
    return [...brush.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  };
  const image = (values, [height, width], limit, caption) => {
    const canvas = dom("canvas", { width, height, role: "img", "aria-label": `θ with ${caption}` });
    const pixels = new ImageData(width, height), signs = [colour("--lsat-plus"), colour("--lsat-minus")];
    values.forEach((value, i) => {
      const share = Number.isFinite(value) ? Math.min(1, Math.abs(value) / limit) : 0;
      pixels.data.set([...signs[value < 0 ? 1 : 0], Math.round(255 * share)], 4 * i);
    });
    canvas.getContext("2d").putImageData(pixels, 0, 0);
    canvas.style.aspectRatio = `${width} / ${height}`;
    return dom("figure", {}, canvas, dom("figcaption", { class: "lsat-muted", text: caption }));
  };
  const curves = (before, after, limit, captions) => {
    const drawn = make("svg", { viewBox: "0 0 300 96", preserveAspectRatio: "none", role: "img" });
    drawn.setAttribute("aria-label", "θ of each feature, in order, before and after");
    const look = (which) => (which ? "lsat-editor-after" : "lsat-editor-before");
    const high = (value) => tenth(48 - 44 * clamp(value / limit, -1.05, 1.05));
    drawn.append(make("line", { x1: 0, x2: 300, y1: 48, y2: 48 }));
    [before, after].forEach((values, which) => {
      const points = [...values].map((value, i) => `${tenth((300 * (i + 0.5)) / values.length)},${high(value)}`);
      drawn.append(make("polyline", { points: points.join(" "), class: look(which) }));
    });
    const keys = captions.map((text, which) => dom("span", { class: look(which), text }));
    const caption = dom("figcaption", { class: "lsat-row lsat-muted" }, ...keys);
    return [dom("figure", { class: "lsat-editor-curves" }, drawn, caption)];
  };
  const update = () => {
    const effect = model.get("_effect"), theta = numbers(model.get("_theta"), Float32Array);
    const outputs = effect.outputs || [];
    chooser.hidden = outputs.length < 2;
    noun.textContent = effect.noun || "";
    if ([...choice.options].map((option) => option.textContent).join("\n") !== outputs.join("\n")) {
      choice.replaceChildren(...outputs.map((text, i) => dom("option", { value: String(i), text })));
    }
    choice.value = String(model.get("_class"));
    node.setAttribute("aria-busy", String(effect.state === "busy"));
    node.classList.toggle("lsat-editor-busy", effect.state === "busy");
    words.textContent = effect.words || "";
    const ready = effect.captions && theta.length > 0 && node.isConnected; // before, it has no colours
    pictures.hidden = table.hidden = !ready;
    if (!ready) return;
    const n = theta.length / 2, [before, after] = [theta.subarray(0, n), theta.subarray(n)];
    const { shape, limit, captions, facts: lines } = effect;
    pictures.replaceChildren(...(shape.length
      ? [before, after].map((values, which) => image(values, shape, limit, captions[which]))
      : curves(before, after, limit, captions)));
    const cell = (tag, text, i) => {
      const scope = tag === "th" ? { scope: "col" } : {};
      return dom(tag, { text, class: i ? "lsat-number" : "", ...scope });
    };
    const row = (tag, texts) => dom("tr", {}, ...texts.map((text, i) => cell(tag, text, i)));
    table.replaceChildren(dom("thead", {}, row("th", ["quick fit", "before", "after"])),
      dom("tbody", {}, ...lines.map((line) => row("td", line))));
  };
  return { node, update };
};

// Edges as text and as a file, and the code that makes the regularizer.
const listPanel = (model, tell) => {
  const area = dom("textarea", {
    rows: "8", spellcheck: "false",
    title: "Two nodes a line, numbers or names; lines that begin with # are passed over",
  });
  const file = dom("input", {
    type: "file", accept: ".csv,.txt,.tsv,text/*", class: "lsat-sr", tabindex: "-1", "aria-hidden": "true",
  });
  let typed = false; // what somebody is typing is not overwritten
  area.addEventListener("input", () => { typed = true; });
  const read = (text) => { typed = false; tell("read", { text }); };
  file.addEventListener("change", async () => {
    if (file.files.length) read(await file.files[0].text());
    file.value = "";
  });
  const label = dom("span", { class: "lsat-muted" });
  const code = dom("pre", { class: "lsat-code", tabindex: "0", "aria-label": "The regularizer as Python" });
  const copyList = copyButton("Copy list", () => area.value);
  const copyCode = copyButton("Copy code", () => code.textContent);
  copyList.title = "Copy the list of edges";
  copyCode.title = "Copy the regularizer as Python";
  const summary = dom("summary", {
    text: "Edge list and code", title: "Take the edges away as text, a file or Python, or bring them in",
  });
  const panel = dom("details", { class: "lsat-editor-list" }, summary,
    dom("div", { class: "lsat-editor-two" },
      dom("div", {}, dom("label", { class: "lsat-editor-area" }, label, area),
        dom("div", { class: "lsat-row" },
          button("Replace edges by list", "Make these lines the edges of the graph", () => read(area.value)),
          copyList,
          button("Download CSV", "Save the edges as a file of comma separated values", () => tell("csv"), "lsat-link"),
          button("Open file…", "Replace the edges by those of a text or CSV file", () => file.click(), "lsat-link"),
          file)),
      dom("div", {}, dom("span", { class: "lsat-muted", text: "Regularizer as Python" }), code,
        dom("div", { class: "lsat-row" }, copyCode))));
  panel.addEventListener("toggle", () => {
    if (model.get("_listing") === panel.open) return;
    model.set("_listing", panel.open);
    model.save_changes();
  });
  const update = () => {
    panel.open = model.get("_listing");
    label.textContent = `Edges of ${model.get("active")}, two nodes a line`;
    if (!typed) area.value = model.get("_text");
    code.textContent = model.get("_source");
  };
  return { node: panel, update };
};

function render({ model, el }) {
  el.classList.add("lsat", "lsat-editor");
  const tell = (command, content = {}) => model.send({ ...content, do: command });
  const set = (name, value) => { model.set(name, value); model.save_changes(); };

  const hint = dom("div", { class: "lsat-muted lsat-editor-hint", text: HINT });
  const live = dom("div", { class: "lsat-sr", role: "status" });
  const said = (i) => `${model.get("_names")[i] ?? ""}`;
  const zoomBy = (steps) => {
    const at = ZOOMS.findLastIndex((zoom) => zoom <= model.get("_zoom") + 1e-9);
    set("_zoom", ZOOMS[clamp(at + steps, 0, ZOOMS.length - 1)]);
  };
  const drawing = graphDrawing({
    pick: (i) => tell("pick", { node: i }),
    select: (list, additive) => tell("select", { nodes: additive ? [...model.get("_selected"), ...list] : list }),
    leave: () => tell("leave"),
    clear: () => tell("clear"),
    zoom: zoomBy,
    hover: (i) => { hint.textContent = i >= 0 ? said(i) : hinted(); },
    reach: (i) => { live.textContent = said(i); },
  });
  const hinted = () => {
    const { node, first } = model.get("_shown");
    return first ? `${node.name}: click the other end of the edge, or ${node.name} again to let go.` : HINT;
  };

  const placement = dom("select", { title: "Where nodes are drawn; it changes no edge" });
  placement.addEventListener("change", () => tell("place", { placement: placement.value }));
  const again = button("Lay out again", "Ask networkx for places that suit the present edges",
    () => tell("place", { placement: "networkx" }));
  const out = button("−", "Zoom out (minus)", () => zoomBy(-1));
  const closer = button("+", "Zoom in (plus, or Ctrl with the wheel)", () => zoomBy(1));
  out.setAttribute("aria-label", "Zoom out");
  closer.setAttribute("aria-label", "Zoom in");
  const scale = button("", "Show the whole graph", () => set("_zoom", 1), "lsat-editor-scale");
  const undo = button("Undo", "", () => tell("undo")), redo = button("Redo", "", () => tell("redo"));
  const bar = dom("div", { class: "lsat-row lsat-editor-bar" },
    labelled("Nodes", placement), again,
    dom("span", { class: "lsat-segments", role: "group", "aria-label": "Zoom" }, out, scale, closer),
    dom("span", { class: "lsat-segments lsat-push", role: "group", "aria-label": "History" }, undo, redo));

  const large = dom("div", { class: "lsat-empty" });
  const problem = dom("div", { class: "lsat-error lsat-editor-problem", role: "alert" });
  const graphs = graphsCard(model, tell), edges = edgesCard(model, tell), node = nodeCard(model, tell);
  const selection = selectionCard(model, tell), effect = effectCard(model), list = listPanel(model, tell);
  el.append(
    dom("div", { class: "lsat-editor-body" },
      dom("div", { class: "lsat-editor-left" }, bar, drawing.node, large, hint, live),
      dom("div", { class: "lsat-editor-right" }, graphs.node, edges.node, node.node, selection.node),
      effect.node),
    list.node, problem);

  // keys of the notebook's command mode stay with it unless something here has the focus
  el.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input[type=text], input[type=number], textarea");
    const held = (event.ctrlKey || event.metaKey) && !event.altKey, key = event.key.toLowerCase();
    if (held && !typing && (key === "z" || key === "y")) {
      event.preventDefault();
      tell(key === "y" || event.shiftKey ? "redo" : "undo");
    } else if (held) return;
    event.stopPropagation();
  });

  const drawGraph = () => {
    const frame = model.get("_frame"), { graphs: all, node: chosen, first } = model.get("_shown");
    large.hidden = frame.drawn;
    drawing.node.hidden = !frame.drawn;
    large.textContent = frame.drawn ? "" : "Too many nodes or edges to draw. Everything else here works.";
    if (!frame.drawn) return;
    drawing.svg.setAttribute("aria-label", `Graph ${model.get("active")}, nodes ${frame.placed}. ${KEYS}`);
    drawing.draw({
      frame, zoom: model.get("_zoom"), names: model.get("_names"),
      places: model.get("_places"), edges: model.get("_edges"),
      groups: all.map(({ name, drawn }) => ({ count: drawn, active: name === model.get("active") })),
      selected: model.get("_selected"), node: chosen ? chosen.number : -1, first: first && chosen ? chosen.number : -1,
      near: chosen ? chosen.neighbours.map(([other]) => other) : [],
    });
    hint.textContent = hinted();
  };
  const drawBar = () => {
    const { placements, placement: present } = model.get("_frame"), { undo: back, redo: forth } = model.get("_shown");
    placement.replaceChildren(...placements.map(({ name, label, enabled }) => {
      const option = dom("option", { value: name, text: label });
      option.disabled = !enabled;
      return option;
    }));
    placement.value = present;
    again.hidden = present !== "networkx";
    const zoom = model.get("_zoom");
    scale.textContent = `${Math.round(100 * zoom)} %`;
    scale.setAttribute("aria-label", `Zoom ${scale.textContent}, show the whole graph`);
    out.disabled = zoom <= ZOOMS[0];
    closer.disabled = zoom >= ZOOMS[ZOOMS.length - 1];
    const steps = [[undo, "Undo", back, "Ctrl+Z"], [redo, "Redo", forth, "Ctrl+Shift+Z"]];
    for (const [control, word, label, keys] of steps) {
      control.disabled = !label;
      control.title = label ? `${word}: ${label} (${keys})` : `Nothing to ${word.toLowerCase()}`;
    }
  };
  let mask = null;
  const drawBackdrop = () => {
    const bytes = model.get("_backdrop");
    if (mask) URL.revokeObjectURL(mask);
    mask = bytes && bytes.byteLength ? URL.createObjectURL(new Blob([bytes], { type: "image/png" })) : null;
    drawing.backdrop.hidden = !mask;
    if (mask) drawing.backdrop.style.maskImage = drawing.backdrop.style.webkitMaskImage = `url("${mask}")`;
  };
  const complain = () => {
    problem.textContent = model.get("_problem");
    problem.hidden = !problem.textContent;
  };
  const answer = (content) => { if (content.csv !== undefined) download(`${model.get("active")}.csv`, content.csv); };
  model.on("msg:custom", answer);

  // one drawing per message, whatever number of traits it brings
  const parts = {
    drawGraph, drawBar, drawBackdrop, complain, graphs: graphs.update, edges: edges.update, node: node.update,
    selection: selection.update, effect: effect.update, list: list.update, names: node.forget,
  };
  const due = new Set();
  const later = (...names) => () => {
    if (!due.size) queueMicrotask(() => {
      const todo = [...due];
      due.clear();
      for (const name of todo) parts[name]();
    });
    for (const name of names) due.add(name);
  };
  const watched = [
    [["_edges", "_places", "_zoom", "_selected"], later("drawGraph")],
    [["_shown", "active"], later("drawGraph", "drawBar", "graphs", "edges", "node", "list")],
    [["_frame"], later("drawGraph", "drawBar", "edges", "selection")], [["_k"], later("edges")],
    [["_zoom"], later("drawBar")], [["_selected"], later("selection")],
    [["_names"], later("names", "drawGraph", "node")],
    [["_effect", "_theta", "_class"], later("effect")], [["_text", "_source", "_listing"], later("list")],
    [["_backdrop"], later("drawBackdrop")], [["_problem"], later("complain")],
  ];
  const end = follow(model, watched);
  let zoomed = model.get("_zoom");
  const recentre = () => {
    if (model.get("_zoom") === zoomed) return;
    zoomed = model.get("_zoom");
    queueMicrotask(drawing.centre); // once it is drawn
  };
  model.on("change:_zoom", recentre);
  let width = 0;
  const watch = new ResizeObserver(() => {
    const before = width;
    width = drawing.node.clientWidth;
    if (width === before || !width) return; // hidden, as in a closed tab
    if (!before) effect.update();
    drawing.again();
  });
  watch.observe(drawing.node);
  return () => {
    end();
    watch.disconnect();
    model.off("msg:custom", answer);
    model.off("change:_zoom", recentre);
    if (mask) URL.revokeObjectURL(mask);
  };
}

export default { render };

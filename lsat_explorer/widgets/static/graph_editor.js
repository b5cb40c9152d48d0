// Graphs drawn and edited: the drawing with its bar, the cards beside it, and what is drawn anew when Python answers.

const HINT = "Click two nodes to add or remove an edge. Drag a box to select nodes.";
const KEYS = "Arrow keys move from node to node, Enter on two of them adds or removes an edge, Shift with arrow keys "
  + "selects a box, Escape lets go, Delete clears the edges inside the selection, plus and minus zoom.";

function render({ model, el }) {
  el.classList.add("lsat", "lsat-editor");
  const guess = graphGuess(model, (count) => {
    live.textContent = hint.textContent = `Not answered by the kernel yet: ${counted(count, "change")} on this page.`;
  });
  const tell = (command, content = {}) => {
    const { stamp, drawn } = guess.note(command, content);
    if (drawn) drawGraph(); // before Python is told: packing the message takes time too
    model.send({ ...content, do: command, stamp });
    return stamp;
  };

  const hint = dom("div", { class: "lsat-muted lsat-editor-hint", text: HINT });
  const live = dom("div", { class: "lsat-sr", role: "status" });
  const said = (i) => `${model.get("_names")[i] ?? ""}`;
  const bar = graphBar(model, tell);
  const drawing = graphDrawing({
    pick: (i) => tell("pick", { node: i }),
    select: (list, additive) => tell("select", { nodes: additive ? [...model.get("_selected"), ...list] : list }),
    leave: () => tell("leave"),
    clear: () => tell("clear"),
    zoom: bar.zoomBy,
    hover: (i) => {
      hint.textContent = i >= 0 ? said(i) : hinted();
      drawing.node.title = said(i); // names in the drawing may be cut off, or left out
    },
    reach: (i) => { live.textContent = said(i); },
  });
  const hinted = () => {
    const { node, first } = guess.present(), name = said(node);
    return first ? `${name}: click the other end of the edge, or ${name} again to let go.` : HINT;
  };

  const large = dom("div", { class: "lsat-empty" });
  const problem = dom("div", { class: "lsat-error lsat-editor-problem", role: "alert" });
  const graphs = graphsCard(model, tell), edges = edgesCard(model, tell), node = nodeCard(model, tell);
  const selection = selectionCard(model, tell), effect = effectCard(model), list = listPanel(model, tell);
  el.append(
    dom("div", { class: "lsat-editor-body" },
      dom("div", { class: "lsat-editor-left" }, bar.node, drawing.node, large, hint, live),
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

  let mask = null;
  const hideBackdrop = () => { // but on the image no node lies on its pixel
    drawing.backdrop.hidden = !mask || model.get("_frame").placement !== "image";
  };
  const drawGraph = () => {
    const frame = model.get("_frame"), { groups, node: chosen, first } = guess.present();
    const edited = groups.find(({ active }) => active);
    large.hidden = frame.drawn;
    hideBackdrop();
    drawing.node.hidden = !frame.drawn;
    large.textContent = frame.drawn ? "" : "Too many nodes or edges to draw. Everything else here works.";
    if (!frame.drawn) return;
    drawing.svg.setAttribute("aria-label", `Graph ${model.get("active")}, nodes ${frame.placed}. ${KEYS}`);
    drawing.draw({
      frame, zoom: model.get("_zoom"), names: model.get("_names"),
      places: model.get("_places"), groups,
      selected: model.get("_selected"), node: chosen, first: first ? chosen : -1,
      near: chosen >= 0 && edited ? nextTo(edited.ends, chosen) : [],
    });
    hint.textContent = hinted();
  };
  const drawBackdrop = () => {
    const bytes = model.get("_backdrop");
    if (mask) URL.revokeObjectURL(mask);
    mask = bytes && bytes.byteLength ? URL.createObjectURL(new Blob([bytes], { type: "image/png" })) : null;
    if (mask) drawing.backdrop.style.maskImage = drawing.backdrop.style.webkitMaskImage = `url("${mask}")`;
    hideBackdrop();
  };
  const complain = () => {
    problem.textContent = graphs.complain() ? "" : model.get("_problem");
    problem.hidden = !problem.textContent;
  };
  const answer = (content) => { if (content.csv !== undefined) download(`${model.get("active")}.csv`, content.csv); };
  model.on("msg:custom", answer);

  // one drawing per message, whatever number of traits it brings
  const parts = {
    drawGraph, drawBar: bar.update, drawBackdrop, complain, graphs: graphs.update, edges: edges.update, node: node.update,
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
    [["_heard"], () => { guess.heard(); list.heard(); }],
    [["_edges", "_places", "_zoom", "_selected", "_heard"], later("drawGraph")],
    [["_shown", "active"], later("drawGraph", "drawBar", "graphs", "edges", "node", "list")],
    [["_frame"], later("drawGraph", "drawBar", "edges", "selection")], [["_k"], later("edges")],
    [["_zoom"], later("drawBar")], [["_selected"], later("selection")],
    [["_names"], later("names", "drawGraph", "node")],
    [["_effect", "_theta", "_class"], later("effect")], [["_text", "_source", "_listing"], later("list")],
    [["_backdrop"], later("drawBackdrop")], [["_problem", "_refused"], later("complain")],
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
    guess.end();
    watch.disconnect();
    model.off("msg:custom", answer);
    model.off("change:_zoom", recentre);
    if (mask) URL.revokeObjectURL(mask);
  };
}

export default { render: heard(render) };

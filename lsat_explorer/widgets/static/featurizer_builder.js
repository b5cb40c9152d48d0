// The FeaturizerBuilder: steps and blocks on the left, the chosen step with what it does on the right. Every change goes
// to Python as a message; what became of it comes back in traits, the same for every view.

const PATIENCE = 250; // ms before it is said that something is being tried

function render({ model, el }) {
  el.classList.add("lsat", "lsat-features");
  const send = (message) => model.send(message);
  const drag = pacing(send);
  const set = (name, value) => { model.set(name, value); model.save_changes(); };

  const facts = dom("span", { class: "lsat-muted lsat-features-counts" });
  const undo = button("Undo", "Undo", "undo", () => send({ do: "undo" }));
  const redo = button("Redo", "Redo", "redo", () => send({ do: "redo" }));
  const code = copyButton("Copy features", () => model.get("_shown").code);
  code.title = "The featurizer as Python, with what is held";
  const dot = dom("span", { class: "lsat-dot" });
  const sentence = dom("span", { role: "status", "aria-live": "polite" });
  const problem = dom("div", { class: "lsat-error", role: "alert" });
  const tree = stepsTree(model, send, () => detail.scrollIntoView({ block: "nearest", behavior: "smooth" }));
  const detail = dom("section", { class: "lsat-card lsat-features-detail", "aria-label": "Chosen step" });
  el.append(
    dom("div", { class: "lsat-row lsat-features-head" }, dom("span", { class: "lsat-features-title", text: "Features" }), facts,
      dom("span", { class: "lsat-features-state" }, dot, sentence),
      dom("span", { class: "lsat-row lsat-push" }, undo, redo, code)),
    dom("div", { class: "lsat-features-body" },
      dom("div", { class: "lsat-features-left" }, tree.node, problem), detail),
  );

  // --- the chosen step ----------------------------------------------------------------------------------------------
  let lines = new Map(), shape = "", shares = null, url = null, plot = null, latest = 0;
  const head = dom("div", { class: "lsat-features-detail-head" });
  const fields = dom("div", { class: "lsat-features-fields" });
  const parameters = dom("div", { class: "lsat-features-parameters", role: "group", "aria-label": "Hyper-parameters" });
  const wrong = dom("div", { class: "lsat-error" });
  const made = dom("div", { class: "lsat-features-made" });
  const where = dom("div", { class: "lsat-row lsat-features-where" });
  const view = dom("div", { class: "lsat-features-view" });
  const note = dom("div", { class: "lsat-muted" });
  detail.append(head, fields, wrong, parameters, made, where, view, note);

  const chosenNode = () => model.get("_chosen").reduce((node, place) => node?.members?.[place], model.get("_shown").tree);
  // a step that is refused has no look, but the column that is set stays the same
  const columnOf = (node) => Math.min(model.get("column"), (node?.in ?? Infinity) - 1);
  const message = (path, name, value) => ({ do: "set", path, field: name, value, column: columnOf(chosenNode()) });

  const drawDetail = () => {
    const node = chosenNode();
    if (!node || node.members) return;
    const next = JSON.stringify([node.path, node.kind, node.controls.map((c) => [c.name, c.low === null, c.high === null])]);
    if (next !== shape) buildDetail(node, next);
    const shared = node.controls.find((control) => control.name === "shared")?.value === true;
    for (const control of node.controls) lines.get(control.name).update({ ...control, shared });
    wrong.textContent = node.problem;
    wrong.hidden = !node.problem;
    drawShares(node);
    drawParameters(node);
  };
  const buildDetail = (node, next) => {
    shape = next;
    lines = new Map();
    shares = null;
    head.replaceChildren(dom("span", { class: "lsat-features-kind", text: node.title }), dom("span", { class: "lsat-muted", text: node.formula || node.about }));
    const path = node.path;
    for (const control of node.controls) {
      lines.set(control.name, controlLine(control, {
        set: (value) => send(message(path, control.name, value)),
        drag: (value) => drag(message(path, control.name, value), `${path}/${control.name}`),
        each: (one) => send({ do: "each", path, field: control.name, one, column: columnOf(chosenNode()) }),
      }));
    }
    const held = fields.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    fields.replaceChildren(...[...lines.values()].map(({ node: line }) => line));
    if (!node.controls.length) fields.append(dom("div", { class: "lsat-muted", text: "Nothing to set." }));
    if (held) fields.querySelector(`[data-key="${CSS.escape(held)}"]`)?.focus({ preventScroll: true });
  };

  // The knots as numbers, beside the handles in the plot: as they were typed, where they were, also if they are refused.
  const placesOf = (node) => {
    const look = model.get("_look"), typed = node.controls.find(({ form }) => form === "knots")?.value;
    return Array.isArray(typed) ? typed : same(look.path, node.path) ? look.knots?.shares : null;
  };
  let byRows = true; // of the last look that told: a step that is refused has none
  const drawShares = (node) => {
    const look = model.get("_look"), places = placesOf(node);
    if (shares && (!places || shares.count !== places.length || shares.path !== String(node.path))) {
      shares.node.remove();
      shares = null;
    }
    if (!places || places.length > 24) return;
    if (!shares) {
      const all = places.map((_, i) => typedField({
        class: "lsat-number", "aria-label": `Knot ${i + 1}, per cent below`, inputmode: "decimal", "data-key": `share:${i}`,
      }, (text) => {
        const value = parse(text), share = typeof value === "number" ? value / 100 : value;
        send(message(node.path, "knots", placesOf(chosenNode()).map((old, j) => (j === i ? share : old))));
      }));
      const unit = dom("span", { class: "lsat-muted lsat-small" });
      shares = {
        count: all.length, path: String(node.path), fields: all, unit,
        node: dom("div", { class: "lsat-features-control lsat-features-shares" },
          dom("div", { class: "lsat-features-name" }, dom("span", { text: "places" }), unit),
          dom("div", { class: "lsat-row" }, ...all.map((field) => field.node))),
      };
      lines.get("knots").node.after(shares.node);
    }
    if (same(look.path, node.path) && look.knots) byRows = look.knots.by_rows;
    shares.unit.textContent = byRows ? "% of rows below" : "% of the range below";
    const meaning = byRows ? "Share of the training rows that lie below this knot, in per cent"
      : "Share of the column's range below this knot, in per cent: its values repeat too often to go by rows";
    for (const { node: field } of shares.fields) field.title = meaning;
    places.forEach((share, i) => shares.fields[i].show(typeof share === "number" ? number(100 * share) : String(share)));
  };

  // What is tuned: beside the control of the same name, or in a line of its own.
  let parameterShape = "";
  const drawParameters = (node) => {
    const next = JSON.stringify([node.path, node.kind, node.parameters]);
    if (next === parameterShape) return;
    parameterShape = next;
    const held = detail.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    for (const line of lines.values()) line.node.querySelector(".lsat-features-tuned")?.remove();
    const rest = [];
    for (const { name, label, meaning, count, held: frozen } of node.parameters) {
      const title = `${meaning} ${counted(count, "number")}. Unticked, it stays where it starts.`;
      const box = dom("input", { type: "checkbox", "data-key": `tuned:${name}`, title, "aria-label": `${label} tuned` });
      box.checked = !frozen;
      box.addEventListener("change", () => send({ do: "hold", path: node.path, name, held: !box.checked }));
      const tuned = dom("label", { class: "lsat-features-tuned", title }, box, "tuned");
      const line = lines.get(name);
      if (line) line.node.append(tuned);
      else rest.push(dom("div", { class: "lsat-features-control" }, dom("span", { class: "lsat-muted", text: label, title: meaning }),
        dom("span", { class: "lsat-muted lsat-features-count", text: counted(count, "number") }), tuned));
    }
    parameters.replaceChildren(...rest);
    parameters.hidden = !rest.length;
    if (held) detail.querySelector(`[data-key="${CSS.escape(held)}"]`)?.focus({ preventScroll: true });
  };

  // --- what it does -------------------------------------------------------------------------------------------------
  const stepper = (label, title, low, high, value, take) => {
    const go = (by) => {
      const handle = button(by < 0 ? "‹" : "›", by < 0 ? `Previous ${label.toLowerCase()}` : `Next ${label.toLowerCase()}`, `${label}:${by}`, () => take(clamp(value() + by, low(), high())));
      return handle;
    };
    const [back, forth] = [go(-1), go(1)];
    return { back, forth, update() { back.disabled = value() <= low(); forth.disabled = value() >= high(); } };
  };
  const columnName = (i) => (model.get("_look").named ? model.get("_names")[i] : `feature ${(i + 1).toLocaleString("en-US")}`);
  const select = dom("select", { "aria-label": "Column", title: "The column that is drawn; where a step has a number for each column, the one that is set", "data-key": "column" });
  select.addEventListener("change", () => set("column", Number(select.value)));
  const typedColumn = typedField({ class: "lsat-number", "aria-label": "Column, counted from 0", title: "The column that is drawn, counted from 0", inputmode: "numeric" }, (text) => {
    const value = parse(text);
    if (Number.isInteger(value)) set("column", clamp(value, 0, model.get("_look").columns - 1));
    else typedColumn.show(String(model.get("column")));
  });
  const columns = stepper("Column", "", () => 0, () => (model.get("_look").columns || 1) - 1, () => Math.min(model.get("column"), (model.get("_look").columns || 1) - 1), (value) => set("column", value));
  const rowField = typedField({ class: "lsat-number", "aria-label": "Training row, counted from 0", title: "The training row whose closeness to each archetype is drawn, counted from 0", inputmode: "numeric", "data-key": "row" }, (text) => {
    const value = parse(text);
    if (Number.isInteger(value)) set("row", clamp(value, 0, (model.get("_look").rows || 1) - 1));
    else rowField.show(String(model.get("row")));
  });
  const rows = stepper("Row", "", () => 0, () => (model.get("_look").rows || 1) - 1, () => model.get("row"), (value) => set("row", value));
  const rowImage = dom("div", { class: "lsat-features-row-image" }), rowWords = dom("span", { class: "lsat-muted" });
  const legend = dom("span", { class: "lsat-muted lsat-features-legend" });

  let whereKind = "";
  const drawWhere = (look) => {
    const kind = look.closeness ? "row" : look.before ? `column ${look.columns > 1000} ${look.named} ${look.columns}` : "";
    if (kind !== whereKind) {
      whereKind = kind;
      if (look.closeness) where.replaceChildren(dom("label", {}, "Training row", rowField.node), rows.back, rows.forth, rowWords);
      else if (look.before) {
        const many = look.columns > 1000;
        if (!many) select.replaceChildren(...Array.from({ length: look.columns }, (_, i) => dom("option", { value: String(i), text: columnName(i) })));
        where.replaceChildren(dom("label", {}, "Column", many ? typedColumn.node : select), columns.back, columns.forth, legend);
      } else where.replaceChildren();
    }
    if (look.closeness) {
      rowField.show(String(model.get("row")));
      rows.update();
      rowWords.textContent = `row ${look.row.name}, label ${look.row.label}`;
    } else if (look.before) {
      const column = Math.min(model.get("column"), look.columns - 1);
      select.value = String(column);
      typedColumn.show(String(column));
      columns.update();
      const mark = (kind, text) => [dom("span", { class: `lsat-features-mark lsat-features-mark-${kind}` }), dom("span", { text })];
      legend.replaceChildren(...mark("before", "before"), ...(look.curves.length ? mark("curve", "φ(x)") : []),
        ...(look.after ? mark("after", look.curves.length ? "after" : `after, ${look.after_name}`) : []),
        ...(look.features > 1 ? [dom("span", { text: `${look.features} features of this column` })] : []));
    }
  };

  const moveKnot = (now) => {
    const node = chosenNode();
    shares?.fields.forEach((field, i) => field.show(number(100 * now[i])));
    drag(message(node.path, "knots", now), `${node.path}/knots`);
  };
  const drawLook = async () => {
    const look = model.get("_look"), turn = ++latest;
    const bytes = model.get("_sprite");
    let fresh = null;
    if (look.images && bytes && bytes.byteLength) {
      fresh = URL.createObjectURL(new Blob([bytes], { type: "image/png" }));
      const image = new Image();
      image.src = fresh;
      try { await image.decode(); } catch { /* a picture that cannot be read leaves empty tiles, with their words */ }
      if (turn !== latest) { URL.revokeObjectURL(fresh); return; }
    }
    if (url) URL.revokeObjectURL(url);
    url = fresh;
    drawWhere(look);
    note.textContent = look.note || "";
    note.hidden = !note.textContent;
    where.hidden = !look.before && !look.closeness;
    made.hidden = !look.images || Boolean(look.closeness);
    made.replaceChildren(...(made.hidden ? [] : [dom("div", { class: "lsat-muted", text: look.images.title }), tiles(look, url).list]));
    const drawn = [];
    if (look.closeness) {
      const { list, row } = tiles(look, url);
      rowImage.replaceChildren(row);
      drawn.push(dom("div", { class: "lsat-features-archetypes" }, rowImage, list));
    } else {
      if (look.before) {
        plot = plot || columnPlot(moveKnot);
        drawn.push(plot.node);
      }
    }
    if (drawn.length !== view.children.length || drawn.some((part, i) => part !== view.children[i])) view.replaceChildren(...drawn);
    if (look.before) plot.update(look);
    const node = chosenNode();
    if (node && !node.members) drawShares(node);
    detail.classList.toggle("lsat-features-old", !same(look.path, model.get("_chosen")));
  };

  // --- the whole ----------------------------------------------------------------------------------------------------
  let waiting = null;
  const drawState = () => {
    const { counts, tone, sentence: words, undo: undoes, redo: redoes } = model.get("_shown");
    if (!words) return;
    clearTimeout(waiting);
    const say = () => {
      dot.dataset.tone = tone;
      sentence.textContent = words;
      if (counts) {
        const { features, hyper, tuned } = counts;
        facts.textContent = `${counted(features, "feature")} · ${counted(hyper, "hyper-parameter")}${hyper ? `, ${tuned.toLocaleString("en-US")} tuned` : ""}`;
      }
      detail.classList.toggle("lsat-features-busy", tone === "busy");
    };
    if (tone === "busy") waiting = setTimeout(say, PATIENCE);
    else say();
    undo.disabled = !undoes;
    redo.disabled = !redoes;
    undo.title = undoes ? `Undo: ${undoes} (Ctrl+Z)` : "Nothing to undo";
    redo.title = redoes ? `Redo: ${redoes} (Ctrl+Shift+Z)` : "Nothing to redo";
  };
  const complain = () => {
    problem.textContent = model.get("_problem");
    problem.hidden = !problem.textContent;
  };
  el.addEventListener("keydown", (event) => {
    const typing = ["INPUT", "SELECT"].includes(event.target.tagName) && event.target.type === "text";
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z" && !typing) {
      send({ do: event.shiftKey ? "redo" : "undo" });
      event.preventDefault();
      event.stopPropagation();
    }
    if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation(); // or the notebook's command mode takes the key
  });

  let pending = false, pictured = false; // one drawing per message, whatever number of traits it brings
  const later = (picture) => () => {
    pictured = pictured || picture;
    if (pending) return;
    pending = true;
    queueMicrotask(() => {
      const looked = pictured;
      pending = pictured = false;
      tree.draw();
      drawDetail();
      drawState();
      complain();
      if (looked) drawLook();
    });
  };
  const end = follow(model, [
    [["_shown", "_chosen", "_problem", "_kinds"], later(false)],
    [["_look", "_sprite", "column", "row", "_names"], later(true)],
  ]);
  return () => {
    end();
    clearTimeout(waiting);
    plot?.end();
    latest++;
    if (url) URL.revokeObjectURL(url);
  };
}

export default { render: heard(render) };

// A line for each run. Choosing one is a trait; what is done to a run goes to Python as a message and comes back as rows.
function render({ model, el }) {
  el.classList.add("lsat", "lsat-runs");
  const keys = dom("span", { class: "lsat-sr", id: `lsat-runs-${Math.random().toString(36).slice(2)}`,
    text: "Arrow keys choose a run, Enter or F2 renames it, Space draws it beside the shown one, Delete takes it out." });
  const head = dom("tr", {});
  const body = dom("tbody", {});
  const table = dom("table", { class: "lsat-table", role: "grid", "aria-label": "Runs", "aria-describedby": keys.id },
    dom("thead", {}, head), body);
  const undo = dom("button", { type: "button", title: "Bring the deleted run back" });
  undo.addEventListener("click", () => {
    model.send({ command: "undo" });
    body.querySelector('[aria-selected="true"]')?.focus(); // the button goes away
  });
  const problem = dom("div", { class: "lsat-error", role: "alert" });
  const hint = dom("div", { class: "lsat-muted" });
  el.append(keys, dom("div", { class: "lsat-scroll" }, table), dom("div", { class: "lsat-row" }, undo), hint, problem);

  const lines = new Map();
  const choose = (index) => {
    model.set("chosen", index);
    model.save_changes();
  };
  const isNumber = (value) => value !== null && value !== undefined;
  const percent = (value) =>
    (model.get("error_name").endsWith("RMSE") ? number(value) : `${(100 * value).toFixed(1)} %`);
  const fitted = (row) => (row.error_rows === "training" ? " (training)" : ""); // a criterion that leaves no row out

  // One line, made once, so that who types in it is not disturbed while the run goes on.
  const lineOf = (run) => {
    const send = (command, more) => model.send({ command, run, ...more });
    const text = (kind) => dom("td", { class: kind });
    const dot = dom("span", { class: "lsat-dot" });
    const beside = dom("input", { type: "checkbox", title: "Draw its loss beside that of the shown run" });
    const swatch = dom("span", { class: "lsat-swatch" });
    const name = dom("span", { class: "lsat-run-name", title: "Double click, Enter or F2 renames it" });
    const words = dom("span", { class: "lsat-run-words" });
    const note = dom("input", { type: "text", class: "lsat-run-note", placeholder: "Add a note", maxlength: "500",
      title: "What there is to say of this run" });
    const remove = dom("button", { type: "button", class: "lsat-run-delete", text: "✕" });
    const numbers = [0, 1, 2, 3].map(() => text("lsat-number"));
    const named = text("lsat-strong-run");
    named.append(name);
    const line = dom("tr", {}, dom("td", { class: "lsat-mark" }, dot),
      dom("td", { class: "lsat-beside" }, dom("span", {}, beside, swatch)), named,
      dom("td", { class: "lsat-differs" }, words, note), ...numbers, dom("td", { class: "lsat-mark" }, remove));

    let shown = {};
    const rename = () => {
      const field = dom("input", { type: "text", class: "lsat-run-rename", "aria-label": `New name of ${shown.name}`, maxlength: "60",
        title: "Enter keeps the name, Escape the old one" });
      field.value = shown.name;
      let open = true;
      const end = (keep, back) => {
        if (!open) return;
        open = false;
        if (keep && field.value.trim() !== shown.name) send("rename", { text: field.value });
        field.replaceWith(name);
        if (back) line.focus();
      };
      field.addEventListener("keydown", (event) => {
        event.stopPropagation();
        if (event.key === "Enter" || event.key === "Escape") end(event.key === "Enter", true);
      });
      field.addEventListener("blur", () => end(true, false));
      for (const kind of ["click", "dblclick"]) field.addEventListener(kind, (event) => event.stopPropagation());
      name.replaceWith(field);
      field.focus();
      field.select();
    };
    const overlay = (on) => send("overlay", { on });
    const erase = () => { if (!shown.stays) send("delete"); };
    const place = () => [...body.children].indexOf(line);

    named.addEventListener("dblclick", rename);
    beside.addEventListener("change", () => overlay(beside.checked));
    note.addEventListener("change", () => send("note", { text: note.value }));
    note.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Escape") note.value = shown.note;
      if (event.key === "Escape" || event.key === "Enter") line.focus();
    });
    remove.addEventListener("click", erase);
    for (const node of [beside, remove]) {
      node.addEventListener("click", (event) => event.stopPropagation());
      node.addEventListener("keydown", (event) => { if ([" ", "Enter"].includes(event.key)) event.stopPropagation(); });
    }
    line.addEventListener("click", () => choose(place()));
    line.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const act = { Enter: rename, F2: rename, " ": () => overlay(!beside.checked), Delete: erase }[event.key];
      if (event.target !== line || !(step || act)) return;
      event.preventDefault();
      event.stopPropagation();
      if (!step) return void act();
      const next = Math.min(lines.size - 1, Math.max(0, place() + step));
      choose(next);
      body.children[next]?.focus();
    });

    const update = (row, chosen) => {
      const before = shown;
      shown = row;
      line.tabIndex = chosen ? 0 : -1;
      line.setAttribute("aria-selected", String(chosen));
      line.dataset.run = String(row.run);
      dot.dataset.tone = row.busy || chosen ? "busy" : "";
      name.textContent = row.name;
      words.textContent = row.differs || "–";
      if (before.note !== row.note && document.activeElement !== note) note.value = row.note;
      note.hidden = !chosen && !row.note;
      const [colour, dash] = isNumber(row.slot) ? model.get("colours")[row.slot] : ["transparent", "dashed"];
      // the shown run is not drawn beside itself: its own curve is the line
      const look = chosen && isNumber(row.slot) ? "solid var(--lsat-accent)" : `${dash === "dot" ? "dotted" : "dashed"} ${colour}`;
      swatch.style.borderTop = `3px ${look}`;
      beside.checked = isNumber(row.slot);
      beside.disabled = !beside.checked && !row.room;
      beside.setAttribute("aria-label", `Draw ${row.name} beside the shown run`);
      note.setAttribute("aria-label", `Note on ${row.name}`);
      remove.setAttribute("aria-label", `Delete ${row.name}`);
      remove.disabled = row.stays;
      remove.title = row.stays ? "The buttons steer this run: restart or branch first" : "Delete this run";
      const has = isNumber(row.loss);
      const values = [
        has ? row.loss_text : "–", isNumber(row.error) ? `${percent(row.error)}${fitted(row)}` : "–",
        has ? row.iterations.toLocaleString("en-US") : "–", has ? `${briefly(row.seconds)} s` : "–",
      ];
      numbers.forEach((cell, i) => { cell.textContent = values[i]; });
      for (const cell of numbers.slice(0, 2)) cell.title = `Of the ${row.judging}`;
      for (const node of [beside, note, remove]) node.tabIndex = chosen ? 0 : -1;
    };
    return { line, update };
  };

  const titles = () => [
    ["", ""], ["Overlay", "Draws the loss of other runs beside that of the shown one, at most six"],
    ["Run", "Its name: double click to change it"], ["Differs in", `Compared with ${model.get("compared")}, a branch with the run that it left`],
    ["Loss", "Of the rows that judge, at the iteration that is kept"],
    [model.get("error_name"), "Of the rows that judge, at the iteration that is kept"],
    ["Iterations", "Evaluations of the objective after the start"], ["Time", "Seconds of computing; pauses do not count"],
    ["", ""],
  ];
  const show = () => {
    const rows = model.get("rows");
    head.replaceChildren(...titles().map(([text, title], i) => (text
      ? dom("th", { scope: "col", class: i > 3 ? "lsat-number" : "", text, title }) : dom("td", {}))));
    const there = new Set(rows.map((row) => row.run));
    const focused = body.contains(document.activeElement) ? document.activeElement.closest("tr") : null;
    const lost = focused && !there.has(Number(focused.dataset.run)) ? [...body.children].indexOf(focused) : -1;
    for (const [run, { line }] of lines) {
      if (there.has(run)) continue;
      line.remove();
      lines.delete(run);
    }
    rows.forEach((row, index) => {
      if (!lines.has(row.run)) lines.set(row.run, lineOf(row.run));
      const { line, update } = lines.get(row.run);
      if (body.children[index] !== line) body.insertBefore(line, body.children[index] || null);
      update(row, index === model.get("chosen"));
    });
    if (lost >= 0) body.querySelector('[aria-selected="true"]')?.focus();
    undo.hidden = !model.get("undoes");
    undo.textContent = `Undo: bring back ${model.get("undoes")}`;
    hint.textContent = model.get("hint");
    hint.hidden = !hint.textContent;
    problem.textContent = model.get("problem");
    problem.hidden = !problem.textContent;
  };
  return follow(model, [[["rows", "chosen", "error_name", "compared", "undoes", "hint", "problem"], show]]);
}

export default { render: heard(render) };

// Verdicts: the buttons and keys that give them, how they stand, and what the fit would be with them.

const MARKS = { keep: "✓", relabel: "→", drop: "✕", ambiguous: "?" };
const KINDS = {
  keep: ["Keep", "K", "the label is right as it is"],
  suggestion: ["Relabel", "R", "the suggested label is right"],
  relabel: ["Relabel", "C", "another label is right: choose it, then Enter"],
  drop: ["Drop", "D", "the row is to be left out"],
  ambiguous: ["Ambiguous", "A", "no single label is right"],
  clear: ["Clear verdict", "Delete", "take the verdict back"],
};
const VERDICT_FILTERS = {
  all: "all", any: "any", none: "none yet", keep: "keep", relabel: "relabel", drop: "drop", ambiguous: "ambiguous",
};
const KEYED = { k: "keep", r: "suggestion", d: "drop", a: "ambiguous", delete: "clear", backspace: "clear" };

const markText = ({ kind, to }) => MARKS[kind] + (to ? ` ${to}` : "");
const markWords = (mark) => (mark ? `verdict ${mark.kind}${mark.to ? ` to ${mark.to}` : ""}` : "");

// the sign of a verdict on a tile or in a line
function drawMark(node, mark) {
  if (!mark && node.hidden) return;
  node.className = mark ? `lsat-browser-mark lsat-browser-mark-${mark.kind}` : "lsat-browser-mark";
  node.textContent = mark ? markText(mark) : "";
  node.hidden = !mark;
}

// a button that is off lets go of the focus: another takes it, or the notebook would take the next key
function setOff(button, off, next) {
  const held = off && document.activeElement === button;
  button.disabled = off;
  if (held) next.focus();
}

// the buttons of the row that is looked at, and the keys of them all
function verdictKeys(model, look) {
  const give = (kind, position = model.get("_looked"), to = undefined) => {
    const message = { do: "verdict", kind, position };
    if (position >= 0) model.send(to === undefined ? message : { ...message, to });
  };
  const undo = titled("Undo", "", () => model.send({ do: "undo" }));
  const redo = titled("Redo", "", () => model.send({ do: "redo" }));
  const buttons = Object.fromEntries(["keep", "suggestion", "drop", "ambiguous", "clear"].map((kind) =>
    [kind, titled(KINDS[kind][0], "", () => give(kind))]));
  const classes = dom("select", { "aria-label": "Another label" });
  const typed = dom("input", { type: "text", "aria-label": "Another label", size: "8" });
  const relabel = titled("Relabel", "", () => commit());
  const field = () => (model.get("_shown").classes.length ? classes : typed);
  const commit = () => {
    const value = field().value;
    if (value === "") { field().focus(); return; }
    give("relabel", model.get("_looked"), field() === classes ? Number(value) : value);
    field().value = "";
    drawOther();
  };
  for (const input of [classes, typed]) input.addEventListener("keydown", (event) => {
    event.stopPropagation(); // or the notebook takes the key
    if (event.key === "Enter" && input.value !== "") { event.preventDefault(); commit(); back(); }
    else if (event.key === "Escape") { event.preventDefault(); back(); }
  });
  for (const input of [classes, typed]) for (const kind of ["input", "change"]) {
    input.addEventListener(kind, () => drawOther());
  }
  let from = null; // where the focus was before another label was asked for
  const back = () => { (from?.isConnected ? from : buttons.keep).focus(); from = null; };
  const words = dom("span", { class: "lsat-muted lsat-small", role: "status" });
  const other = dom("span", { class: "lsat-row lsat-browser-other" }, classes, typed, relabel, buttons.clear);
  const node = dom("div", { class: "lsat-browser-wide lsat-browser-judge", role: "group", "aria-label": "Verdict on the row" },
    dom("div", { class: "lsat-row" }, buttons.keep, buttons.suggestion, buttons.drop, buttons.ambiguous), other, words);

  const press = (event, position) => {
    const held = event.ctrlKey || event.metaKey, key = event.key.toLowerCase();
    if (event.target.closest("input, select, textarea") || event.altKey) return false;
    if (held && (key === "z" || key === "y")) (key === "y" || event.shiftKey ? redo : undo).click();
    else if (held) return false;
    else if (key === "u") (event.shiftKey ? redo : undo).click();
    else if (key in KEYED || key === "c") {
      if (model.get("_judged").off || position < 0) return true;
      if (position !== model.get("_looked")) look(position); // what is judged is seen
      if (key === "c") { from = event.target; node.hidden = false; field().focus(); }
      else if (!(key === "r" && buttons.suggestion.disabled)) give(KEYED[key], position);
    } else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  };

  const drawOther = () => {
    relabel.disabled = Boolean(model.get("_judged").off) || field().value === "";
  };
  const draw = () => {
    const row = model.get("_zoom"), now = model.get("_shown"), { off, undo: undoes, redo: redoes } = model.get("_judged");
    node.hidden = row.position === undefined;
    for (const [button, can, other] of [[undo, undoes, redo], [redo, redoes, undo]]) if (can) setOff(button, false, other);
    setOff(undo, !undoes, redo);
    setOff(redo, !redoes, undo);
    undo.title = "Take the last verdict back (U, or Ctrl or ⌘ with Z)";
    redo.title = "Give it again (Shift with U, or Ctrl or ⌘ with Y)";
    const key = JSON.stringify(now.classes);
    if (classes.dataset.key !== key) {
      classes.dataset.key = key;
      classes.replaceChildren(dom("option", { value: "", text: "other label…" }),
        ...now.classes.map((text, i) => dom("option", { value: String(i), text })));
    }
    classes.hidden = !now.classes.length;
    typed.hidden = !classes.hidden;
    if (node.hidden) return;
    const chosen = model.get("_picked"), many = chosen.includes(row.position) ? chosen.length : 1;
    const whom = many > 1 ? `the ${many} selected rows` : `row ${row.row}`;
    for (const [kind, button] of Object.entries(buttons)) {
      const [, key, meaning] = KINDS[kind];
      setOff(button, Boolean(off) || (kind === "clear" && many === 1 && !row.verdict)
        || (kind === "suggestion" && row.suggested === undefined), buttons.keep);
      button.title = off || `On ${whom}: ${meaning} (key ${key})`;
      const given = many === 1 && row.verdict;
      button.setAttribute("aria-pressed", String(Boolean(given && (given.kind === kind
        || (kind === "suggestion" && given.suggested)))));
    }
    buttons.suggestion.textContent = many > 1 ? "Relabel as suggested" : `Relabel to ${row.suggested ?? "…"}`;
    typed.placeholder = "other number…";
    for (const input of [classes, typed]) {
      input.disabled = Boolean(off);
      input.title = off || `The label that is right for ${whom} (key C), then Enter`;
    }
    relabel.title = off || `On ${whom}: the chosen label is right (key C, then Enter)`;
    drawOther();
    words.textContent = off || (many > 1 ? `A verdict now is on ${whom}.`
      : row.verdict ? `${markWords(row.verdict)[0].toUpperCase()}${markWords(row.verdict).slice(1)}.` : "");
    words.hidden = !words.textContent;
  };
  return { node, draw, press, undo, redo };
}

// how the verdicts stand, where they are kept, and what comes of them
function verdictLine(model, set, { undo, redo }) {
  const words = dom("span", { role: "status" }), file = dom("span", { class: "lsat-muted" });
  const problem = dom("span", { class: "lsat-error", role: "alert" });
  const code = copyButton("Copy verdicts", () => model.get("_source"));
  code.title = "Copy the verdicts as Python. In Python they are browser.verdicts: .table(), .indices(), .weights(data), "
    + ".relabelled(data), .applied(data)";
  const solve = titled("Re-solve with my verdicts", "", () => set("_solving", !model.get("_solving")));
  const line = dom("div", { class: "lsat-row lsat-browser-verdicts" }, words, file,
    dom("span", { class: "lsat-row lsat-push" }, undo, redo, code, solve));
  const result = dom("div", { class: "lsat-card lsat-browser-answer", role: "group", "aria-label": "With my verdicts" });
  const node = dom("div", {}, line, problem, result);

  const cell = (tag, text, settings = {}) => dom(tag, { text, ...settings });
  const drawAnswer = () => {
    const told = model.get("_answer"), asked = model.get("_solving");
    result.hidden = !asked;
    if (!asked) return;
    const close = titled("Close", "Put the numbers away", () => { set("_solving", false); solve.focus(); });
    close.classList.add("lsat-push");
    const held = result.contains(document.activeElement);
    const head = dom("div", { class: "lsat-row" }, dom("span", { class: "lsat-strong", text: "With my verdicts" }),
      dom("span", { class: "lsat-muted", role: "status", text: told.words === undefined || told.old ? "Solving…" : told.words }),
      close);
    result.replaceChildren(head);
    if (told.problem) result.append(dom("div", { class: "lsat-error", text: told.problem }));
    if (told.before) {
      const lines = told.names.map((name, i) => dom("tr", {}, cell("th", name, { scope: "row" }),
        ...["before", "after", "moved"].map((when) => cell("td", told[when][i], {
          class: `lsat-number${when === "moved" && told.better[i] !== null ? ` lsat-browser-${told.better[i] ? "fell" : "rose"}` : ""}`,
        }))));
      const heads = ["", "as fitted", "with my verdicts", "change"].map((text, i) =>
        cell("th", text, { scope: "col", class: i ? "lsat-number" : "" }));
      result.append(dom("table", { class: "lsat-table" },
        dom("thead", {}, dom("tr", {}, ...heads)), dom("tbody", {}, ...lines)));
      if (told.warning) result.append(dom("div", { class: "lsat-browser-warning", role: "alert", text: told.warning }));
      result.append(dom("div", {
        class: "lsat-muted lsat-small",
        text: "A new solve with the hyper-parameters as they are. Rows kept or called ambiguous count as before. The test rows are not looked at.",
      }));
    }
    if (held) close.focus();
  };
  const draw = () => {
    const { kinds, changes, total, elsewhere, file: name, path, problem: wrong } = model.get("_judged");
    const some = Object.keys(MARKS).filter((kind) => kinds[kind]).map((kind) => `${kinds[kind]} ${kind}`);
    words.textContent = total === 0 ? "No verdicts yet" : `${counted(total, "verdict")}: ${some.join(", ")}`
      + `${elsewhere ? `; ${elsewhere} on rows that are no training rows now` : ""}`;
    file.textContent = !name ? "in memory alone" : total ? `kept in ${name}` : `kept in ${name} from the first on`;
    file.title = path || "Give WeightBrowser(verdicts=\"file.json\") to keep them";
    problem.textContent = wrong;
    problem.hidden = !wrong;
    code.disabled = total === 0;
    solve.disabled = !model.get("_shown").explains || !(changes || model.get("_solving"));
    solve.setAttribute("aria-expanded", String(model.get("_solving")));
    solve.title = solve.disabled ? "Drop or relabel training rows first: their fit is then solved again, at once"
      : "Solve the fit again without the dropped rows and with the new labels; loss and error of the validation rows, before and after";
    drawAnswer();
  };
  return { node, draw, drawAnswer };
}

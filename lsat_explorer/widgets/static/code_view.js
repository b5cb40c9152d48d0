// The recipe as text. `draft` is the JSON as it is typed; Python says what is wrong with it, and where.

const TYPING = 300; // ms of rest before what is typed is read

function render({ model, el }) {
  el.classList.add("lsat", "lsat-code-view");
  const segments = dom("div", { class: "lsat-segments", role: "group", "aria-label": "Language" });
  const buttons = ["Python", "JSON"].map((name) => {
    const button = dom("button", { type: "button", text: name,
      title: name === "JSON" ? "The recipe as data: edit it, then apply" : "The recipe as Python, to read and to copy" });
    button.addEventListener("click", () => {
      model.set("language", name);
      model.save_changes();
    });
    segments.append(button);
    return button;
  });
  const copied = copyButton("Copy", () => (model.get("language") === "JSON" ? area.value : model.get("python")));
  copied.title = "Copy the text below";
  copied.classList.add("lsat-push");
  const python = dom("pre", { class: "lsat-code", tabindex: "0", "aria-label": "The recipe as Python" });
  const gutter = dom("div", { class: "lsat-gutter", "aria-hidden": "true" });
  const area = dom("textarea", {
    class: "lsat-code", "aria-label": "The recipe as JSON", spellcheck: "false", autocomplete: "off", wrap: "off", rows: "18",
    title: "Edit the recipe; Ctrl or ⌘ with Enter applies it",
  });
  const sheet = dom("div", { class: "lsat-sheet" }, gutter, area);
  const apply = dom("button", { type: "button", class: "lsat-primary", text: "Apply",
    title: "Use this recipe (Ctrl or ⌘ with Enter)" });
  const revert = dom("button", { type: "button", text: "Revert", title: "Take back what was typed" });
  const note = dom("span", { class: "lsat-muted" });
  const problem = dom("div", { class: "lsat-error", role: "alert" });
  const tools = dom("div", { class: "lsat-row" }, apply, revert, note);
  const reading = dom("div", { class: "lsat-muted", text: "To read and to copy. Choose JSON to edit the recipe." });
  el.append(dom("div", { class: "lsat-row" }, segments, copied), python, reading, sheet, problem, tools);

  let timer = null;
  const send = () => {
    clearTimeout(timer);
    timer = null;
    model.set("draft", area.value);
    model.save_changes();
  };
  const act = (command) => {
    clearTimeout(timer);
    timer = null;
    model.send(command === "apply" ? { command, draft: area.value } : { command });
  };
  area.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(send, TYPING);
    number_lines();
    settle();
  });
  area.addEventListener("scroll", () => { gutter.scrollTop = area.scrollTop; });
  area.addEventListener("keydown", (event) => {
    event.stopPropagation(); // or the notebook takes the key
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      if (!apply.disabled) act("apply");
    }
  });
  apply.addEventListener("click", () => act("apply"));
  revert.addEventListener("click", () => act("revert"));

  const number_lines = () => {
    const lines = area.value.split("\n").length;
    if (gutter.childElementCount !== lines) {
      gutter.replaceChildren(...Array.from({ length: lines }, (_, i) => dom("div", { text: String(i + 1) })));
    }
    [...gutter.children].forEach((node, i) => node.classList.toggle("lsat-wrong", i + 1 === model.get("line")));
    gutter.scrollTop = area.scrollTop;
  };
  const settle = () => {
    const same = area.value === model.get("json");
    apply.disabled = same;
    revert.disabled = same && !model.get("behind");
    note.textContent = model.get("behind") ? "The recipe has changed meanwhile: Apply puts this text in its place."
      : same ? "" : "Not applied yet.";
  };
  const show = () => {
    const json = model.get("language") === "JSON";
    el.hidden = model.get("tab") !== "Code";
    buttons.forEach((button) => button.setAttribute("aria-pressed", String((button.textContent === "JSON") === json)));
    python.hidden = reading.hidden = json;
    sheet.hidden = tools.hidden = !json;
    problem.hidden = !json || !model.get("problem");
    python.textContent = model.get("python");
    if (timer === null && area.value !== model.get("draft")) area.value = model.get("draft");
    const line = model.get("line");
    problem.textContent = model.get("problem") && line ? `Line ${line}: ${model.get("problem")}` : model.get("problem");
    area.setAttribute("aria-invalid", String(Boolean(model.get("problem"))));
    number_lines();
    settle();
  };
  const end = follow(model, [[["tab", "language", "python", "json", "draft", "problem", "line", "behind"], show]]);
  return () => {
    if (timer !== null) send(); // a view that is closed keeps what was typed
    end();
  };
}

export default { render: heard(render) };

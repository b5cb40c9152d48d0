// Edges as text and as a file, and the code that makes the regularizer.
const listPanel = (model, tell) => {
  const area = dom("textarea", {
    rows: "8", spellcheck: "false",
    title: "Two nodes a line, numbers or names; lines that begin with # are passed over",
  });
  const file = dom("input", {
    type: "file", accept: ".csv,.txt,.tsv,text/*", class: "lsat-sr", tabindex: "-1", "aria-hidden": "true",
  });
  // the graph whose edges somebody has typed: they stand until they are taken, for they may have to be mended
  let typed = null;
  let asked = null; // the stamp of the list that is to be taken
  area.addEventListener("input", () => { typed = model.get("active"); });
  const read = (text) => { asked = tell("read", { text }); };
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
    if (typed !== model.get("active")) typed = null; // no list of one graph becomes that of another
    if (typed === null) area.value = model.get("_text");
    code.textContent = model.get("_source");
  };
  const heard = () => { // Python has answered
    if (!asked || model.get("_heard") !== asked) return;
    asked = null;
    if (model.get("_problem")) return;
    typed = null;
    update();
  };
  return { node: panel, update, heard };
};

// The line above the Explorer.
function render({ model, el }) {
  el.classList.add("lsat", "lsat-heading");
  const title = dom("span", { class: "lsat-title" });
  const facts = dom("span", { class: "lsat-muted lsat-facts" });
  const device = deviceChoice(model);
  device.node.classList.add("lsat-push");
  const code = copyButton("Copy as code", () => model.get("source"));
  code.title = "A cell that makes this Explorer again: the rows, the recipe, the view";
  el.append(title, facts, device.node, code);
  return follow(model, [
    [["title"], () => { title.textContent = model.get("title"); }],
    [["facts"], () => { facts.textContent = model.get("facts").join(" · "); }],
    [["device", "devices"], device.update],
  ]);
}

export default { render: heard(render) };

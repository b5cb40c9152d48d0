// A look at the test rows, and how often somebody has looked.
function render({ model, el }) {
  el.classList.add("lsat", "lsat-last-look");
  const button = dom("button", { type: "button", text: "Look at the test set" });
  const result = dom("span", { class: "lsat-test-result", role: "status", "aria-live": "polite" });
  const looks = dom("span", { class: "lsat-muted" });
  const problem = dom("div", { class: "lsat-error", role: "alert" });
  el.append(dom("div", { class: "lsat-row" }, button, result, looks), problem);
  button.addEventListener("click", () => {
    model.set("problem", ""); // so that the same one can come again
    model.save_changes();
    button.disabled = true; // one press, one look
    model.send({ command: "look" });
  });
  const show = () => {
    const count = model.get("count");
    button.disabled = Boolean(model.get("reason"));
    button.title = model.get("reason")
      || "Loss and error on rows that decided nothing. Every look is counted: choosing by them makes them less new.";
    result.textContent = model.get("result");
    looks.textContent = count ? `${count} ${count === 1 ? "look" : "looks"}` : "not looked at yet";
    problem.textContent = model.get("problem");
    problem.hidden = !problem.textContent;
  };
  return follow(model, [[["result", "count", "reason", "problem"], show]]);
}

export default { render: heard(render) };

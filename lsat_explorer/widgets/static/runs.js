// A line for each run.
function render({ model, el }) {
  el.classList.add("lsat", "lsat-runs");
  const head = dom("tr", {});
  const body = dom("tbody", {});
  const table = dom("table", { class: "lsat-table" }, dom("caption", { class: "lsat-sr", text: "Runs" }),
    dom("thead", {}, head), body);
  el.append(dom("div", { class: "lsat-scroll" }, table));

  const choose = (index) => {
    model.set("chosen", index);
    model.save_changes();
  };
  const percent = (value, name) => (name === "Validation error" ? `${(100 * value).toFixed(1)} %` : number(value));
  const cells = (row, name) => [
    ["lsat-mark", ""], ["lsat-strong-run", row.name], ["lsat-differs", row.differs || "–"],
    ["lsat-number", row.loss === null ? "–" : row.loss.toFixed(4)],
    ["lsat-number", row.error === null ? "–" : percent(row.error, name)],
    ["lsat-number", row.loss === null ? "–" : row.iterations.toLocaleString("en-US")],
    ["lsat-number", row.loss === null ? "–" : `${row.seconds.toFixed(1)} s`],
  ];
  const show = () => {
    const rows = model.get("rows");
    const name = model.get("error_name");
    const titles = ["", "Run", "Differs in", "Loss", name, "Iterations", "Time"];
    head.replaceChildren(...titles.map((text, i) => dom("th", {
      scope: "col", class: i > 2 ? "lsat-number" : "", text, ...(text === "Differs in" ? { title: "Compared with Run 1" } : {}),
    })));
    const focused = [...body.children].indexOf(document.activeElement);
    body.replaceChildren(...rows.map((row, index) => {
      const chosen = index === model.get("chosen");
      const line = dom("tr", { tabindex: chosen ? "0" : "-1", "aria-selected": String(chosen), "data-run": String(index) });
      line.append(...cells(row, name).map(([kind, text]) => dom("td", { class: kind, text })));
      line.firstChild.append(dom("span", { class: "lsat-dot", "data-tone": row.busy ? "busy" : chosen ? "busy" : "" }));
      line.addEventListener("click", () => choose(index));
      line.addEventListener("keydown", (event) => {
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (!step && event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation();
        const next = Math.min(rows.length - 1, Math.max(0, index + (step || 0)));
        choose(next);
        body.children[next]?.focus();
      });
      return line;
    }));
    if (focused >= 0) body.children[Math.min(focused, rows.length - 1)]?.focus();
  };
  return follow(model, [[["rows", "chosen", "error_name"], show]]);
}

export default { render };

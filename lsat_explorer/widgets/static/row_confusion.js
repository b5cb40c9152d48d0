// How many rows of each class are predicted as each: a cell chooses the rows behind it.

const MOST_CLASSES = 30;
// why classes have no table, empty where they have
const tooMany = ({ length }) =>
  (length > MOST_CLASSES ? `${length} classes are too many for a table: in Python, set browser.confusion.` : "");

function confusionPanel(model, set) {
  const words = dom("div", { class: "lsat-muted" });
  const caption = "Given class down, predicted class across";
  const name = `Confusion matrix. ${caption}`;
  const table = dom("table", { class: "lsat-browser-matrix", role: "grid", "aria-label": name });
  const node = dom("div", { class: "lsat-card lsat-browser-confusion", role: "group", "aria-label": "Confusion" },
    dom("div", { class: "lsat-browser-scroll" }, table), words);
  let focus = null; // the cell that Tab reaches, as "given,predicted"
  const cells = () => [...table.querySelectorAll("td")];
  const choose = (cell) => {
    const pair = cell.dataset.cell.split(",").map(Number);
    const same = String(model.get("_cell")) === String(pair);
    if (same || cell.dataset.rows !== "0") set("_cell", same ? [] : pair);
  };
  const reach = (cell) => {
    focus = cell.dataset.cell;
    for (const other of cells()) other.tabIndex = other === cell ? 0 : -1;
    cell.focus();
  };
  table.addEventListener("click", (event) => {
    const cell = event.target.closest("td");
    if (cell) { reach(cell); choose(cell); }
  });
  table.addEventListener("keydown", (event) => {
    const all = cells(), place = all.indexOf(event.target), across = Math.round(Math.sqrt(all.length));
    if (place < 0) return;
    const row = Math.floor(place / across), column = place % across, last = across - 1;
    const moves = {
      ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
      ArrowUp: [row - 1, column], ArrowDown: [row + 1, column],
      Home: [row, 0], End: [row, last],
    };
    if (event.key in moves) {
      const [down, right] = moves[event.key].map((at) => Math.min(last, Math.max(0, at)));
      reach(all[down * across + right]);
    } else if (event.key === "Enter" || event.key === " ") choose(event.target);
    else if (event.key === "Escape") set("_cell", []);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  const update = () => {
    node.hidden = model.get("_folded");
    if (node.hidden) return;
    const counts = model.get("_matrix"), { classes, part } = model.get("_shown");
    const many = tooMany(classes), ready = counts.length === classes.length && !many;
    table.hidden = !ready;
    if (many) { words.textContent = many; return; }
    if (!ready) { words.textContent = model.get("_standing").problem ? "No predictions." : "Predicting…"; return; }
    const wrong = counts.flatMap((row, i) => row.filter((_, j) => i !== j));
    const most = Math.max(1, ...wrong), chosen = String(model.get("_cell"));
    const held = table.contains(document.activeElement);
    const head = dom("tr", {}, dom("th", { text: "given", title: caption }),
      ...classes.map((name) => dom("th", { scope: "col", text: name, title: `Predicted as ${name}` })));
    const rows = counts.map((row, i) => dom("tr", {},
      dom("th", { scope: "row", text: classes[i], title: `Given as ${classes[i]}` }), ...row.map((count, j) => {
        const what = `given ${classes[i]}, predicted ${classes[j]}: ${counted(count, `${part} row`)}`;
        const cell = dom("td", {
          text: count ? count.toLocaleString("en-US") : "·", title: count ? `${what}. Press to show them.` : what,
          "aria-label": what, "aria-selected": String(chosen === `${i},${j}`),
        });
        cell.dataset.cell = `${i},${j}`;
        cell.dataset.rows = String(count);
        cell.classList.toggle("lsat-browser-right", i === j);
        if (i !== j && count) cell.style.setProperty("--lsat-share", `${Math.round(8 + 30 * (count / most))}%`);
        return cell;
      })));
    table.replaceChildren(dom("thead", {}, head), dom("tbody", {}, ...rows));
    const all = cells();
    const stop = all.find((cell) => cell.dataset.cell === (focus ?? chosen)) ?? all[0];
    for (const cell of all) cell.tabIndex = cell === stop ? 0 : -1;
    if (held) stop.focus();
    const mistakes = wrong.reduce((sum, count) => sum + count, 0);
    const total = mistakes + counts.reduce((sum, row, i) => sum + row[i], 0);
    words.textContent = `${caption}. Of ${counted(total, `${part} row`)}, ${mistakes.toLocaleString("en-US")} are `
      + "predicted as another class than theirs. Press a cell to show its rows, and again to show all.";
  };
  return { node, update };
}

// The rows of the page: tiles of images, or lines of a table under a head that sorts.

function rowList(model, set, pick, look, judge) {
  const list = dom("div", {
    class: "lsat-browser-tiles", role: "listbox", "aria-multiselectable": "true", "aria-label": "Rows",
  });
  const head = dom("div", { class: "lsat-browser-head" });
  const node = dom("div", { class: "lsat-browser-list" }, head, list);
  let focus = 0; // the row that Tab reaches
  let anchor = null; // where a range starts
  const shown = () => model.get("_shown"), picked = () => model.get("_picked");
  const options = () => [...list.children];

  const choose = (place, { toggle = false, range = false } = {}) => {
    const { positions } = shown(), position = positions[place], start = positions.indexOf(anchor);
    if (range && start >= 0) {
      const [low, high] = [Math.min(start, place), Math.max(start, place)];
      pick([...positions.slice(low, high + 1).filter((other) => other !== position), position]);
      return;
    }
    anchor = position;
    const others = picked().filter((other) => other !== position);
    if (!toggle) pick([position]);
    else pick(others.length === picked().length ? [...others, position] : others, position);
  };
  const stop = (place) => {
    focus = Math.max(0, Math.min(place, list.children.length - 1));
    options().forEach((option, i) => state(option, "tabindex", i === focus ? "0" : "-1"));
  };
  const reach = (place, event) => {
    stop(place);
    list.children[focus].focus();
    if (event.shiftKey) choose(focus, { range: true });
    else look(shown().positions[focus]);
  };
  const across = () => {
    const top = list.firstElementChild.offsetTop;
    const second = options().findIndex((option) => option.offsetTop > top);
    return second < 0 ? list.children.length : second;
  };
  const press = (turnPage) => (event) => {
    const place = options().indexOf(event.target);
    if (place < 0) return;
    if (judge(event, shown().positions[place])) return;
    const last = list.children.length - 1;
    const moves = {
      ArrowLeft: () => place - 1, ArrowRight: () => place + 1,
      ArrowUp: () => (place - across() < 0 ? place : place - across()),
      ArrowDown: () => (place + across() > last ? place : place + across()),
      Home: () => 0, End: () => last,
    };
    if (event.key in moves) reach(moves[event.key](), event);
    else if (event.key === "Enter") choose(place);
    else if (event.key === " ") choose(place, { toggle: true, range: event.shiftKey });
    else if (event.key === "Escape" && picked().length) pick([], shown().positions[place]);
    else if (event.key === "PageUp" || event.key === "PageDown") turnPage(event.key === "PageUp" ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  list.addEventListener("click", (event) => {
    const place = options().indexOf(event.target.closest(".lsat-browser-tile"));
    if (place < 0) return;
    stop(place);
    list.children[place].focus({ preventScroll: true });
    choose(place, { toggle: event.ctrlKey || event.metaKey, range: event.shiftKey });
  });

  const frame = () => dom("div", { class: "lsat-browser-frame", "aria-hidden": "true" });
  const blank = dom("div", { class: "lsat-browser-tile", role: "option" }, frame(),
    dom("div", { class: "lsat-browser-line" }, dom("b"), dom("span")),
    dom("div", { class: "lsat-browser-row" }, dom("span"), dom("span")), dom("span"));
  blank.firstElementChild.append(dom("div", { class: "lsat-browser-image" }));
  const newTile = () => blank.cloneNode(true); // hundreds are made: that is a third of the work
  // what the rows are sorted by stands in the tile, in few letters
  const BESIDE = { doubt: "doubts", effect: "effects", loss: "losses", weight: "weights" };
  const beside = (now, column, place) => {
    const text = now[BESIDE[column] ?? "weights"]?.[place] ?? "";
    return (column === "weight" || !(column in BESIDE)) && !now.tuned ? "" : text.split(" ")[0];
  };
  const fillTile = (tile, now, place, column) => {
    const [, line, row, mark] = tile.children, told = Boolean(now.suggested);
    const other = now.doubtful?.[place] ? now.suggested[place] : !told && now.wrong?.[place] ? now.predicted[place] : "";
    say(line.children[0], now.labels[place] + (other && `→${other}`));
    const first = now.tuned ? now.weights[place] : column === "loss" ? beside(now, column, place) : "";
    say(line.children[1], !told ? first
      : (other ? "" : `${now.suggested[place]} · `) + now.confidence[place].replace(/^([<>]) /, "$1"));
    say(row.children[0], now.rows[place]);
    say(row.children[1], told || (column === "loss" && now.tuned) ? beside(now, column, place) : "");
    drawMark(mark, now.verdicts[place]);
  };
  const LINE = [
    ["row", "rows"], ["label", "labels"], ["suggested", "suggestions"], ["doubt", "doubts"], ["effect", "effects"],
    ["weight", "weights"], ["predicted", "predicted"], ["loss", "losses"],
  ];
  const worded = (name) => name === "label" || name === "predicted" || name === "suggested";
  const parts = (now, column) => [...LINE.filter(([name]) => ({
    suggested: Boolean(now.suggested), doubt: column === "doubt", effect: column === "effect", weight: now.tuned,
    predicted: now.predicted || (!now.suggested && now.part !== "test"), loss: now.predicted || (!now.suggested && now.part !== "test"),
  }[name] ?? true)), ...(now.sorted ? [[column, "sorted"]] : [])];
  const DIGIT = 8, WIDEST = 190; // pixels: of a digit, and of what a column takes at least for the sake of its numbers
  const LONG = 10, END = 5; // letters of a name that may not fit, and of its end, which is always seen
  const writing = writer(list);
  const newLine = () => dom("div", { class: "lsat-browser-tile", role: "option" });
  const fillLine = (tile, now, place, column) => {
    const picture = frame();
    plot(picture, now.graphs[place]);
    const far = now.unusual[place].map((pair) => pair.join(" ")).join(" · ");
    const mark = dom("span");
    drawMark(mark, now.verdicts[place]);
    tile.replaceChildren(picture, ...parts(now, column).map(([name, values]) => {
      const text = name === "suggested" ? `${now.suggested[place]} · ${now.confidence[place]}` : now[values]?.[place] ?? "–";
      const doubtful = name === "suggested" ? (now.doubtful[place] ? "lsat-browser-doubtful" : "lsat-muted") : "";
      const cell = dom("span", { class: worded(name) ? doubtful : "lsat-number", title: text });
      const word = now[name === "suggested" ? name : values]?.[place] ?? "";
      if (classified(model) && worded(name) && word.length > LONG) {
        cell.classList.add("lsat-browser-ends"); // names that begin alike are told apart by their ends
        cell.append(dom("span", { text: text.slice(0, word.length - END) }), dom("span", { text: text.slice(word.length - END) }));
      } else cell.textContent = text;
      if (name === "label") cell.append(" ", mark);
      return cell;
    }), dom("span", { class: "lsat-muted lsat-browser-far", text: far, title: far }));
  };
  const drawHead = () => {
    const now = shown(), [column, falling] = parsed(now.order);
    head.hidden = !now.graphs || !now.positions.length;
    if (head.hidden) return;
    const had = head.contains(document.activeElement) ? document.activeElement.dataset.column : null;
    const buttons = parts(now, column).map(([shown_name]) => {
      const name = shown_name === "suggested" ? "doubt" : shown_name, mine = name === column && shown_name !== "suggested";
      const text = { row: "row", predicted: "predicted", suggested: "suggested" }[shown_name] ?? about(model, name)[0];
      const off = unavailable(model, name);
      const button = titled(mine ? `${text} ${falling ? "▾" : "▴"}` : text,
        `Sort by ${about(model, name)[0]}: ${about(model, name)[3]}.${off}`,
        () => set("order", named(name, mine ? !falling : name === "loss" || name === "doubt")));
      button.dataset.column = shown_name;
      button.disabled = Boolean(off);
      button.setAttribute("aria-pressed", String(mine));
      if (!worded(shown_name)) button.classList.add("lsat-number");
      return button;
    });
    head.replaceChildren(dom("span", { class: "lsat-muted", text: "features", title: DEVIATION }),
      ...buttons, dom("span", { class: "lsat-muted lsat-browser-far", text: "farthest from the mean" }));
    if (had) buttons.find((button) => button.dataset.column === had)?.focus();
    const marked = now.verdicts.some(Boolean), names = parts(now, column).map(([name]) => name);
    const values = Object.fromEntries(LINE), sure = Math.max(0, ...(now.confidence ?? []).map((text) => text.length + 3));
    // a number without its exponent, or one of several targets, would be read as another
    const long = (name) => {
      const texts = classified(model) && worded(name) ? [] : now[name === column ? "sorted" : values[name]] ?? now[values[name]] ?? [];
      const most = texts.some((text) => /\de−?\d|, /.test(text)) ? Math.max(...texts.map((text) => text.length)) : 0;
      return most && Math.min(WIDEST, DIGIT * (most + (name === "suggested" ? sure : 0)) + 4);
    };
    const usual = (name) => ({ effect: 132, suggested: 104 }[name] ?? 64);
    const least = (name) => Math.max(usual(name), Math.ceil(long(name))) + (name === "label" && marked ? 40 : 0);
    const share = (name) => (name === "suggested" ? 1.7 : worded(name) ? 1 : 0.8); // a label and its confidence
    node.style.setProperty("--lsat-columns", names.map((name) => `minmax(${least(name)}px, ${share(name)}fr)`).join(" "));
    node.style.setProperty("--lsat-least", `${names.reduce((sum, name) => sum + 12 + least(name), 0)}px`); // with gaps
  };

  const draw = (url) => {
    const now = shown(), count = now.positions.length, [column] = parsed(now.order);
    const table = Boolean(now.graphs), held = list.contains(document.activeElement);
    if (node.classList.contains("lsat-browser-table") !== table) list.replaceChildren();
    node.classList.toggle("lsat-browser-table", table);
    while (list.children.length > count) list.lastElementChild.remove();
    if (list.children.length < count) {
      list.append(...Array.from({ length: count - list.children.length }, table ? newLine : newTile));
    }
    const write = (option, place) => {
      if (table) fillLine(option, now, place, column);
      else fillTile(option, now, place, column);
      const told = now.suggested ? `, suggested ${now.suggested[place]} with ${now.confidence[place]}` : "";
      const effect = now.effects ? `, effect ${now.effects[place]}` : "";
      const verdict = now.verdicts[place] ? `, ${markWords(now.verdicts[place])}` : "";
      const said = now.predicted ? `, predicted ${now.predicted[place]}, loss ${now.losses[place]}` : "";
      const weight = now.tuned ? `, weight ${now.exact[place]}` : "";
      const words = `${given(model)} ${now.labels[place]}${told}${said}${weight}${effect}, row ${now.rows[place]}${verdict}`;
      state(option, "title", words);
      state(option, "aria-label", words);
    };
    if (!table) options().forEach((option, place) => paint(option.firstElementChild, now.shape, url, place, now.columns, count));
    writing.begin(options(), write);
    stop(focus);
    const long = now.labels.some((text) => text.length > 4) || now.rows.some((text) => text.length > 9)
      || (column === "effect" && Boolean(now.effects));
    list.classList.toggle("lsat-browser-long", long && !table);
    list.classList.toggle("lsat-browser-told", Boolean(now.suggested) && !table);
    drawHead();
    list.hidden = count === 0;
    drawPicks();
    if (held && count) holdRow(now.positions);
  };
  // the focus goes where its row goes; where that is out of sight, what has slid under the cursor is looked at next
  const holdRow = (positions) => {
    const place = positions.indexOf(model.get("_looked"));
    if (place >= 0) stop(place);
    list.children[focus].focus({ preventScroll: true });
    if (place < 0) look(positions[focus]);
  };
  const drawPicks = () => {
    const chosen = new Set(picked()), { positions } = shown();
    options().forEach((option, place) => state(option, "aria-selected", String(chosen.has(positions[place]))));
  };
  return { node, draw, drawHead, drawPicks, press, list };
}

// Writes the words of many tiles: at once those of the tiles in sight, then the others, as soon as the page has been
// painted or one of them comes into sight. Nobody waits for words out of sight, and laying them out takes a while.
const FIRST = 120; // tiles that are written at once before the browser has told which are in sight

function writer(list) {
  const hidden = new WeakMap(); // whether a tile is out of sight, once the browser has told
  let waiting = new Map(), write = null;
  const soon = window.requestIdleCallback ?? ((go) => setTimeout(() => go({ timeRemaining: () => 8 }), 30));
  const one = (tile) => { const place = waiting.get(tile); waiting.delete(tile); write(tile, place); };
  list.addEventListener("contentvisibilityautostatechange", (event) => {
    hidden.set(event.target, event.skipped);
    if (!event.skipped && waiting.has(event.target)) one(event.target);
  });
  const goOn = (mine) => (deadline) => {
    if (mine !== waiting) return; // another page is being written
    for (const tile of mine.keys()) {
      if (deadline.timeRemaining() < 2) break;
      one(tile);
    }
    if (mine.size) soon(goOn(mine));
  };
  const begin = (tiles, how) => {
    waiting = new Map();
    write = how;
    tiles.forEach((tile, place) => {
      if (hidden.get(tile) ?? place >= FIRST) waiting.set(tile, place);
      else how(tile, place);
    });
    if (waiting.size) requestAnimationFrame(() => soon(goOn(waiting), { timeout: 500 }));
  };
  return { begin };
}

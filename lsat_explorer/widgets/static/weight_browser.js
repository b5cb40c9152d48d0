// Thumbnails of the training rows from one sprite, in the order of their weights. Python decides which rows a page has;
// this shows them, and writes order, class, page, size and picks back as traits.

const SVG = "http://www.w3.org/2000/svg";
const svg = (tag, attributes = {}) => {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
};
const counted = (count, noun) => `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
const UNTUNED = "The rows stand in the order of the data: each counts the same in the fit.";
const MEANING = "A weight says how much a row counts in the fit. It is neither an error nor a quality of the row.";

function histogram(bins, [first, last]) {
  const width = 200, height = 34, most = Math.max(1, ...bins);
  const node = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
  const words = "Histogram of the weights; blue: the weights of the rows on this page";
  node.setAttribute("aria-label", words);
  const title = svg("title");
  title.textContent = words;
  node.append(title);
  const step = bins.length > 1 ? width / bins.length : 8;
  const start = bins.length > 1 ? 0 : (width - step) / 2;
  bins.forEach((count, place) => {
    if (!count) return;
    const tall = Math.max(1.5, (count / most) * height);
    const bar = svg("rect", { x: start + place * step, y: height - tall, width: Math.max(1, step - 1), height: tall });
    if (place >= first && place <= last) bar.classList.add("lit");
    node.append(bar);
  });
  return node;
}

// an image out of the sprite, or a graph: the same for a tile and for the large one
function paint(frame, shown, place, url) {
  frame.classList.toggle("lsat-browser-graph", Boolean(shown.graphs));
  if (shown.graphs) {
    frame.replaceChildren(graph(shown.graphs[place]));
    return;
  }
  let image = frame.firstElementChild;
  if (!image || !image.classList.contains("lsat-browser-image")) {
    image = dom("div", { class: "lsat-browser-image" });
    frame.replaceChildren(image);
  }
  const [height, width] = shown.shape;
  const across = shown.columns, down = Math.ceil(shown.positions.length / across);
  const column = place % across, line = Math.floor(place / across);
  image.style.width = `${Math.min(1, width / height) * 100}%`;
  image.style.height = `${Math.min(1, height / width) * 100}%`;
  image.style.backgroundImage = url ? `url("${url}")` : "";
  image.style.backgroundSize = `${across * 100}% ${down * 100}%`;
  image.style.backgroundPosition =
    `${across > 1 ? (column / (across - 1)) * 100 : 0}% ${down > 1 ? (line / (down - 1)) * 100 : 0}%`;
  image.style.imageRendering = Math.max(height, width) <= 40 ? "pixelated" : "auto";
}

function graph(values) {
  const node = svg("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" });
  const y = (value) => 50 - value * 15;
  node.append(svg("line", { x1: 0, x2: 100, y1: 50, y2: 50 }));
  const step = 100 / values.length;
  if (values.length <= 24) {
    values.forEach((value, i) => node.append(svg("rect", {
      x: (i + 0.12) * step, width: 0.76 * step, y: Math.min(50, y(value)), height: Math.max(0.8, Math.abs(value) * 15),
    })));
  } else {
    node.append(svg("polyline", { points: values.map((value, i) => `${(i + 0.5) * step},${y(value)}`).join(" ") }));
  }
  return node;
}

function render({ model, el }) {
  el.classList.add("lsat", "lsat-browser");
  const set = (name, value) => { model.set(name, value); model.save_changes(); };

  const orders = ["lightest", "heaviest"].map((order) => {
    const button = dom("button", { type: "button", text: order[0].toUpperCase() + order.slice(1) });
    button.addEventListener("click", () => set("order", order));
    return [order, button];
  });
  const segments = dom("div", { class: "lsat-segments", role: "group", "aria-label": "Order" }, ...orders.map((o) => o[1]));
  const classes = dom("select", {});
  const classLabel = dom("label", {}, "Class", classes);
  classes.addEventListener("change", () => set("_class", Number(classes.value)));
  const bins = dom("div", {});
  const span = dom("span", { class: "lsat-muted", title: MEANING });
  const total = dom("span", { class: "lsat-muted", role: "status" });
  const size = dom("select", { "aria-label": "Rows on a page" });
  size.addEventListener("change", () => set("_size", Number(size.value)));
  const turn = (by, text, label) => {
    const button = dom("button", { type: "button", text, "aria-label": label, title: label });
    button.addEventListener("click", () => set("page", model.get("page") + by));
    return button;
  };
  const previous = turn(-1, "‹", "Previous page"), next = turn(1, "›", "Next page");
  const where = dom("span", { class: "lsat-muted" });
  const pager = dom("span", { class: "lsat-row lsat-browser-pager" }, previous, where, next);
  const bar = dom("div", { class: "lsat-row lsat-browser-bar" },
    segments, classLabel, bins, span, dom("span", { class: "lsat-row lsat-push" }, total, pager, dom("label", {}, "Show", size)));

  const tiles = dom("div", {
    class: "lsat-browser-tiles", role: "listbox", "aria-multiselectable": "true", "aria-label": "Training rows",
  });
  const empty = dom("div", { class: "lsat-empty", text: "no rows" });
  const detail = dom("aside", { class: "lsat-card lsat-browser-detail", "aria-label": "Selected row" });
  el.append(bar, dom("div", { class: "lsat-browser-body" }, dom("div", {}, tiles, empty), detail));

  let url = null; // of the sprite on show
  let focus = 0; // the tile that Tab reaches
  let anchor = null; // where a range starts
  let looked = null; // position of the row that the keyboard last reached
  let latest = 0; // counts sprites, so that only the newest is drawn
  let reading = false; // whether a sprite is being decoded

  const shown = () => model.get("_shown");
  const picked = () => model.get("_picked");
  let own = false; // whether a change of the picks was made in this view
  const pick = (positions) => {
    own = true;
    set("_picked", positions);
    own = false;
  };

  const choose = (place, { toggle = false, range = false } = {}) => {
    const { positions } = shown();
    const position = positions[place];
    looked = position;
    const start = positions.indexOf(anchor);
    if (range && start >= 0) {
      const [low, high] = [Math.min(start, place), Math.max(start, place)];
      const between = positions.slice(low, high + 1).filter((other) => other !== position);
      pick([...between, position]);
      return;
    }
    anchor = position;
    const others = picked().filter((other) => other !== position);
    if (!toggle) pick([position]);
    else pick(others.length === picked().length ? [...others, position] : others);
  };

  const reach = (place, event) => {
    const last = shown().positions.length - 1;
    focus = Math.max(0, Math.min(place, last));
    [...tiles.children].forEach((tile, i) => { tile.tabIndex = i === focus ? 0 : -1; });
    tiles.children[focus].focus();
    if (event.shiftKey) choose(focus, { range: true });
    else { looked = shown().positions[focus]; drawDetail(); }
  };

  const across = () => {
    const top = tiles.firstElementChild.offsetTop;
    const second = [...tiles.children].findIndex((tile) => tile.offsetTop > top);
    return second < 0 ? tiles.children.length : second;
  };

  const press = (event) => {
    const place = [...tiles.children].indexOf(event.target);
    if (place < 0) return;
    const moves = {
      ArrowLeft: () => place - 1, ArrowRight: () => place + 1,
      ArrowUp: () => (place - across() < 0 ? place : place - across()),
      ArrowDown: () => (place + across() >= tiles.children.length ? place : place + across()),
      Home: () => 0, End: () => tiles.children.length - 1,
    };
    if (event.key in moves) reach(moves[event.key](), event);
    else if (event.key === "Enter") choose(place);
    else if (event.key === " ") choose(place, { toggle: true, range: event.shiftKey });
    else if (event.key === "Escape" && picked().length) pick([]);
    else if (event.key === "PageUp" && !previous.disabled) previous.click();
    else if (event.key === "PageDown" && !next.disabled) next.click();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  tiles.addEventListener("keydown", press);
  // the notebook's command mode would take the keys of buttons and lists
  el.addEventListener("keydown", (event) => {
    if (["Enter", " ", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) {
      event.stopPropagation();
    }
  });
  tiles.addEventListener("click", (event) => {
    const place = [...tiles.children].indexOf(event.target.closest(".lsat-browser-tile"));
    if (place < 0) return;
    focus = place;
    [...tiles.children].forEach((tile, i) => { tile.tabIndex = i === focus ? 0 : -1; });
    tiles.children[place].focus({ preventScroll: true });
    choose(place, { toggle: event.ctrlKey || event.metaKey, range: event.shiftKey });
  });

  const newTile = () => dom("div", { class: "lsat-browser-tile", role: "option" },
    dom("div", { class: "lsat-browser-frame", "aria-hidden": "true" }),
    dom("div", { class: "lsat-browser-line" }, dom("b"), dom("span")),
    dom("div", { class: "lsat-browser-row" }));

  const drawTiles = () => {
    const now = shown(), count = now.positions.length;
    while (tiles.children.length > count) tiles.lastElementChild.remove();
    while (tiles.children.length < count) tiles.append(newTile());
    focus = Math.max(0, Math.min(focus, count - 1));
    [...tiles.children].forEach((tile, place) => {
      const [frame, line, row] = tile.children;
      paint(frame, now, place, url);
      line.children[0].textContent = now.labels[place];
      line.children[1].textContent = now.weights[place];
      row.textContent = now.rows[place];
      tile.tabIndex = place === focus ? 0 : -1;
      tile.title = `label ${now.labels[place]}, weight ${now.exact[place]}, row ${now.rows[place]}`;
      tile.setAttribute("aria-label", tile.title);
    });
    const long = now.labels.some((text) => text.length > 4) || now.rows.some((text) => text.length > 9);
    tiles.classList.toggle("lsat-browser-long", long);
    tiles.hidden = count === 0;
    empty.hidden = count > 0;
    drawPicks();
  };

  const drawPicks = () => {
    const chosen = new Set(picked());
    const { positions } = shown();
    [...tiles.children].forEach((tile, place) => {
      tile.setAttribute("aria-selected", chosen.has(positions[place]) ? "true" : "false");
    });
    drawDetail();
  };

  const drawDetail = () => {
    const now = shown(), chosen = picked();
    const last = chosen[chosen.length - 1];
    const place = [looked, last].map((position) => now.positions.indexOf(position)).find((found) => found >= 0) ?? -1;
    detail.replaceChildren();
    if (place >= 0) {
      const frame = dom("div", { class: "lsat-browser-frame" });
      paint(frame, now, place, url);
      const rank = (model.get("page") - 1) * model.get("_size") + place + 1;
      const facts = [["label", now.labels[place]], ["weight", now.exact[place]],
        [now.tuned ? "rank" : "place", `${rank.toLocaleString("en-US")} of ${now.total.toLocaleString("en-US")}`
          + (now.tuned ? `, ${model.get("order")} first` : "")]];
      const list = dom("dl", {}, ...facts.flatMap(([name, value]) => [dom("dt", { text: name }), dom("dd", { text: value })]));
      detail.append(frame, dom("div", {}, dom("div", { class: "lsat-browser-heading", text: `Row ${now.rows[place]}` }), list));
      if (now.unusual) {
        const values = now.unusual[place].flatMap(([name, value]) => [dom("dt", { text: name }), dom("dd", { text: value })]);
        detail.append(dom("div", { class: "lsat-browser-wide" },
          dom("div", { class: "lsat-muted lsat-small", text: "Farthest from the mean of the training rows" }),
          dom("dl", {}, ...values)));
      }
    } else if (!chosen.length) {
      detail.append(dom("div", {
        class: "lsat-browser-wide lsat-muted",
        text: now.positions.length ? "Choose a row to see it here. Ctrl or Shift with a click chooses several." : "",
      }));
    }
    if (chosen.length) detail.append(selection(chosen.length));
  };

  const selection = (count) => {
    const names = model.get("_picked_names");
    const clear = dom("button", { type: "button", text: "Clear" });
    clear.addEventListener("click", () => { looked = null; pick([]); });
    const more = count > names.length ? ` and ${count - names.length} more` : "";
    const list = dom("span", { class: "lsat-browser-names lsat-muted lsat-small", text: names.join(", ") + more });
    list.hidden = count < 2;
    return dom("div", { class: "lsat-browser-wide lsat-browser-picks" },
      dom("span", { text: `${counted(count, "row")} selected` }),
      dom("span", { class: "lsat-row lsat-push" }, copyButton("Copy rows", () => names.join("\n")), clear),
      list);
  };

  const drawBar = () => {
    const now = shown(), order = model.get("order"), page = model.get("page");
    for (const [name, button] of orders) button.setAttribute("aria-pressed", String(name === order));
    classLabel.hidden = now.classes.length === 0;
    const wanted = ["all", ...now.classes];
    if ([...classes.options].map((option) => option.textContent).join("\n") !== wanted.join("\n")) {
      classes.replaceChildren(...wanted.map((text, i) => dom("option", { value: String(i - 1), text })));
    }
    classes.value = String(model.get("_class"));
    segments.hidden = bins.hidden = !now.tuned;
    bins.replaceChildren(histogram(now.bins, now.lit));
    span.textContent = now.span;
    span.title = now.tuned ? MEANING : UNTUNED;
    total.textContent = counted(now.total, "row") + (now.total < now.all ? ` of ${now.all.toLocaleString("en-US")}` : "");
    const sizes = [20, 50, 100, 200, 500];
    const present = model.get("_size");
    const all = sizes.includes(present) ? sizes : [...sizes, present].sort((a, b) => a - b);
    if (size.options.length !== all.length || ![...size.options].some((option) => Number(option.value) === present)) {
      size.replaceChildren(...all.map((value) => dom("option", { value: String(value), text: String(value) })));
    }
    size.value = String(present);
    pager.hidden = now.pages < 2;
    where.textContent = `${page.toLocaleString("en-US")} of ${now.pages.toLocaleString("en-US")}`;
    previous.disabled = page <= 1;
    next.disabled = page >= now.pages;
  };

  // words and pictures change together: the new sprite is decoded before anything moves
  const drawAll = async () => {
    const turnNumber = ++latest;
    const bytes = model.get("_sprite");
    let fresh = null;
    if (bytes && bytes.byteLength) {
      fresh = URL.createObjectURL(new Blob([bytes], { type: "image/png" }));
      const image = new Image();
      image.src = fresh;
      reading = true;
      try { await image.decode(); } catch { /* a picture that cannot be read leaves empty tiles, with their words */ }
      if (turnNumber !== latest) { URL.revokeObjectURL(fresh); return; }
    }
    reading = false;
    if (url) URL.revokeObjectURL(url);
    url = fresh;
    drawBar();
    drawTiles();
  };
  const drawWords = () => {
    if (reading) return; // what comes after the sprite draws the words too
    drawBar();
    drawTiles();
  };

  let pending = false; // one drawing per message, whatever number of traits it brings
  let pictured = false;
  const later = (withPicture) => () => {
    pictured = pictured || withPicture;
    if (pending) return;
    pending = true;
    queueMicrotask(() => {
      const whole = pictured;
      pending = pictured = false;
      if (whole) drawAll();
      else drawWords();
    });
  };
  const onSprite = later(true), onWords = later(false);
  const words = ["_shown", "order", "page", "_class", "_size"];
  model.on("change:_sprite", onSprite);
  for (const name of words) model.on(`change:${name}`, onWords);
  const onPicked = () => {
    if (!own) looked = null; // Python or another view has chosen: show that
    drawPicks();
  };
  model.on("change:_picked", onPicked);
  model.on("change:_picked_names", drawDetail);
  drawAll();
  return () => {
    model.off("change:_sprite", onSprite);
    for (const name of words) model.off(`change:${name}`, onWords);
    model.off("change:_picked", onPicked);
    model.off("change:_picked_names", drawDetail);
    latest++;
    if (url) URL.revokeObjectURL(url);
  };
}

export default { render };

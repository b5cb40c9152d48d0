// A graph as SVG: a path for the edges of each graph, a path for all nodes, and marks above them. Positions come in the
// unit square; here is only where they are on the screen, and which node a pointer or an arrow key means.

const SVG = "http://www.w3.org/2000/svg";
const make = (tag, attributes = {}) => {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
};
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
const tenth = (value) => Math.round(value * 10) / 10;
const numbers = (bytes, Kind) => (bytes && bytes.byteLength
  ? new Kind(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength)) : new Kind(0));
const COLOURS = 6; // of graphs, as the style sheet has them
const TALLEST = 520; // px at zoom 1
const LABELS = { image: 90, line: 12, circle: 12, networkx: 24 }; // px between nodes from which names are written
const LETTERS = 16; // of a name in the drawing
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

// What is drawn: bytes of places (Float32) and of edges (Int32), groups of edges, names, marks. `on` is told what was
// meant.
const graphDrawing = (on) => {
  const svg = make("svg", { tabindex: "0", role: "application", "aria-roledescription": "graph" });
  const layer = (name, tag = "g") => {
    const node = make(tag, { class: `lsat-draw-${name}` });
    svg.append(node);
    return node;
  };
  const edges = layer("edges"), near = layer("near", "path"), nodes = layer("nodes", "path");
  const selected = layer("selected", "path"), marks = layer("marks"), names = layer("names");
  const box = layer("box", "rect");
  const mark = (name) => {
    const ring = make("circle", { class: `lsat-draw-${name}` });
    marks.append(ring);
    return ring;
  };
  const line = make("line", { class: "lsat-draw-line" });
  marks.append(line);
  const rings = { node: mark("node"), first: mark("first"), hover: mark("hover"), cursor: mark("cursor") };
  const backdrop = dom("div", { class: "lsat-draw-backdrop", "aria-hidden": "true" });
  const scroller = dom("div", { class: "lsat-draw" }, dom("div", { class: "lsat-draw-sheet" }, backdrop, svg));

  let now = null; // what was last drawn
  let places = [], ends = [], x = [], y = [], gap = 10, radius = 2; // where the nodes are, px
  let hover = -1, cursor = 0, anchor = -1;
  let aside = 0; // how far the edges of the edited graph lie beside those of others, px

  const lay = () => {
    const { frame, zoom } = now;
    const n = places.length / 2, kind = frame.placement;
    const flat = kind === "line", page = scroller.clientWidth;
    const across = Math.max(120, kind === "image" ? Math.min(page, TALLEST * frame.aspect) : page);
    const width = Math.floor(across * zoom);
    const lettered = frame.spacing * Math.min(width, flat ? width : TALLEST * zoom) >= LABELS[kind];
    const long = lettered ? Math.max(...now.names.map((name) => Math.min(name.length, LETTERS))) * 6.6 : 0;
    const pad = {
      image: [0, 0, 0, 0], line: [8 + 0.65 * long, 8, 8, 20 + 0.8 * long],
      circle: [14 + long, 14 + long, 18, 18], networkx: [14, 16 + long, 14, 16],
    }[kind];
    const tallest = kind === "image" ? width / frame.aspect : Math.min(across, TALLEST) * zoom;
    const height = flat ? 150 + pad[3] : Math.floor(tallest);
    const [left, right, top, bottom] = pad;
    const round = kind === "circle" ? Math.min(width - left - right, height - top - bottom) : 0; // a circle stays one
    const [wide, tall] = round ? [round, round] : [width - left - right, height - top - bottom];
    const [fromX, fromY] = round ? [(width - round) / 2, (height - round) / 2] : [left, top];
    x = new Float32Array(n);
    y = new Float32Array(n);
    for (let i = 0; i < n; i += 1) {
      x[i] = fromX + places[2 * i] * wide;
      y[i] = fromY + places[2 * i + 1] * tall;
    }
    gap = frame.spacing * Math.min(wide, kind === "networkx" ? tall : wide);
    radius = clamp(gap * 0.13, 1.3, 5);
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    backdrop.style.width = `${width}px`;
    backdrop.style.height = `${height}px`;
    return lettered;
  };

  const segment = (a, b, shift) => {
    if (now.frame.placement === "line") {
      const wide = Math.abs(x[b] - x[a]) / 2, tall = clamp(wide, 3, y[a] - 8 - Math.abs(shift));
      const round = `A${tenth(wide)} ${tenth(tall + shift)} 0 0 ${x[a] < x[b] ? 1 : 0}`; // over the line
      return `M${tenth(x[a])} ${tenth(y[a])}${round} ${tenth(x[b])} ${tenth(y[b])}`;
    }
    if (!shift) return `M${tenth(x[a])} ${tenth(y[a])}L${tenth(x[b])} ${tenth(y[b])}`;
    const dx = x[b] - x[a], dy = y[b] - y[a], length = Math.hypot(dx, dy) || 1;
    const [sx, sy] = [(-dy / length) * shift, (dx / length) * shift];
    return `M${tenth(x[a] + sx)} ${tenth(y[a] + sy)}L${tenth(x[b] + sx)} ${tenth(y[b] + sy)}`;
  };

  const drawEdges = () => {
    const stroke = clamp(gap * 0.09, 0.8, 2.4), apart = clamp(gap * 0.13, 1.4, 4);
    let at = 0;
    const paths = now.groups.map(({ count, active }, slot) => {
      const shift = (slot - (now.groups.length - 1) / 2) * apart;
      if (active) {
        aside = shift;
        near.style.stroke = `var(--lsat-graph-${slot % COLOURS})`;
      }
      const parts = [];
      for (const end = at + 2 * count; at < end; at += 2) parts.push(segment(ends[at], ends[at + 1], shift));
      const path = make("path", { d: parts.join(""), class: active ? "lsat-draw-active" : "" });
      path.style.stroke = `var(--lsat-graph-${slot % COLOURS})`;
      path.style.strokeWidth = active ? stroke : Math.max(0.7, stroke * 0.6);
      return path;
    });
    edges.replaceChildren(...paths);
    near.style.strokeWidth = stroke + 2.4;
  };

  const dots = (list) => list.map((i) => `M${tenth(x[i])} ${tenth(y[i])}h0`).join("");
  const drawNodes = (lettered) => {
    nodes.setAttribute("d", dots([...x.keys()]));
    nodes.style.strokeWidth = 2 * radius;
    selected.style.strokeWidth = 2 * radius + 4;
    names.replaceChildren(...(lettered ? [...x.keys()].map(letter) : []));
  };

  const letter = (i) => {
    const whole = now.names[i], text = make("text");
    text.textContent = whole.length > LETTERS ? `${whole.slice(0, LETTERS - 1)}…` : whole;
    const kind = now.frame.placement, far = radius + 5;
    let at = [x[i], y[i] + radius + 11, "middle"];
    if (kind === "networkx") at = [x[i] + far, y[i] + 4, "start"];
    if (kind === "circle") {
      const dx = places[2 * i] - 0.5, dy = places[2 * i + 1] - 0.5;
      at = [x[i] + 2 * far * dx, y[i] + 2 * far * dy + 4, Math.abs(dx) < 0.05 ? "middle" : dx > 0 ? "start" : "end"];
      if (at[2] === "middle") at[1] += dy > 0 ? 6 : -3;
    }
    if (kind === "line") {
      at = [x[i] + 3, y[i] + far + 3, "end"];
      text.setAttribute("transform", `rotate(-50 ${tenth(at[0])} ${tenth(at[1])})`);
    }
    text.setAttribute("x", tenth(at[0]));
    text.setAttribute("y", tenth(at[1]));
    text.setAttribute("text-anchor", at[2]);
    return text;
  };

  const drawMarks = () => {
    const focused = document.activeElement === svg;
    const shown = { node: now.node, first: now.first, hover, cursor: focused ? cursor : -1 };
    for (const [name, ring] of Object.entries(rings)) {
      const i = shown[name];
      ring.style.display = i >= 0 && i < x.length ? "" : "none";
      if (!(i >= 0 && i < x.length)) continue;
      ring.setAttribute("cx", x[i]);
      ring.setAttribute("cy", y[i]);
      ring.setAttribute("r", radius + { node: 3, first: 3, hover: 4, cursor: 6 }[name]);
    }
    selected.setAttribute("d", dots(now.selected.filter((i) => i < x.length)));
    near.setAttribute("d", now.near.map((i) => segment(Math.min(i, now.node), Math.max(i, now.node), aside)).join(""));
    const toward = hover >= 0 ? hover : focused ? cursor : -1;
    const drawn = now.first >= 0 && toward >= 0 && toward !== now.first;
    line.style.display = drawn ? "" : "none";
    if (!drawn) return;
    const ends = { x1: x[now.first], y1: y[now.first], x2: x[toward], y2: y[toward] };
    for (const [name, value] of Object.entries(ends)) line.setAttribute(name, value);
  };

  const draw = (next, anew = false) => {
    const before = anew || !x.length ? {} : now;
    const other = (...parts) => parts.some((part) => before[part] !== next[part]);
    now = { ...next, key: next.groups.map(({ count, active }) => `${count} ${active}`).join() };
    if (!scroller.clientWidth) return; // not on the page yet
    const moved = other("places", "frame", "zoom", "names"), edited = moved || other("edges") || before.key !== now.key;
    if (moved) {
      places = numbers(next.places, Float32Array);
      cursor = clamp(cursor, 0, Math.max(0, places.length / 2 - 1));
      hover = hover < places.length / 2 ? hover : -1;
      drawNodes(lay());
    }
    if (edited) {
      ends = numbers(next.edges, Int32Array);
      drawEdges();
    }
    drawMarks();
  };

  // --- what a pointer means

  const where = (event) => {
    const frame = svg.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  };
  const closest = ([px, py]) => {
    const reach = clamp(gap * 0.6, 9, 26);
    let best = -1, least = reach * reach;
    for (let i = 0; i < x.length; i += 1) {
      const far = (x[i] - px) ** 2 + (y[i] - py) ** 2;
      if (far < least) [best, least] = [i, far];
    }
    return best;
  };
  const within = ([x1, y1], [x2, y2]) => [...x.keys()].filter((i) =>
    x[i] >= Math.min(x1, x2) && x[i] <= Math.max(x1, x2) && y[i] >= Math.min(y1, y2) && y[i] <= Math.max(y1, y2));

  let from = null; // where a drag began
  let dragged = false;
  const drawBox = (to) => {
    box.style.display = to ? "" : "none";
    if (!to) return;
    box.setAttribute("x", Math.min(from[0], to[0]));
    box.setAttribute("y", Math.min(from[1], to[1]));
    box.setAttribute("width", Math.abs(from[0] - to[0]));
    box.setAttribute("height", Math.abs(from[1] - to[1]));
  };
  drawBox(null);
  const point = (i) => {
    if (i === hover) return;
    hover = i;
    on.hover(i);
    drawMarks();
  };
  svg.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    svg.classList.add("lsat-draw-pointed"); // who points needs no mark where the keys are
    svg.focus({ preventScroll: true });
    from = where(event);
    dragged = false;
    if (event.pointerType !== "touch") {
      svg.setPointerCapture(event.pointerId); // a finger scrolls instead
      event.preventDefault(); // or the text of the page is selected
    }
  });
  svg.addEventListener("pointermove", (event) => {
    const to = where(event);
    if (from && event.pointerType !== "touch" && Math.hypot(to[0] - from[0], to[1] - from[1]) > 4) dragged = true;
    if (dragged) drawBox(to);
    else point(closest(to));
  });
  svg.addEventListener("pointerup", (event) => {
    if (!from) return;
    const to = where(event), additive = event.shiftKey || event.ctrlKey || event.metaKey;
    if (dragged) on.select(within(from, to), additive);
    else {
      const i = closest(to);
      if (i >= 0) cursor = anchor = i;
      if (i < 0) on.leave();
      else if (additive) on.select([i], true);
      else on.pick(i);
    }
    from = null;
    dragged = false;
    drawBox(null);
  });
  svg.addEventListener("pointercancel", () => { from = null; dragged = false; drawBox(null); });
  svg.addEventListener("pointerleave", () => { if (!dragged) point(-1); });
  scroller.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    on.zoom(event.deltaY < 0 ? 1 : -1);
  }, { passive: false });

  // --- what a key means

  const beside = ([right, down]) => {
    let best = cursor, least = Infinity;
    for (let i = 0; i < x.length; i += 1) {
      const dx = x[i] - x[cursor], dy = y[i] - y[cursor];
      const along = dx * right + dy * down, off = Math.abs(dx * down) + Math.abs(dy * right);
      if (along > 0.5 && along + 3 * off < least) [best, least] = [i, along + 3 * off];
    }
    return best;
  };
  const move = (i, extend) => {
    if (extend && anchor < 0) anchor = cursor;
    if (!extend) anchor = -1;
    cursor = i;
    if (extend) on.select(within([x[anchor], y[anchor]], [x[cursor], y[cursor]]), false);
    const view = scroller.getBoundingClientRect(), frame = svg.getBoundingClientRect(), edge = 30;
    const [px, py] = [x[i] + frame.left - view.left, y[i] + frame.top - view.top];
    if (px < edge || px > view.width - edge) scroller.scrollLeft += px - view.width / 2;
    if (py < edge || py > view.height - edge) scroller.scrollTop += py - view.height / 2;
    on.reach(i);
    drawMarks();
  };
  svg.addEventListener("keydown", (event) => {
    const held = event.ctrlKey || event.metaKey;
    if (!x.length || event.altKey) return;
    svg.classList.remove("lsat-draw-pointed");
    if (event.key in STEPS && !held) move(beside(STEPS[event.key]), event.shiftKey);
    else if (event.key === "Home") move(0, event.shiftKey);
    else if (event.key === "End") move(x.length - 1, event.shiftKey);
    else if (event.key === "Enter" || event.key === " ") on.pick(cursor);
    else if (event.key === "Escape") on.leave();
    else if (event.key === "Delete" || event.key === "Backspace") on.clear();
    else if (event.key === "+" || event.key === "=") on.zoom(1);
    else if (event.key === "-") on.zoom(-1);
    else if (held && event.key.toLowerCase() === "a") on.select([...x.keys()], false);
    else return;
    event.preventDefault();
    event.stopPropagation(); // or the notebook's command mode takes the key
  });
  svg.addEventListener("focus", () => { if (now) { on.reach(cursor); drawMarks(); } });
  svg.addEventListener("blur", () => {
    svg.classList.remove("lsat-draw-pointed");
    if (now) drawMarks();
  });

  return {
    node: scroller, svg, backdrop, draw, again: () => now && draw(now, true),
    centre: () => { // the chosen node, or the middle, in the middle
      const i = now.node >= 0 && now.node < x.length ? now.node : -1;
      const [px, py] = i >= 0 ? [x[i], y[i]] : [svg.clientWidth / 2, svg.clientHeight / 2];
      scroller.scrollLeft = px - scroller.clientWidth / 2;
      scroller.scrollTop = py - scroller.clientHeight / 2;
    },
  };
};

// A graph as SVG: paths for the edges of each graph, a path for all nodes, and marks above them. Positions come in the unit
// square; here is only where they are on the screen.

const COLOURS = 6; // of graphs, as the style sheet has them
const TALLEST = 520; // px at zoom 1

// What is drawn: bytes of places (Float32), groups of edges (Int32, two ends an edge), names, marks. `on` is told what was
// meant by hand.
const graphDrawing = (on) => {
  const svg = make("svg", { tabindex: "0", role: "application", "aria-roledescription": "graph" });
  const layer = (name, tag = "g") => {
    const node = make(tag, { class: `lsat-draw-${name}` });
    svg.append(node);
    return node;
  };
  const drawGroups = edgeLayer(layer("edges")), near = layer("near", "path"), nodes = layer("nodes", "path");
  const selected = layer("selected", "path"), marks = layer("marks"), names = graphNames(layer("names"));
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
  let places = [], radius = 2;
  // where the nodes are and how far apart, px; which of them the pointer and the keys are at
  const at = { x: [], y: [], gap: 10, hover: -1, cursor: 0 };
  let aside = 0; // how far the edges of the edited graph lie beside those of others, px

  const lay = () => {
    const { frame, zoom } = now;
    const n = places.length / 2, kind = frame.placement;
    const flat = kind === "line", page = scroller.clientWidth;
    const across = Math.max(120, kind === "image" ? Math.min(page, TALLEST * frame.aspect) : page);
    const width = Math.floor(across * zoom);
    const tallest = kind === "image" ? width / frame.aspect : Math.min(across, TALLEST) * zoom;
    const pad = names.margins(kind, now.names, width, tallest, frame.spacing * width);
    const height = flat ? 150 + pad[3] : Math.floor(tallest);
    const [left, right, top, bottom] = pad;
    const round = kind === "circle" ? Math.min(width - left - right, height - top - bottom) : 0; // a circle stays one
    const [wide, tall] = round ? [round, round] : [width - left - right, height - top - bottom];
    const [fromX, fromY] = round ? [(width - round) / 2, (height - round) / 2] : [left, top];
    at.x = new Float32Array(n);
    at.y = new Float32Array(n);
    for (let i = 0; i < n; i += 1) {
      at.x[i] = fromX + places[2 * i] * wide;
      at.y[i] = fromY + places[2 * i + 1] * tall;
    }
    at.gap = frame.spacing * Math.min(wide, kind === "networkx" ? tall : wide);
    radius = clamp(at.gap * 0.13, 1.3, 5);
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    backdrop.style.width = `${width}px`;
    backdrop.style.height = `${height}px`;
    names.draw(kind, at, radius, width, height);
  };

  const segment = (a, b, shift) => {
    const { x, y } = at;
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

  const drawEdges = (anew) => {
    const stroke = clamp(at.gap * 0.09, 0.8, 2.4), apart = clamp(at.gap * 0.13, 1.4, 4);
    drawGroups(now.groups.map(({ ends, active }, slot) => {
      const shift = (slot - (now.groups.length - 1) / 2) * apart, colour = `var(--lsat-graph-${slot % COLOURS})`;
      if (active) {
        aside = shift;
        near.style.stroke = colour;
      }
      return {
        ends, colour, active, width: active ? stroke : Math.max(0.7, stroke * 0.6),
        segment: (a, b) => segment(a, b, shift),
      };
    }), anew);
    near.style.strokeWidth = stroke + 2.4;
  };

  const dots = (list) => list.map((i) => `M${tenth(at.x[i])} ${tenth(at.y[i])}h0`).join("");
  const drawNodes = () => {
    nodes.setAttribute("d", dots([...at.x.keys()]));
    nodes.style.strokeWidth = 2 * radius;
    selected.style.strokeWidth = 2 * radius + 4;
  };

  const drawMarks = () => {
    const { x, y, hover, cursor } = at, focused = document.activeElement === svg;
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
    const before = anew || !at.x.length ? {} : now;
    const other = (...parts) => parts.some((part) => before[part] !== next[part]);
    now = next;
    if (!scroller.clientWidth) return; // not on the page yet
    const moved = other("places", "frame", "zoom", "names");
    if (moved) {
      places = numbers(next.places, Float32Array);
      at.cursor = clamp(at.cursor, 0, Math.max(0, places.length / 2 - 1));
      at.hover = at.hover < places.length / 2 ? at.hover : -1;
      lay();
      drawNodes();
    }
    drawEdges(moved || before.groups.length !== next.groups.length); // of which those are drawn that are others now
    drawMarks();
  };

  graphHands({ svg, scroller, box, at, marks: () => now && drawMarks(), ready: () => now !== null }, on);

  return {
    node: scroller, svg, backdrop, draw, again: () => now && draw(now, true),
    centre: () => { // the chosen node, or the middle, in the middle
      const i = now.node >= 0 && now.node < at.x.length ? now.node : -1;
      const [px, py] = i >= 0 ? [at.x[i], at.y[i]] : [svg.clientWidth / 2, svg.clientHeight / 2];
      scroller.scrollLeft = px - scroller.clientWidth / 2;
      scroller.scrollTop = py - scroller.clientHeight / 2;
    },
  };
};

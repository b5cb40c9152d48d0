// What a step does, drawn: the curve with the histograms before and after it, knots to drag, archetypes with bars.

const SVG = "http://www.w3.org/2000/svg";
const svg = (tag, attributes = {}, ...children) => {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") node.textContent = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
};
const scale = ({ low, high }, from, to) => (value) => from + ((value - low) / (high - low)) * (to - from);
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

const HEIGHT = 292, LEFT = 46, BELOW = 58, BESIDE = 76, AXIS = 18, TOP = 8;

const ticks = (axis, place, text) => axis.at.map((value, i) => [place(value), axis.texts[i]])
  .map(([at, label]) => text(at, label));

// bars of a histogram, upright from `base` or lying to the right of it
const bars = ({ low, high, counts }, place, base, size, lying, name) => {
  const most = Math.max(1, ...counts), step = (high - low) / counts.length;
  return counts.map((count, i) => {
    if (!count) return null;
    const [a, b] = [place(low + i * step), place(low + (i + 1) * step)].sort((x, y) => x - y);
    const long = Math.max(1.5, (count / most) * size), wide = Math.max(0.8, b - a - 0.8);
    return lying ? svg("rect", { class: name, x: base, y: a, width: long, height: wide })
      : svg("rect", { class: name, x: a, y: base - long, width: wide, height: long });
  }).filter(Boolean);
};

// One column: the histogram before it below, the curve above it, the histogram of the feature on the right.
function columnPlot(moveKnot) {
  const node = svg("svg", { class: "lsat-features-plot", role: "group" });
  const still = svg("g", { "aria-hidden": "true" }), handles = svg("g");
  node.append(still, handles);
  let look = null, width = 0, dragged = null, place = null;

  const draw = () => {
    if (!look || width < 120) return;
    node.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    node.setAttribute("height", String(HEIGHT));
    const curved = look.curves.length > 0;
    const what = look.after ? ", histogram after it" : "";
    node.setAttribute("aria-label", `${look.before_name}: histogram before the step${curved ? ", curve of the step" : ""}${what}`);
    if (curved) drawCurves();
    else drawPair();
  };

  const drawCurves = () => {
    const right = width - (look.after ? BESIDE + 8 : 8), floor = HEIGHT - BELOW - AXIS - 6, base = HEIGHT - AXIS;
    const x = scale(look.x, LEFT, right), y = scale(look.y, floor - 4, TOP + 4);
    const parts = [
      svg("rect", { class: "lsat-features-frame", x: LEFT, y: TOP, width: right - LEFT, height: floor - TOP }),
      ...ticks(look.y, y, (at, label) => svg("g", {},
        svg("line", { class: "lsat-features-grid", x1: LEFT, x2: right, y1: at, y2: at }),
        svg("text", { x: LEFT - 5, y: at + 4, "text-anchor": "end", text: label }))),
      ...ticks(look.x, x, (at, label) => svg("g", {},
        svg("line", { class: "lsat-features-grid", x1: at, x2: at, y1: TOP, y2: base }),
        svg("text", { x: at, y: HEIGHT - 4, "text-anchor": "middle", text: label }))),
      ...bars(look.before, x, base, BELOW - 4, false, "lsat-features-before"),
      svg("line", { class: "lsat-features-line", x1: LEFT, x2: right, y1: base, y2: base }),
      ...look.curves.map((curve) => svg("polyline", {
        class: "lsat-features-curve", points: curve.map((value, i) => `${x(look.grid[i])},${y(value)}`).join(" "),
      })),
    ];
    if (look.after) parts.push(...bars(look.after, y, right + 8, BESIDE - 6, true, "lsat-features-after"));
    still.replaceChildren(...parts);
    place = { x, right, floor };
    drawKnots();
  };

  // no function of this column alone: what comes in and what goes out, side by side
  const drawPair = () => {
    const middle = width / 2, base = HEIGHT / 2 - AXIS;
    const panel = (bins, from, to, name) => {
      const x = scale(bins, from, to);
      return [
        ...bars(bins, x, base, base - TOP, false, name),
        svg("line", { class: "lsat-features-line", x1: from, x2: to, y1: base, y2: base }),
        ...ticks(bins.axis, x, (at, label) => svg("text", { x: at, y: base + 14, "text-anchor": "middle", text: label })),
      ];
    };
    still.replaceChildren(
      ...panel(look.before, 12, middle - 14, "lsat-features-before"),
      ...(look.after ? panel(look.after, middle + 14, width - 12, "lsat-features-after") : []),
    );
    node.setAttribute("viewBox", `0 0 ${width} ${HEIGHT / 2 + 4}`);
    node.setAttribute("height", String(HEIGHT / 2 + 4));
    handles.replaceChildren();
  };

  const shareAt = (value) => {
    const { table } = look.knots;
    let i = table.findIndex((at) => at >= value);
    if (i < 0) i = table.length - 1;
    const [a, b] = [table[Math.max(0, i - 1)], table[i]];
    return (Math.max(0, i - 1) + (b > a && i > 0 ? (value - a) / (b - a) : 0)) / (table.length - 1);
  };
  const placeOf = (share) => {
    const { table } = look.knots;
    const at = clamp(share, 0, 1) * (table.length - 1), i = Math.min(Math.floor(at), table.length - 2);
    return table[i] + (at - i) * (table[i + 1] - table[i]);
  };

  const drawKnots = () => {
    const shares = look.knots ? look.knots.shares : [];
    if (dragged !== null) return; // while it is dragged the hand is right
    if (handles.children.length !== shares.length) handles.replaceChildren(...shares.map((_, i) => newKnot(i)));
    shares.forEach((share, i) => setKnot(i, share, look.knots.at[i]));
  };
  const setKnot = (i, share, at) => {
    const knot = handles.children[i], x = place.x(at), count = handles.children.length;
    knot.querySelector("line").setAttribute("y2", place.floor);
    knot.setAttribute("transform", `translate(${x} 0)`);
    for (const part of knot.querySelectorAll("circle")) part.setAttribute("cy", place.floor);
    const words = look.knots.by_rows ? "of the rows below" : "of the range below";
    const said = `knot ${i + 1} of ${count}: ${number(100 * share)} % ${words}, at ${number(at)}`;
    knot.setAttribute("aria-valuenow", String(Math.round(100 * share)));
    knot.setAttribute("aria-valuetext", said);
    knot.querySelector("title").textContent = `${said}. Drag, or use the arrow keys.`;
  };
  const put = (i, share, last) => {
    const { shares } = look.knots;
    const low = (i > 0 ? shares[i - 1] : 0) + 0.005, high = (i < shares.length - 1 ? shares[i + 1] : 1) - 0.005;
    const next = Number(clamp(share, low, high).toFixed(3));
    look.knots.shares = shares.map((old, j) => (j === i ? next : old));
    look.knots.at = look.knots.at.map((old, j) => (j === i ? placeOf(next) : old));
    setKnot(i, next, look.knots.at[i]);
    moveKnot(look.knots.shares, i, last);
  };
  const newKnot = (i) => {
    const knot = svg("g", {
      class: "lsat-features-knot", role: "slider", tabindex: "0", "aria-label": `Knot ${i + 1}`,
      "aria-valuemin": "0", "aria-valuemax": "100", "data-key": `knot:${i}`,
    }, svg("title"), svg("line", { y1: TOP, x1: 0, x2: 0 }), svg("circle", { class: "lsat-features-reach", r: 13 }), svg("circle", { r: 6 }));
    knot.addEventListener("pointerdown", (event) => {
      dragged = i;
      knot.setPointerCapture(event.pointerId);
      knot.focus({ preventScroll: true });
      event.preventDefault();
    });
    const valueAt = (event) => {
      const box = node.getBoundingClientRect();
      const at = ((event.clientX - box.left) / box.width) * width;
      return look.x.low + ((at - LEFT) / (place.right - LEFT)) * (look.x.high - look.x.low);
    };
    knot.addEventListener("pointermove", (event) => { if (dragged === i) put(i, shareAt(valueAt(event)), false); });
    const end = () => {
      if (dragged !== i) return;
      dragged = null;
      moveKnot(look.knots.shares, i, true);
    };
    knot.addEventListener("pointerup", end);
    knot.addEventListener("pointercancel", end);
    knot.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -0.01, ArrowDown: -0.01, ArrowRight: 0.01, ArrowUp: 0.01, PageDown: -0.1, PageUp: 0.1, Home: -1, End: 1 }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      put(i, look.knots.shares[i] + by, true);
    });
    return knot;
  };

  const watch = new ResizeObserver(([entry]) => {
    const next = Math.round(clamp(entry.contentRect.width, 0, 640));
    if (next !== width) { width = next; draw(); }
  });
  const frame = dom("div", { class: "lsat-features-frame-box" }, node);
  watch.observe(frame);
  return {
    node: frame,
    update(next) {
      look = dragged === null ? structuredClone(next) : { ...structuredClone(next), knots: look.knots };
      draw();
    },
    end: () => watch.disconnect(),
  };
}

// one image of a sprite as the background of a node
const part = (node, { shape: [height, width], across, total }, place, url) => {
  const down = Math.ceil(total / across), column = place % across, line = Math.floor(place / across);
  node.style.aspectRatio = `${width} / ${height}`;
  node.style.backgroundImage = url ? `url("${url}")` : "";
  node.style.backgroundSize = `${across * 100}% ${down * 100}%`;
  node.style.backgroundPosition =
    `${across > 1 ? (column / (across - 1)) * 100 : 0}% ${down > 1 ? (line / (down - 1)) * 100 : 0}%`;
  node.style.imageRendering = Math.max(height, width) <= 40 ? "pixelated" : "auto";
};

// a row that is no image: its deviations from the mean
const smallGraph = (values) => {
  const node = svg("svg", { viewBox: "0 0 100 60", preserveAspectRatio: "none", "aria-hidden": "true" });
  const step = 100 / values.length, y = (value) => 30 - value * 9;
  node.append(svg("line", { class: "lsat-features-grid", x1: 0, x2: 100, y1: 30, y2: 30 }));
  values.forEach((value, i) => node.append(svg("rect", {
    class: "lsat-features-after", x: (i + 0.1) * step, width: 0.8 * step,
    y: Math.min(30, y(value)), height: Math.max(0.6, Math.abs(value) * 9),
  })));
  return node;
};

// Archetypes, or what else a step is made of, as tiles; with the closeness of one row under each where it is known.
function tiles(look, url) {
  const { images, closeness } = look;
  const picture = (place) => {
    const frame = dom("div", { class: "lsat-features-image" });
    if (images.graphs) frame.append(smallGraph(images.graphs[place]));
    else part(frame, images, place, url);
    return frame;
  };
  const most = closeness ? Math.max(...closeness, 1e-12) : 1;
  const list = dom("div", { class: "lsat-features-tiles", role: "list", tabindex: "0", "aria-label": closeness ? "Archetypes" : images.title });
  list.classList.toggle("lsat-features-long", images.captions.some((caption) => caption.length > 4));
  images.captions.forEach((caption, i) => {
    const tile = dom("div", { class: "lsat-features-tile", role: "listitem" }, picture(closeness ? i + 1 : i));
    const line = dom("div", { class: "lsat-features-caption" }, dom("b", { text: caption }));
    let said = `${closeness ? "archetype" : "part"} ${i + 1}`;
    if (closeness) {
      said = `archetype ${i + 1}, mostly ${caption}: closeness ${number(closeness[i])}`;
      line.append(dom("span", { text: closeness[i] < 0.005 ? "0" : closeness[i].toFixed(2).replace(/^0/, "") }));
      const bar = dom("div", { class: "lsat-features-bar" }, dom("div"));
      bar.firstChild.style.width = `${(100 * closeness[i]) / most}%`;
      tile.append(bar);
      tile.classList.toggle("lsat-features-nearest", closeness[i] === most);
    }
    tile.append(line);
    tile.title = said;
    tile.setAttribute("aria-label", said);
    list.append(tile);
  });
  return { list, row: closeness ? picture(0) : null };
}

// What a pointer and the keys mean on the drawing of a graph. `at` says where the nodes are, and keeps which of them the
// pointer and the keys are at; `on` is told what was meant.

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

const within = ({ x, y }, [x1, y1], [x2, y2]) => [...x.keys()].filter((i) =>
  x[i] >= Math.min(x1, x2) && x[i] <= Math.max(x1, x2) && y[i] >= Math.min(y1, y2) && y[i] <= Math.max(y1, y2));

const graphHands = (place, on) => {
  let anchor = -1; // where a box of nodes began
  const pick = (i) => {
    place.at.cursor = anchor = i;
    return i;
  };
  graphPointer(place, on, pick);
  graphKeys(place, on, { get: () => anchor, set: (i) => { anchor = i; } });
};

const graphPointer = ({ svg, scroller, box, at, marks }, on, pick) => {
  const where = (event) => {
    const frame = svg.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  };
  const closest = ([px, py]) => {
    const { x, y, gap } = at, reach = clamp(gap * 0.6, 9, 26);
    let best = -1, least = reach * reach;
    for (let i = 0; i < x.length; i += 1) {
      const far = (x[i] - px) ** 2 + (y[i] - py) ** 2;
      if (far < least) [best, least] = [i, far];
    }
    return best;
  };

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
    if (i === at.hover) return;
    at.hover = i;
    on.hover(i);
    marks();
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
    if (dragged) on.select(within(at, from, to), additive);
    else {
      const i = closest(to);
      if (i < 0) on.leave();
      else if (additive) on.select([pick(i)], true);
      else on.pick(pick(i));
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
};

const graphKeys = ({ svg, scroller, at, marks, ready }, on, anchor) => {
  const beside = ([right, down]) => {
    const { x, y, cursor } = at;
    let best = cursor, least = Infinity;
    for (let i = 0; i < x.length; i += 1) {
      const dx = x[i] - x[cursor], dy = y[i] - y[cursor];
      const along = dx * right + dy * down, off = Math.abs(dx * down) + Math.abs(dy * right);
      if (along > 0.5 && along + 3 * off < least) [best, least] = [i, along + 3 * off];
    }
    return best;
  };
  const move = (i, extend) => {
    if (extend && anchor.get() < 0) anchor.set(at.cursor);
    if (!extend) anchor.set(-1);
    at.cursor = i;
    const { x, y } = at, first = anchor.get();
    if (extend) on.select(within(at, [x[first], y[first]], [x[i], y[i]]), false);
    const view = scroller.getBoundingClientRect(), frame = svg.getBoundingClientRect(), edge = 30;
    const [px, py] = [x[i] + frame.left - view.left, y[i] + frame.top - view.top];
    if (px < edge || px > view.width - edge) scroller.scrollLeft += px - view.width / 2;
    if (py < edge || py > view.height - edge) scroller.scrollTop += py - view.height / 2;
    on.reach(i);
    marks();
  };
  svg.addEventListener("keydown", (event) => {
    const held = event.ctrlKey || event.metaKey, last = at.x.length - 1;
    if (last < 0 || event.altKey) return;
    svg.classList.remove("lsat-draw-pointed");
    if (event.key in STEPS && !held) move(beside(STEPS[event.key]), event.shiftKey);
    else if (event.key === "Home") move(0, event.shiftKey);
    else if (event.key === "End") move(last, event.shiftKey);
    else if (event.key === "Enter" || event.key === " ") on.pick(at.cursor);
    else if (event.key === "Escape") on.leave();
    else if (event.key === "Delete" || event.key === "Backspace") on.clear();
    else if (event.key === "+" || event.key === "=") on.zoom(1);
    else if (event.key === "-") on.zoom(-1);
    else if (held && event.key.toLowerCase() === "a") on.select([...at.x.keys()], false);
    else return;
    event.preventDefault();
    event.stopPropagation(); // or the notebook's command mode takes the key
  });
  svg.addEventListener("focus", () => { if (ready()) { on.reach(at.cursor); marks(); } });
  svg.addEventListener("blur", () => {
    svg.classList.remove("lsat-draw-pointed");
    if (ready()) marks();
  });
};

// The edges of the drawn graphs: a group for each graph, and in it a path for the edges of some neighbouring nodes. An edge
// that comes or goes changes one short path, and the page paints the place around it alone.

const BAND = 32; // nodes whose edges, to those that follow, are one path

const edgeLayer = (layer) => {
  const drawn = []; // of each graph its group, and of each band of it a path with the ends it was drawn from
  const alike = (a, b) => a.length === b.length && a.every((end, i) => end === b[i]);

  const drawBands = ({ node, bands }, ends, segment, anew) => {
    const left = new Set(bands.keys());
    for (let from = 0, to = 0; from < ends.length; from = to) { // edges come in the order of their nodes
      const band = Math.floor(ends[from] / BAND);
      while (to < ends.length && Math.floor(ends[to] / BAND) === band) to += 2;
      const mine = ends.subarray(from, to), old = bands.get(band);
      left.delete(band);
      if (old && !anew && alike(old.ends, mine)) continue;
      const parts = [];
      for (let i = 0; i < mine.length; i += 2) parts.push(segment(mine[i], mine[i + 1]));
      const path = old ? old.path : make("path");
      path.setAttribute("d", parts.join(""));
      if (!old) node.append(path);
      bands.set(band, { path, ends: mine });
    }
    for (const band of left) {
      bands.get(band).path.remove();
      bands.delete(band);
    }
  };

  // `graphs`: the ends of each, Int32, two an edge; its colour and width in px; whether it is the edited one; and
  // `segment(a, b)`, path data of an edge. `anew` says that segments are others than before.
  return (graphs, anew) => {
    while (drawn.length > graphs.length) drawn.pop().node.remove();
    graphs.forEach(({ ends, colour, width, active, segment }, slot) => {
      if (!drawn[slot]) {
        drawn[slot] = { node: make("g"), bands: new Map() };
        layer.append(drawn[slot].node);
      }
      const { node } = drawn[slot], look = `${colour} ${width} ${active}`;
      if (node.dataset.look !== look) {
        node.dataset.look = look;
        node.style.stroke = colour;
        node.style.strokeWidth = width;
        node.classList.toggle("lsat-draw-active", active);
      }
      drawBands(drawn[slot], ends, segment, anew);
    });
  };
};

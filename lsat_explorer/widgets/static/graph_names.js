// Names of nodes in the drawing: as many as there is room for, and none over another. Where nodes stand in a row every
// second, fifth, tenth … is named; where they stand anywhere a name goes to the side that is free, or is left out.

const LETTERS = 16; // of a name at most
const LEAST = 30; // px: in less than that no name can be told from another
const ROOMY = 90; // px between the nodes of an image from which there is room for names
const LINE = 14; // px from one line of letters to the next
const LEVEL = 16; // nodes on a circle up to which names are written level, and not along its rays
const SLOPE = 50; // degrees, of names below a line

// How many steps from one name to the next, where `room` of them are needed.
const everyNth = (room) => {
  for (let ten = 1; ; ten *= 10) for (const step of [1, 2, 5]) if (step * ten >= room) return step * ten;
};

const graphNames = (layer) => {
  const pen = document.createElement("canvas").getContext("2d");
  const wide = (text) => pen.measureText(text).width;
  let whole = null, most = 0; // what is written now: names, and the widest that they may be
  let short = [], longest = 0;

  const shorten = (name) => {
    let text = name.length > LETTERS ? `${name.slice(0, LETTERS - 1)}…` : name;
    while (text.length > 2 && wide(text) > most) text = `${text.slice(0, -2)}…`;
    return text;
  };
  const fit = (names, room) => { // returns how wide the widest is
    if (room < LEAST) [whole, longest] = [null, 0];
    if (room < LEAST || (names === whole && room === most)) return longest;
    pen.font = `11px ${getComputedStyle(layer).fontFamily}`;
    [whole, most] = [names, room];
    short = names.map(shorten);
    longest = Math.ceil(Math.max(0, ...short.map(wide)));
    return longest;
  };

  // The margins [left, right, top, bottom] that names take, px; `gap` is what lies between nodes of an image.
  const margins = (kind, names, width, height, gap) => {
    if (kind === "image") {
      fit(names, gap >= ROOMY ? gap - 8 : 0);
      return [0, 0, 0, 0];
    }
    const long = fit(names, kind === "line" ? 120 : 0.24 * Math.min(width, height));
    const level = names.length <= LEVEL;
    if (kind === "line" && long + 6 <= (width - 16) / names.length) return [8, 8, 8, 22];
    return {
      line: [8 + 0.65 * long, 8, 8, 20 + 0.8 * long],
      circle: level ? [14 + long, 14 + long, 22, 22] : Array(4).fill(14 + long),
      networkx: [14, 16 + long, 14, 16],
    }[kind];
  };

  const write = (i, x, y, anchor, turn = 0) => {
    const text = make("text", { x: tenth(x), y: tenth(y), "text-anchor": anchor });
    text.textContent = short[i];
    if (short[i] !== whole[i]) {
      const title = make("title");
      title.textContent = whole[i];
      text.append(title);
    }
    if (turn) text.setAttribute("transform", `rotate(${tenth(turn)} ${tenth(x)} ${tenth(y)})`);
    return text;
  };
  const every = (n, step, round = false) => { // on a circle the last is next to the first
    const found = [];
    for (let i = 0; i < n && (!round || !i || n - i >= step); i += step) found.push(i);
    return found;
  };

  const below = ({ x, y }, radius) => [...x.keys()].map((i) => write(i, x[i], y[i] + radius + 11, "middle"));

  const along = ({ x, y, gap }, radius) => {
    if (longest + 6 <= gap) return below({ x, y }, radius);
    const step = everyNth(LINE / Math.sin((SLOPE * Math.PI) / 180) / gap);
    return every(x.length, step).map((i) => write(i, x[i] + 3, y[i] + radius + 8, "end", -SLOPE));
  };

  const around = ({ x, y }, radius) => {
    const n = x.length, far = radius + 6, cap = 4; // half the height of a letter, which hangs on its base line
    const size = n > 1 ? Math.hypot(x[1] - x[0], y[1] - y[0]) / (2 * Math.sin(Math.PI / n)) : 0; // of the circle
    const level = n <= LEVEL && (n < 3 || size * (1 - Math.cos((2 * Math.PI) / n)) >= LINE / 2);
    const step = level ? 1 : everyNth(LINE / (2 * (size + far) * Math.sin(Math.PI / n)));
    return every(n, step, true).map((i) => {
      const ray = (2 * Math.PI * i) / n - Math.PI / 2; // 0 is to the right, and it turns clockwise
      const [across, down] = [Math.cos(ray), Math.sin(ray)];
      const anchor = level && Math.abs(across) < 0.1 ? "middle" : across > -1e-9 ? "start" : "end";
      const [px, py] = [x[i] + far * across, y[i] + far * down];
      if (level) return write(i, px, py + (anchor === "middle" ? (down > 0 ? 2 * cap : 0) : cap), anchor);
      const turn = (ray * 180) / Math.PI + (anchor === "end" ? 180 : 0);
      const off = (turn * Math.PI) / 180 + Math.PI / 2; // from the middle of the letters to their base line
      return write(i, px + cap * Math.cos(off), py + cap * Math.sin(off), anchor, turn);
    });
  };

  const free = ({ x, y }, radius, width, height) => {
    const far = radius + 5, taken = [], found = [];
    const dots = [...x.keys()].map((i) => [x[i] - radius, y[i] - radius, x[i] + radius, y[i] + radius]);
    const apart = (a, b) => a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1];
    for (const i of x.keys()) {
      const long = wide(short[i]);
      const sides = [
        [x[i] + far, y[i] + 4, "start", 0], [x[i] - far, y[i] + 4, "end", -1],
        [x[i], y[i] - far, "middle", -0.5], [x[i], y[i] + far + 9, "middle", -0.5],
      ];
      for (const [px, py, anchor, shift] of sides) {
        const box = [px + shift * long - 2, py - 10, px + (shift + 1) * long + 2, py + LINE - 10];
        if (box[0] < 0 || box[1] < 0 || box[2] > width || box[3] > height) continue;
        if (!taken.every((other) => apart(box, other)) || !dots.every((dot, j) => j === i || apart(box, dot))) continue;
        taken.push(box);
        found.push(write(i, px, py, anchor));
        break;
      }
    }
    return found;
  };

  return {
    margins,
    // `at` has the places x and y, px, and how far apart nodes usually are; `width` and `height` are those of the drawing.
    draw: (kind, at, radius, width, height) => {
      const written = { image: below, line: along, circle: around, networkx: free }[kind];
      layer.replaceChildren(...(longest ? written(at, radius, width, height) : []));
    },
  };
};

// A row as an image out of a sprite, or as a small graph of its features.

const SVG = "http://www.w3.org/2000/svg";
const svg = (tag, attributes = {}) => {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
};
const counted = (count, noun) => `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
const titled = (text, title, act) => {
  const node = dom("button", { type: "button", text, title });
  node.addEventListener("click", act);
  return node;
};

// What stands there already is left alone: hundreds of tiles are written at once, and a page that turns changes few words.
const say = (node, text) => {
  const now = node.firstChild;
  if (now === null) { if (text) node.textContent = text; } else if (now.data !== text) now.data = text;
};
const state = (node, name, value) => { if (node.getAttribute(name) !== value) node.setAttribute(name, value); };

// Place in a sprite of `count` images, `across` of them in a line; a picture of one row is a sprite of one. What turning
// a page does not change is left alone: hundreds of frames are painted at once.
function paint(frame, shape, url, place = 0, across = 1, count = 1) {
  let image = frame.firstElementChild;
  if (!image || !image.classList.contains("lsat-browser-image")) {
    frame.classList.remove("lsat-browser-graph");
    image = dom("div", { class: "lsat-browser-image" });
    frame.replaceChildren(image);
  }
  if (image.lsatUrl !== url) {
    image.lsatUrl = url;
    image.style.backgroundImage = url ? `url("${url}")` : "";
  }
  const cut = [shape, place, across, count].join();
  if (image.dataset.cut === cut) return;
  image.dataset.cut = cut;
  const [height, width] = shape, down = Math.ceil(count / across);
  const column = place % across, line = Math.floor(place / across);
  image.style.width = `${Math.min(1, width / height) * 100}%`;
  image.style.height = `${Math.min(1, height / width) * 100}%`;
  image.style.backgroundSize = `${across * 100}% ${down * 100}%`;
  image.style.backgroundPosition =
    `${across > 1 ? (column / (across - 1)) * 100 : 0}% ${down > 1 ? (line / (down - 1)) * 100 : 0}%`;
  image.style.imageRendering = Math.max(height, width) <= 40 ? "pixelated" : "auto";
}

const DEVIATION = "Each feature's distance from its mean over the training rows, -3 to 3 standard deviations";

// deviations from the mean, -3 to 3: bars where they are few, a line where they are many
function plot(frame, values) {
  frame.classList.add("lsat-browser-graph");
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
  frame.replaceChildren(node);
}

// the picture in some bytes as an address: decoded before it is handed over, so that nothing flickers
async function decoded(bytes) {
  if (!bytes || !bytes.byteLength) return null;
  const url = URL.createObjectURL(new Blob([bytes], { type: "image/png" }));
  const image = new Image();
  image.src = url;
  try { await image.decode(); } catch { /* a picture that cannot be read leaves an empty frame, with its words */ }
  return url;
}

// The address of the picture in a trait of bytes, read again by `read` and given back by `end`; `draw` shows the newest.
function pictureOf(model, trait, draw) {
  const now = { url: null };
  let turn = 0;
  now.read = async () => {
    const mine = ++turn, fresh = await decoded(model.get(trait));
    if (mine !== turn) { if (fresh) URL.revokeObjectURL(fresh); return; }
    if (now.url) URL.revokeObjectURL(now.url);
    now.url = fresh;
    draw();
  };
  now.end = () => { turn++; if (now.url) URL.revokeObjectURL(now.url); };
  return now;
}

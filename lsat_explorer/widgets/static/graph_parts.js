// What the cards of the graph editor are made of. What a hand does in a card is told to Python in messages, which stay in
// their order, and Python answers with traits; nothing of a graph is decided here.

const SETTLE = 120; // ms a slider rests before its value is told
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
const counted = (count, noun) => `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
let views = 0; // a datalist is found by an id

const button = (text, title, act, kind = "") => {
  const node = dom("button", { type: "button", text, title });
  if (kind) node.className = kind;
  node.addEventListener("click", act);
  return node;
};
const labelled = (text, control) => dom("label", {}, dom("span", { class: "lsat-muted", text }), control);
const textField = (title, more = {}) =>
  dom("input", { type: "text", spellcheck: "false", autocomplete: "off", title, ...more });
const card = (title, ...content) => {
  const heading = dom("span", { class: "lsat-strong", text: title });
  const facts = dom("span", { class: "lsat-muted lsat-push" });
  const node = dom("section", { class: "lsat-card lsat-editor-card", "aria-label": title },
    dom("div", { class: "lsat-row" }, heading, facts), ...content);
  return { node, heading, facts };
};
const download = (name, text) => {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  const link = dom("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
};

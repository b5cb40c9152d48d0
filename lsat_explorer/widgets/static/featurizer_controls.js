// Controls of one step's fields: what is typed or dragged goes to Python as it is, which says what is wrong with it.

const counted = (count, noun) => `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
const REST = 700; // ms without a move after which the next one is a change of its own, to be undone by itself
const PACE = 70; // ms between two messages of a drag
const LATE = 3000; // ms after which Python is right, whatever the hand wanted

const parse = (text) => {
  const plain = typedNumber(text);
  const value = Number(plain);
  return plain !== "" && Number.isFinite(value) ? value : text.trim();
};
const parseList = (text) => {
  const parts = text.split(/[\s,;×]+/).filter(Boolean);
  return parts.length && parts.every((word) => Number.isFinite(Number(word))) ? parts.map(Number) : text.trim();
};
const written = (value, whole) => {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.join(", ");
  return typeof value === "number" ? number(value, whole && Number.isInteger(value)) : String(value);
};

// Messages of one drag share a gesture, and come no faster than they can be followed.
function pacing(send) {
  const me = Math.random().toString(36).slice(2);
  let last = 0, count = 0, timer = null, waiting = null, dragged = null;
  const go = () => {
    timer = null;
    if (waiting) send(waiting);
    waiting = null;
  };
  return (message, key) => {
    const now = performance.now();
    if (now - last > REST || key !== dragged) count += 1;
    dragged = key;
    last = now;
    waiting = { ...message, gesture: `${me}-${count}` };
    if (timer === null) timer = setTimeout(go, PACE);
  };
}

// A text field that says what was typed when it is left or Enter is pressed.
const typedField = (attributes, take) => {
  const field = dom("input", { type: "text", autocomplete: "off", spellcheck: "false", ...attributes });
  let shown = "";
  const done = () => { if (field.value !== shown) { shown = field.value; take(field.value); } };
  field.addEventListener("change", done);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") done();
    if (event.key === "Escape") field.value = shown;
  });
  return {
    node: field,
    show(text) {
      if (field.value !== shown && document.activeElement === field) return; // somebody is typing
      shown = text;
      field.value = text;
    },
  };
};

// One field of a step: its name, a slider where it has ends, a field for its value, a reset.
function controlLine(first, { set, drag, each }) {
  let control = first, sent = null, later = null; // sent: what the hand wants, until Python says the same
  const { label, meaning, unit, form } = first;
  const title = unit ? `${meaning} (${unit})` : meaning;
  const name = dom("div", { class: "lsat-features-name", title }, dom("span", { text: label }));
  if (unit) name.append(dom("span", { class: "lsat-muted lsat-small", text: unit }));
  const node = dom("div", { class: "lsat-features-control", "data-field": first.name }, name);
  const key = (what) => ({ "data-key": `${what}:${first.name}` });

  if (form === "flag") {
    const box = dom("input", { type: "checkbox", title, ...key("flag") });
    const said = dom("label", { title, class: "lsat-features-wide" }, box, label);
    box.addEventListener("change", () => set(box.checked));
    node.replaceChildren(said);
    return { node, update: (next) => { box.checked = next.value === true; } };
  }
  if (form === "choice") {
    const select = dom("select", { "aria-label": label, title, ...key("choice") });
    select.append(...first.choices.map((value) => dom("option", { value, text: value })));
    select.addEventListener("change", () => set(select.value));
    select.classList.add("lsat-features-wide");
    node.append(select);
    return { node, update: (next) => { select.value = next.value; } };
  }

  const whole = form === "whole" || form === "knots";
  const numeric = whole || form === "number";
  const ranged = numeric && first.low !== null && first.high !== null;
  const read = numeric ? parse : form === "list" ? parseList : (text) => text;
  const field = typedField({
    "aria-label": ranged ? `${label}, value` : label, title, placeholder: first.empty || "",
    class: numeric ? "lsat-number" : "", inputmode: numeric ? "decimal" : "text", ...key("field"),
  }, (text) => set(text.trim() === "" && first.empty !== null ? null : read(text)));
  const reset = dom("button", { type: "button", class: "lsat-reset", text: "↺", "aria-label": `Reset ${label}`, ...key("reset") });
  reset.addEventListener("click", () => set(control.default));
  const slider = ranged ? dom("input", { type: "range", min: "0", max: String(POSITIONS), step: "1", "aria-label": label, title, ...key("slider") }) : null;
  const amount = (value) => (form === "knots" && Array.isArray(value) ? value.length : value);
  const ends = () => {
    const held = [amount(control.value), control.start].filter((value) => typeof value === "number");
    return { low: Math.min(control.low, ...held), high: Math.max(control.high, ...held), log: control.log, whole };
  };
  const move = (value) => {
    sent = value;
    show({ ...control, value });
    drag(value);
  };
  if (slider) {
    slider.addEventListener("input", () => move(sliderValue(ends(), Number(slider.value))));
    slider.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      const { low, high } = ends(), present = amount(control.value) ?? control.start ?? low;
      const next = whole ? present + by : Number((present + (by * (high - low)) / 100).toPrecision(4));
      move(clamp(next, low, high));
    });
  }
  const show = (next) => {
    control = next;
    field.show(written(amount(next.value), whole));
    field.node.placeholder = next.value === null && typeof next.start === "number" ? `${next.empty} ${Number(next.start.toPrecision(3))}` : next.empty || "";
    reset.hidden = next.default === null && next.empty === null;
    reset.disabled = JSON.stringify(next.value) === JSON.stringify(next.default);
    reset.title = `Back to ${next.default === null ? next.empty : written(next.default, whole)}`;
    if (slider) {
      const value = typeof amount(next.value) === "number" ? amount(next.value) : next.start;
      slider.value = String(sliderPosition(ends(), typeof value === "number" ? value : next.low));
      slider.setAttribute("aria-valuetext", next.value === null ? `${next.empty}, ${number(value ?? NaN)}` : written(amount(next.value), whole));
    }
  };
  if (slider) node.append(slider);
  else node.classList.add("lsat-features-plain");
  node.append(field.node, reset);
  let scope = null;
  if (first.each) {
    const choice = (one, text, words) => {
      const button = dom("button", { type: "button", text, title: words, ...key(one ? "one" : "all") });
      button.addEventListener("click", () => each(one));
      return button;
    };
    scope = [choice(false, "all columns", `The same ${label} for every column`), choice(true, "this column", `A ${label} of its own for each column; the slider moves that of the column below`)];
    const group = dom("div", { class: "lsat-segments lsat-features-scope", role: "group", "aria-label": `${label}: columns` }, ...scope);
    node.append(group);
  }
  const update = (next) => {
    clearTimeout(later);
    if (next.value === sent) sent = null;
    if (sent !== null) { // an answer to an earlier place of the slider: the hand is right
      later = setTimeout(() => { sent = null; update(next); }, LATE);
      return;
    }
    show(next);
    if (scope) scope.forEach((button, i) => button.setAttribute("aria-pressed", String(next.one === (i === 1))));
    if (scope) scope[0].parentNode.hidden = Boolean(next.shared);
  };
  return { node, update };
}


// Sliders of the hyper-hyper-parameters. `_knobs` comes from Python, `values` (path -> number) goes to it.

const SETTLE = 120; // ms of rest before a drag is sent: every change restarts the step rule

const line = (first, send, say, fixed, held) => {
  const knob = { ...first }; // its ends and its start may move
  const title = held ? `${knob.meaning} ${knob.held}` : knob.meaning;
  const name = dom("span", { class: "lsat-knob-name", text: held ? `${knob.label}, held` : knob.label, title });
  const slider = dom("input", {
    type: "range", min: "0", max: String(POSITIONS), step: "1", "aria-label": knob.label, title,
  });
  const field = dom("input", {
    type: "text", inputmode: "decimal", class: "lsat-number", "aria-label": `${knob.label}, value`,
    title, autocomplete: "off", spellcheck: "false",
  });
  const reset = dom("button", {
    type: "button", class: "lsat-reset", text: "↺", "aria-label": `Reset ${knob.label}`,
  });
  let value = knob.value;
  let timer = null;
  let edited = false; // Enter is followed by a change, which must not end the complaint about what was typed
  const show = (next) => {
    value = next;
    slider.value = String(sliderPosition(knob, next));
    slider.setAttribute("aria-valuetext", number(next, knob.whole));
    field.value = number(next, knob.whole);
    reset.disabled = fixed || held || next === knob.start;
  };
  const scale = (next) => {
    Object.assign(knob, next);
    slider.value = String(sliderPosition(knob, value));
    reset.title = `Back to ${number(knob.start, knob.whole)}`;
    reset.disabled = fixed || held || value === knob.start;
  };
  const update = (next) => {
    if (timer === null && next !== value) show(next); // while it is dragged the hand is right
  };
  const now = (next) => {
    clearTimeout(timer);
    timer = null;
    say("");
    send(knob.path, next);
  };
  const move = (next) => {
    show(next);
    clearTimeout(timer);
    timer = setTimeout(() => now(value), SETTLE);
  };
  slider.addEventListener("input", () => move(sliderValue(knob, Number(slider.value))));
  sliderKeys(slider, knob, move);
  const typed = () => {
    if (!edited) return;
    edited = false;
    const text = typedNumber(field.value);
    const next = Number(text);
    if (text === "" || !Number.isFinite(next)) {
      say(`${knob.label} is "${field.value}": expected a number such as ${number(value, knob.whole)}; type one.`);
      show(value);
    } else if (text === number(value, knob.whole)) {
      say("");
      show(value);
    } else now(next);
  };
  field.addEventListener("input", () => { edited = true; });
  field.addEventListener("change", typed);
  field.addEventListener("keydown", (event) => {
    event.stopPropagation(); // or the notebook's command mode takes the key
    if (event.key === "Enter") typed();
    if (event.key === "Escape") {
      edited = false;
      show(value);
    }
  });
  reset.addEventListener("click", () => {
    show(knob.start);
    now(knob.start);
  });
  slider.disabled = field.disabled = fixed || held;
  show(value);
  scale(knob);
  return { node: dom("div", { class: "lsat-knob", "data-path": knob.path }, name, slider, field, reset), update, show, scale };
};

// A knob that is on or off.
const toggle = (knob, send, say, fixed) => {
  const box = dom("input", { type: "checkbox", title: knob.meaning });
  const reset = dom("span", {});
  const name = dom("label", { class: "lsat-knob-name", title: knob.meaning }, box, dom("span", { text: knob.label }));
  const show = (next) => { box.checked = Boolean(next); };
  box.addEventListener("change", () => {
    say("");
    send(knob.path, box.checked ? 1 : 0);
  });
  box.disabled = fixed;
  show(knob.value);
  const node = dom("div", { class: "lsat-knob lsat-switch", "data-path": knob.path }, name, reset);
  return { node, update: show, show, scale() {} };
};

const EMPTY = {
  penalties: "No penalty on ω here has a strength to set.",
  loss: "This loss has no number to set.",
  "": "This recipe has no number to set.",
};

function render({ model, el }) {
  el.classList.add("lsat", "lsat-sliders");
  const list = dom("div", { class: "lsat-card lsat-knobs", role: "group", "aria-label": "hyper-hyper-parameters" });
  const empty = dom("div", { class: "lsat-muted lsat-none" });
  const problem = dom("div", { class: "lsat-error", role: "alert" });
  el.append(list, empty, problem);
  let lines = {};
  let shape = "";

  const send = (path, value) => {
    model.set("values", { ...model.get("values"), [path]: value });
    model.save_changes();
  };
  const say = (text) => {
    if (model.get("_problem")) {
      model.set("_problem", ""); // Python's complaint is over too, so that the same one can come again
      model.save_changes();
    }
    problem.textContent = text;
    problem.hidden = !text;
  };
  const build = () => {
    const group = model.get("group");
    const fixed = Boolean(model.get("_fixed"));
    const knobs = (model.get("_fixed") || model.get("_knobs")).filter((knob) => !group || knob.group === group);
    const isHeld = (knob) => Boolean(knob.held) && model.get("_begun");
    const next = JSON.stringify([fixed,
      ...knobs.map((knob) => [knob.path, knob.switch, knob.label, knob.meaning, isHeld(knob)])]);
    if (next !== shape) {
      shape = next;
      lines = {};
      for (const knob of knobs) lines[knob.path] = (knob.switch ? toggle : line)(knob, send, say, fixed, isHeld(knob));
      list.replaceChildren(...Object.values(lines).map(({ node }) => node));
    } else for (const knob of knobs) lines[knob.path].scale(knob); // what has the focus keeps it
    list.hidden = knobs.length === 0;
    empty.textContent = knobs.length ? "" : EMPTY[group] || "";
    el.hidden = group === "none";
  };
  const update = () => {
    if (model.get("_fixed")) return;
    const values = model.get("values");
    for (const [path, { update }] of Object.entries(lines)) if (path in values) update(values[path]);
  };
  const complain = () => {
    problem.textContent = model.get("_problem");
    problem.hidden = !problem.textContent;
    if (problem.textContent && !model.get("_fixed")) for (const [path, { show }] of Object.entries(lines)) show(model.get("values")[path]);
  };
  return follow(model, [[["_knobs", "_fixed", "_begun", "group"], build], [["values", "_knobs", "_fixed"], update], [["_problem"], complain]]);
}

export default { render: heard(render) };

// Shared by the hand-made views and put before each of their modules: they are served alone and cannot import.
const dom = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") node.className = value;
    else if (name === "text") node.textContent = value;
    else if (name === "html") throw new Error("text only");
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
};

const number = (value, whole = false) => {
  if (value === null || !Number.isFinite(value)) return "–";
  if (whole) return String(Math.round(value));
  const size = Math.abs(value);
  if (value !== 0 && (size < 1e-3 || size >= 1e5)) {
    return value.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e");
  }
  return String(Number(value.toPrecision(4)));
};

// What was typed as a number: commas between groups of three digits, as the views write them, go; another is a point.
const GROUPED = /^[-+\u2212]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/;
const typedNumber = (text) => {
  const plain = text.trim();
  return (GROUPED.test(plain) ? plain.replaceAll(",", "") : plain.replace(",", ".")).replace("\u2212", "-");
};

// Seconds in a few digits: a short run did not take 0.0 of them.
const briefly = (seconds) => seconds.toFixed(seconds < 0.095 ? 2 : 1);

// Between a number and its place on a slider; `scale` has low, high, log and whole.
const POSITIONS = 1000;
const sliderPosition = ({ low, high, log }, value) => {
  const scale = log ? Math.log : (x) => x;
  if (log && value <= 0) return 0;
  const share = (scale(value) - scale(low)) / (scale(high) - scale(low));
  return Math.round(Math.min(1, Math.max(0, share)) * POSITIONS);
};
const sliderValue = ({ low, high, log, whole }, position) => {
  const share = position / POSITIONS;
  const value = log ? Math.exp(Math.log(low) + share * (Math.log(high) - Math.log(low))) : low + share * (high - low);
  return whole ? Math.max(log ? 1 : low, Math.round(value)) : Number(value.toPrecision(3));
};
// Keys move a slider by a hundredth of its way, and never by so little that the number would be rounded back.
const sliderKeys = (slider, scale, move) => {
  slider.addEventListener("keydown", (event) => {
    event.stopPropagation(); // or the notebook's command mode takes the key
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const { whole, low, high } = scale, before = sliderValue(scale, Number(slider.value));
    const next = sliderValue(scale, Math.min(POSITIONS, Math.max(0, Number(slider.value) + (by * POSITIONS) / 100)));
    move(whole && next === before ? Math.min(high, Math.max(low, before + Math.sign(by))) : next);
  });
};

// Follow traits of a model while a view lives; returns what ends it.
const follow = (model, handlers) => {
  for (const [names, handler] of handlers) for (const name of names) model.on(`change:${name}`, handler);
  for (const handler of new Set(handlers.map(([, handler]) => handler))) handler();
  return () => {
    for (const [names, handler] of handlers) for (const name of names) model.off(`change:${name}`, handler);
  };
};

// A view whose kernel was restarted hears nothing and tells nobody: it says so once a hand asks something of it.
const LOST = ".jupyter-widgets-disconnected";
const heard = (render) => ({ model, el }) => {
  const lost = dom("div", { class: "lsat-error lsat-lost", role: "alert" });
  const complain = () => {
    if (!lost.isConnected) el.prepend(lost);
    lost.textContent = "The kernel was restarted: run the cell again.";
  };
  const tell = (act) => {
    if (el.closest(LOST)) { complain(); return; }
    try {
      act();
    } catch (error) {
      if (!/cannot send/i.test(error.message)) throw error;
      complain();
    }
  };
  const send = (...content) => tell(() => model.send(...content));
  return render({ model: { ...model, send, save_changes: () => tell(() => model.save_changes()) }, el });
};

const copy = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = dom("textarea", { class: "lsat-sr" }); // pages without https have no clipboard of their own
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) return false;
  }
  return true;
};

const copyButton = (label, text) => {
  const button = dom("button", { type: "button", class: "lsat-link", text: label });
  button.addEventListener("click", async () => {
    button.textContent = (await copy(text())) ? "Copied" : "Copying failed";
    setTimeout(() => { button.textContent = label; }, 1500);
  });
  return button;
};

const deviceChoice = (model) => {
  const about = "Where the arithmetic of the next run is done, with the memory there in GiB";
  const select = dom("select", { "aria-label": "Device", title: about });
  const label = dom("span", { class: "lsat-muted", text: "Device" });
  const name = dom("span", {});
  const node = dom("label", { class: "lsat-device" }, label, select, name);
  select.addEventListener("change", () => {
    model.set("device", select.value);
    model.save_changes();
  });
  const update = () => {
    const devices = Object.entries(model.get("devices"));
    const known = devices.some(([key]) => key === model.get("device"));
    const all = known ? devices : [...devices, [model.get("device"), model.get("device")]];
    select.replaceChildren(...all.map(([key, text]) => dom("option", { value: key, text })));
    select.value = model.get("device");
    select.hidden = all.length < 2;
    name.hidden = !select.hidden;
    name.textContent = all.length ? all[0][1] : "";
  };
  return { node, update };
};

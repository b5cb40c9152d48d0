// Buttons, counts and the sentence of a run. Commands go to Python as messages; what they lead to comes back as traits.

const TONES = {
  ready: "", preparing: "busy", running: "busy", stopping: "busy", paused: "warn", ended: "", failed: "bad",
};
const BUSY = ["preparing", "running", "stopping"];

const span = (seconds) => {
  if (seconds < 100) return `${seconds.toFixed(0)} s`;
  return seconds < 5400 ? `${(seconds / 60).toFixed(0)} min` : `${(seconds / 3600).toFixed(1)} h`;
};

// The iterate that is marked, by a click in the curves or by its number, and the way on from there.
const marking = (model) => {
  const field = dom("input", { type: "number", min: "0", step: "1", title: "Number of an iteration to mark, or click the curve" });
  const words = dom("span", { class: "lsat-muted" });
  const branch = dom("button", { type: "button", title: "A new run that goes on from there, with the settings as they are now" });
  const unmark = dom("button", { type: "button", text: "Unmark", title: "Take the mark away" });
  const buttons = dom("span", { class: "lsat-row" }, branch, unmark);
  const node = dom("div", { class: "lsat-row lsat-marking" }, dom("label", {}, dom("span", { class: "lsat-muted", text: "Iteration" }), field),
    words, buttons);
  const mark = (value) => {
    model.set("marked", value);
    model.save_changes();
  };
  field.addEventListener("change", () => {
    const value = Math.round(Number(field.value));
    mark(field.value === "" || Number.isNaN(value) ? null : Math.min(model.get("last"), Math.max(0, value)));
    show();
  });
  field.addEventListener("keydown", (event) => event.stopPropagation());
  branch.addEventListener("click", () => {
    model.send({ command: "branch" });
    field.focus();
  });
  unmark.addEventListener("click", () => {
    mark(null);
    field.focus();
  });
  const show = () => {
    const [marked, last] = [model.get("marked"), model.get("last")];
    const none = marked === null || marked === undefined;
    node.hidden = last < 0;
    field.max = String(last);
    const wanted = none ? "" : String(marked);
    if (document.activeElement !== field || field.value !== "") field.value = wanted;
    words.textContent = none ? "mark one, or click the curve, to branch from it" : model.get("marking");
    branch.textContent = `Branch from iteration ${none ? "" : marked.toLocaleString("en-US")}`;
    buttons.hidden = none;
  };
  return { node, show };
};

// The run that is shown where the buttons steer another: where it stands, the way back, and on with it.
const looking = (model) => {
  const words = dom("div", { role: "status" });
  const onward = dom("button", { type: "button", class: "lsat-primary" });
  const back = dom("button", { type: "button", title: "Show the run that the buttons steer" });
  onward.addEventListener("click", () => model.send({ command: "go_on" }));
  back.addEventListener("click", () => model.send({ command: "back" }));
  const node = dom("div", { class: "lsat-card lsat-looking" }, words, dom("div", { class: "lsat-row" }, onward, back));
  const show = () => {
    const { name, told, goes_on, steered } = model.get("looking");
    node.hidden = !name;
    if (node.hidden) return;
    words.replaceChildren(dom("span", { class: "lsat-strong", text: `Shown: ${name}. ` }), told);
    onward.textContent = `Go on with ${name}`;
    onward.title = `Tune this run further. ${steered} is stopped where it is, and stays in the table`;
    onward.hidden = !goes_on;
    back.textContent = `Back to ${steered}`;
  };
  return { node, show };
};

function render({ model, el }) {
  el.classList.add("lsat", "lsat-controls");
  const button = (command, label, title) => {
    const node = dom("button", { type: "button", text: label, title });
    node.addEventListener("click", () => model.send({ command }));
    return node;
  };
  const start = button("start", "Start", "Tune from here until the run ends");
  start.className = "lsat-primary";
  const pause = button("pause", "Pause", "Hold after this iteration");
  const stop = button("stop", "Stop", "End the run; the last accepted values are kept");
  const step = button("step", "Step", "One iteration, then hold");
  const restart = button("restart", "Restart", "A new run from the start, with the settings as they are now");
  const counts = dom("span", { class: "lsat-muted lsat-counts" });
  const clock = dom("span", { class: "lsat-muted lsat-clock" });
  clock.title = "Seconds of computing, without pauses; at most, if the run goes on to its maximum of iterations";
  const omega = dom("button", { type: "button", text: "Show ω", title: "Two more panels: the norm of the gradient, and the hyper-parameters ω by name" });
  omega.addEventListener("click", () => {
    model.set("with_omega", !model.get("with_omega"));
    model.save_changes();
  });
  const mark = marking(model);
  const device = deviceChoice(model);
  device.node.classList.add("lsat-push");
  const dot = dom("span", { class: "lsat-dot" });
  const sentence = dom("span", { class: "lsat-sentence", role: "status", "aria-live": "polite" });
  const workers = dom("a", {
    target: "_blank", rel: "noopener", text: "Workers ↗", "aria-label": "Workers, in a new tab",
    title: "The page of the cluster: what its workers do",
  });
  const problem = dom("div", { class: "lsat-error", role: "alert" });
  const look = looking(model);
  const whose = dom("div", { class: "lsat-muted" });
  el.append(
    look.node,
    whose,
    dom("div", { class: "lsat-row lsat-buttons" }, start, pause, stop, step, restart, device.node),
    dom("div", { class: "lsat-row lsat-tally" }, counts, clock, omega),
    mark.node,
    dom("div", { class: "lsat-status" }, dot, sentence, workers),
    problem,
  );

  let stepping = false; // Step stays open while its own iteration runs, so that quick clicks all count
  for (const [node, value] of [[start, false], [restart, false], [step, true]]) {
    node.addEventListener("click", () => { stepping = value; });
  }
  let since = performance.now();
  const tick = () => {
    const extra = BUSY.includes(model.get("activity")) ? (performance.now() - since) / 1000 : 0;
    const seconds = model.get("seconds") + extra;
    const expected = model.get("expected");
    const rest = expected === null || expected === undefined || seconds <= 0 ? "" : `, about ${span(Math.max(0, expected - extra))} to go at most`;
    clock.textContent = seconds > 0 ? `${rest ? "elapsed " : ""}${seconds < 100 ? `${briefly(seconds)} s` : span(seconds)}${rest}` : "";
  };
  const show = () => {
    const activity = model.get("activity");
    const alive = BUSY.includes(activity) || activity === "paused";
    el.dataset.activity = activity;
    el.dataset.accepted = String(model.get("accepted"));
    const goal = !alive && activity !== "ready" && !model.get("can_go_on"); // more iterations would change nothing
    start.textContent = activity === "ready" ? "Start" : activity === "paused" ? "Resume" : alive ? "Running" : "Go on";
    start.hidden = goal;
    const { steered } = model.get("looking"); // then what is likely wanted stands above
    start.classList.toggle("lsat-primary", !steered);
    restart.classList.toggle("lsat-primary", goal && !steered);
    restart.style.order = goal ? "-1" : "";
    start.disabled = alive && activity !== "paused";
    pause.disabled = !["preparing", "running"].includes(activity);
    stop.disabled = !alive || activity === "stopping";
    step.disabled = goal || (BUSY.includes(activity) && !stepping);
    restart.disabled = activity === "ready";
    const [accepted, rejected] = [model.get("accepted"), model.get("rejected")];
    counts.textContent = accepted + rejected
      ? `${accepted.toLocaleString("en-US")} accepted, ${rejected.toLocaleString("en-US")} rejected` : "no iteration yet";
    dot.dataset.tone = activity === "ended" ? model.get("tone") : TONES[activity];
    sentence.textContent = model.get("sentence");
    const page = model.get("dashboard");
    workers.hidden = !/^https?:/.test(page);
    workers.href = workers.hidden ? "" : page;
    problem.textContent = model.get("problem");
    problem.hidden = !problem.textContent;
    whose.hidden = !steered;
    whose.textContent = `The buttons steer ${steered}:`;
    device.node.hidden = !model.get("with_device");
    omega.setAttribute("aria-pressed", String(model.get("with_omega")));
    since = performance.now();
    tick();
  };
  const timer = setInterval(tick, 250);
  const end = follow(model, [
    [["activity", "accepted", "rejected", "tone", "sentence", "problem", "seconds", "with_device", "can_go_on",
      "expected", "with_omega", "dashboard", "looking"], show],
    [["looking"], look.show],
    [["marked", "marking", "last"], mark.show],
    [["devices", "device"], device.update],
  ]);
  return () => { clearInterval(timer); end(); };
}

export default { render: heard(render) };

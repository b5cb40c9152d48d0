// Buttons, counts and the sentence of a run. Commands go to Python as messages; what they lead to comes back as traits.

const TONES = {
  ready: "", preparing: "busy", running: "busy", stopping: "busy", paused: "warn", ended: "", failed: "bad",
};
const BUSY = ["preparing", "running", "stopping"];

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
  const device = deviceChoice(model);
  device.node.classList.add("lsat-push");
  const dot = dom("span", { class: "lsat-dot" });
  const sentence = dom("span", { class: "lsat-sentence", role: "status", "aria-live": "polite" });
  const problem = dom("div", { class: "lsat-error", role: "alert" });
  el.append(
    dom("div", { class: "lsat-row lsat-buttons" }, start, pause, stop, step, restart, device.node),
    dom("div", { class: "lsat-row lsat-tally" }, counts, clock),
    dom("div", { class: "lsat-status" }, dot, sentence),
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
    clock.textContent = seconds > 0 ? `${seconds.toFixed(1)} s` : "";
  };
  const show = () => {
    const activity = model.get("activity");
    const alive = BUSY.includes(activity) || activity === "paused";
    el.dataset.activity = activity;
    el.dataset.accepted = String(model.get("accepted"));
    const goal = !alive && activity !== "ready" && !model.get("can_go_on"); // more iterations would change nothing
    start.textContent = activity === "ready" ? "Start" : activity === "paused" ? "Resume" : alive ? "Running" : "Go on";
    start.hidden = goal;
    restart.classList.toggle("lsat-primary", goal);
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
    problem.textContent = model.get("problem");
    problem.hidden = !problem.textContent;
    device.node.hidden = !model.get("with_device");
    since = performance.now();
    tick();
  };
  const timer = setInterval(tick, 250);
  const end = follow(model, [
    [["activity", "accepted", "rejected", "tone", "sentence", "problem", "seconds", "with_device", "can_go_on"], show],
    [["devices", "device"], device.update],
  ]);
  return () => { clearInterval(timer); end(); };
}

export default { render };

// The steps on the left: blocks with their names, steps with their handles, and what can be added.

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const button = (text, title, key, act, look = "") => {
  const node = dom("button", { type: "button", text, title, "aria-label": title, class: look, "data-key": key });
  node.addEventListener("click", act);
  return node;
};

function stepsTree(model, send, reveal) {
  const tree = dom("div", { class: "lsat-features-tree", role: "group", "aria-label": "Steps" });
  let wanted = null; // the control that has the focus once the tree is drawn anew
  let opened = null; // which list of what can be added is open

  const choices = (path, beside, block) => {
    const box = dom("div", { class: "lsat-features-palette", role: "group", "aria-label": block ? "Add a block" : "Add a step" });
    for (const kind of model.get("_kinds")) {
      const choice = dom("button", { type: "button", title: kind.off || kind.formula || kind.about, "data-key": `kind:${kind.name}` },
        dom("b", { text: kind.title }), dom("span", { class: "lsat-muted", text: kind.about }));
      choice.disabled = Boolean(kind.off);
      choice.addEventListener("click", () => {
        opened = null;
        wanted = "chosen";
        send({ do: "add", path, kind: kind.name, beside });
      });
      box.append(choice);
    }
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      opened = null;
      wanted = `add:${path.join("/")}:${beside}`;
      drawTree();
    });
    return box;
  };
  const adder = (path, beside, text, title) => {
    const at = `add:${path.join("/")}:${beside}`;
    const open = opened === at;
    const node = dom("button", { type: "button", class: `lsat-features-add${text.includes("block") ? " lsat-features-add-block" : ""}`, text, title, "data-key": at, "aria-expanded": String(open) });
    node.addEventListener("click", () => {
      opened = open ? null : at;
      wanted = open ? at : `kind:${model.get("_kinds")[0].name}`;
      drawTree();
    });
    return dom("div", {}, node, ...(open ? [choices(path, beside, beside || text.includes("block"))] : []));
  };
  const handles = (node, noun, alone) => {
    const path = node.path, at = path.join("/");
    const act = (text, title, what, usable, message, next) => {
      const handle = button(text, `${title} ${noun}`, `${what}:${at}`, () => { wanted = next; send({ path, ...message }); }, "lsat-features-handle");
      handle.disabled = !usable;
      return handle;
    };
    const moved = (by) => [...path.slice(0, -1), path[path.length - 1] + by].join("/");
    if (alone) return ""; // the handles of its block are enough
    const parts = [];
    if (node.up || node.down) {
      parts.push(act("↑", "Move up", "up", node.up, { do: "move", by: -1 }, `up:${moved(-1)}|down:${moved(-1)}`));
      parts.push(act("↓", "Move down", "down", node.down, { do: "move", by: 1 }, `down:${moved(1)}|up:${moved(1)}`));
    }
    if (path.length) parts.push(act("✕", "Remove", "remove", true, { do: "remove" }, "chosen"));
    return dom("span", { class: "lsat-features-handles" }, ...parts);
  };
  const complaint = (node) => (node.problem ? [dom("div", { class: "lsat-error lsat-features-problem", role: "alert", text: node.problem })] : []);

  const stepRow = (node, alone) => {
    const chosen = same(node.path, model.get("_chosen"));
    const choose = dom("button", {
      type: "button", class: "lsat-features-choose", "aria-pressed": String(chosen), title: node.formula || node.about,
      "data-key": chosen ? "chosen" : `choose:${node.path.join("/")}`,
    }, dom("span", { class: "lsat-strong", text: node.title }), dom("span", { class: "lsat-muted", text: node.summary }));
    choose.addEventListener("click", () => { wanted = "chosen"; model.set("_chosen", node.path); model.save_changes(); reveal(); });
    const flow = node.out === null || node.in === null || node.in === undefined ? "" : `${node.in.toLocaleString("en-US")} → ${node.out.toLocaleString("en-US")}`;
    const row = dom("div", { class: "lsat-features-step" }, choose,
      dom("span", { class: "lsat-muted lsat-small lsat-features-flow", text: flow, title: flow ? "columns in → features out" : "" }), handles(node, node.title, alone));
    row.classList.toggle("lsat-features-chosen", chosen);
    row.classList.toggle("lsat-features-wrong", Boolean(node.problem));
    return dom("li", {}, row, ...complaint(node));
  };
  const steps = (node, alone) => {
    const rows = node.members ? node.members : [node];
    const list = dom("ol", { class: "lsat-features-steps" });
    for (const step of rows) {
      if (!step.members) list.append(stepRow(step, alone && rows.length === 1));
      else list.append(dom("li", { class: "lsat-features-nested" },
        dom("div", { class: "lsat-row" }, dom("span", { class: "lsat-muted", text: step.kind === "Concat" ? "Blocks side by side" : step.title, title: step.about }),
          dom("span", { class: "lsat-push" }, handles(step, step.title, false))), ...complaint(step), ...inside(step)));
    }
    return [list, adder(node.path, false, "+ Add a step", "A step that takes the features of the ones above")];
  };
  const block = (node) => {
    const name = typedField({
      class: "lsat-features-block-name", value: node.name, "aria-label": `Name of the block ${node.name}`, "data-key": `name:${node.path.join("/")}`,
      title: "Name of the block: regularizers name it as block=…, and it stands in the names of ω",
    }, (text) => send({ do: "rename", path: node.path, name: text }));
    name.show(node.name);
    const out = node.out === null ? "" : counted(node.out, "feature");
    return dom("div", { class: "lsat-card lsat-features-block", role: "group", "aria-label": `Block ${node.name}` },
      dom("div", { class: "lsat-features-block-head" }, name.node, dom("span", { class: "lsat-muted lsat-push", text: out }), handles(node, `block ${node.name}`, false)),
      ...(node.members ? complaint(node) : []), ...(node.members && node.kind !== "Chain" ? inside(node) : steps(node, true)));
  };
  const inside = (node) => (node.kind === "Chain" ? steps(node, false)
    : [...node.members.map(block), adder(node.path, false, "+ Add a block", "A block of features beside the others, with a name of its own")]);

  const drawTree = () => {
    const { tree: root } = model.get("_shown");
    if (!root) return;
    const active = document.activeElement;
    const held = wanted || (tree.contains(active) && active.dataset.key) || null;
    const typed = held && active.dataset?.key === held && active.tagName === "INPUT" ? active.value : null;
    if (root.members && root.kind !== "Chain") tree.replaceChildren(...inside(root));
    else tree.replaceChildren(
      dom("div", { class: "lsat-card lsat-features-block" }, ...(root.members ? complaint(root) : []), ...steps(root, true)),
      adder([], true, "+ Add a block", "Blocks of features side by side, each with a name that regularizers can use"),
    );
    if (held === null) return;
    const found = held.split("|").map((key) => tree.querySelector(`[data-key="${CSS.escape(key)}"]:not(:disabled)`)).find(Boolean);
    if (found) {
      found.focus({ preventScroll: true });
      if (typed !== null) found.value = typed;
    }
    if (found && wanted && model.get("_shown").tone !== "busy") wanted = null;
  };

  return { node: tree, draw: drawTree };
}

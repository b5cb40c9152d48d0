// What a hand does to an edge is drawn before Python has answered. Python decides: each message has a stamp, the traits say
// which one they answer, and what is drawn is always the state of Python with the messages that it has not answered yet.

const PATIENCE = 1000; // ms without an answer before the page says so

const graphGuess = (model, overdue) => {
  const view = Math.random().toString(36).slice(2);
  let count = 0, timer = null;
  let waiting = []; // what Python has not answered, in its order

  const known = () => { // as Python has it
    const { node, first, graphs } = model.get("_shown"), active = model.get("active");
    const all = numbers(model.get("_edges"), Int32Array);
    let at = 0;
    const groups = graphs.map(({ name, drawn }) => ({
      ends: all.subarray(2 * at, 2 * (at += drawn)), active: name === active,
    }));
    return { groups, node: node ? node.number : -1, first: Boolean(first && node) };
  };
  const toggle = (state, a, b) => {
    const group = state.groups.find(({ active }) => active), [low, high] = a < b ? [a, b] : [b, a];
    if (!group) return; // the graph that is edited has gone meanwhile
    const { ends } = group;
    let at = 0; // edges come in ascending order
    while (at < ends.length && (ends[at] < low || (ends[at] === low && ends[at + 1] < high))) at += 2;
    const there = ends[at] === low && ends[at + 1] === high && at < ends.length;
    const next = new Int32Array(ends.length + (there ? -2 : 2));
    next.set(ends.subarray(0, at));
    if (!there) next.set([low, high], at);
    next.set(ends.subarray(there ? at + 2 : at), there ? at : at + 2);
    group.ends = next;
  };
  const acts = {
    pick: (state, { node }) => {
      if (state.first && node !== state.node) toggle(state, state.node, node);
      state.first = !state.first;
      state.node = node;
    },
    toggle: (state, { a, b }) => { toggle(state, a, b); state.first = false; },
    leave: (state, { selected }) => {
      if (!state.first && !selected) state.node = -1;
      state.first = false;
    },
  };
  const watch = () => {
    clearTimeout(timer);
    timer = waiting.length ? setTimeout(() => overdue(waiting.length), PATIENCE) : null;
  };

  return {
    // Returns the stamp of a message, and whether it changes what is drawn at once.
    note: (command, content) => {
      const stamp = `${view} ${count += 1}`, drawn = command in acts;
      if (drawn) {
        waiting.push({ number: count, command, content: { ...content, selected: model.get("_selected").length > 0 } });
        watch();
      }
      return { stamp, drawn };
    },
    // Called when Python has answered: what it has heard of is in its own state.
    heard: () => {
      const [whose, number] = model.get("_heard").split(" ");
      if (whose !== view) return;
      waiting = waiting.filter((one) => one.number > Number(number));
      watch();
    },
    present: () => {
      const state = known();
      for (const { command, content } of waiting) acts[command](state, content);
      return state;
    },
    end: () => clearTimeout(timer),
  };
};

// The nodes that share an edge with one, ascending.
const nextTo = (ends, node) => {
  const found = [];
  for (let i = 0; i < ends.length; i += 2) {
    if (ends[i] === node) found.push(ends[i + 1]);
    else if (ends[i + 1] === node) found.push(ends[i]);
  }
  return found.sort((a, b) => a - b);
};

// Put behind plotly's own module, whose export is `plotly` here. Its views go on listening after they are taken away and
// then fail, which also keeps the views behind them from drawing: here what a view listens to ends with it.
export default () => {
  const widget = plotly();
  let source = null;
  let heard = null;
  const hear = (event, handler) => {
    heard?.push([event, handler]);
    source.on(event, handler);
  };
  // After every update plotly sends all that it assumes of each curve to Python, where nobody asks for it and it fails on
  // arrays: a tuner would spend more on that than on its curves.
  const untold = (model) => (name, value) => {
    if (!/^_js2py_(trace|widget_layout)Deltas?$/.test(name)) model.set(name, value);
  };
  const listening = {
    get(model, name) {
      if (name === "on") return hear;
      if (name === "set") return untold(model);
      return typeof model[name] === "function" ? model[name].bind(model) : model[name];
    },
  };
  return {
    initialize(context) {
      source = context.model;
      return widget.initialize({ ...context, model: new Proxy(source, listening) });
    },
    render(context) {
      const mine = [];
      heard = mine;
      const end = widget.render(context);
      heard = null;
      // plotly looks for a new width when the window has one; a column may get another by itself
      let width = 0;
      const watch = new ResizeObserver(([{ contentRect }]) => {
        if (width && contentRect.width && contentRect.width !== width) window.dispatchEvent(new Event("resize"));
        width = contentRect.width || width;
      });
      watch.observe(context.el);
      return () => {
        watch.disconnect();
        for (const [event, handler] of mine) source.off(event, handler);
        end?.();
      };
    },
  };
};

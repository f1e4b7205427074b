// An exported page: each view's own module, given its state by a small model in Jupyter's stead.

/** What a view's render() asks of its model, with nothing behind it but the page. */
export function pageModel(state) {
  const listeners = new Map();
  return {
    get: (name) => state[name],
    set(name, value) {
      if (state[name] === value) return;
      state[name] = value;
      for (const listener of listeners.get(`change:${name}`) ?? []) listener();
    },
    save_changes() {},
    on(event, listener) {
      if (!listeners.has(event)) listeners.set(event, new Set());
      listeners.get(event).add(listener);
    },
    off(event, listener) {
      listeners.get(event)?.delete(listener);
    },
  };
}

/** State as it was before export: {"base64": "…"} is bytes again. */
export function revive(value) {
  if (Array.isArray(value)) return value.map(revive);
  if (value === null || typeof value !== "object") return value;
  if (typeof value.base64 === "string") {
    const text = atob(value.base64);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
    return new DataView(bytes.buffer);
  }
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, revive(item)]));
}

async function open(page, places) {
  const modules = await Promise.all(page.modules.map((text) => {
    const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    return import(address).finally(() => URL.revokeObjectURL(address));
  }));
  page.views.forEach(({ module, state }, index) => {
    modules[module].default.render({ model: pageModel(revive(state)), el: places[index] });
  });
}

if (globalThis.document?.getElementById("vt-page")) {
  const page = JSON.parse(document.getElementById("vt-page").textContent);
  const places = document.querySelectorAll(".vt-view");
  open(page, places).catch((error) => {
    places[0].classList.add("vt-failed");
    places[0].textContent = `This page could not draw its views (${error}); try a current browser.`;
  });
}

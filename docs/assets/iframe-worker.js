// Chromium starts no worker on a page from disk, where the search needs one: its script runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    /** @param {string | URL} script the worker's, beside the page */
    constructor(script) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc = "<!doctype html><title>Search</title>";
      this.started = new Promise((resolve, reject) => {
        this.frame.addEventListener("load", () => {
          const { contentWindow: inside, contentDocument: page } = this.frame;
          // To the script, its window is the worker: what it posts goes to the page that made it.
          inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          const element = page.createElement("script");
          element.src = String(script);
          element.onload = () => resolve(inside);
          element.onerror = reject;
          page.head.append(element);
        });
      });
      document.body.append(this.frame);
    }

    postMessage(data) {
      this.started.then((inside) => inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}

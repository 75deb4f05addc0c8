// Search runs in a worker, which browsers refuse to pages on the disk. For these, run its script in a hidden frame.
// Messages are copied, as they are to a worker: the script changes what it gets, and would empty the field of search.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(script) {
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.documentElement.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => {
        const copy = structuredClone(data);
        setTimeout(() => this.onmessage && this.onmessage({ data: copy }));
      };
      this.loaded = new Promise((resolve, reject) => {
        const element = inside.document.createElement("script");
        element.src = new URL(script, location.href);
        element.onload = resolve;
        element.onerror = reject;
        inside.document.body.append(element);
      });
      this.loaded.catch(() => this.onerror && this.onerror(new Event("error", { cancelable: true })));
    }

    postMessage(data) {
      const copy = structuredClone(data);
      this.loaded.then(() => this.frame.contentWindow.onmessage({ data: copy }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}

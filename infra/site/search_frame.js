// A browser lets no page that was opened from a folder start a worker. There, what the search does in a worker is done in a
// hidden frame: it gets messages as a worker does, and what it posts comes back to the page.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.ready = new Promise((begin) => {
        const attach = () => {
          document.body.append(this.frame);
          const inner = this.frame.contentWindow;
          inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          const script = inner.document.createElement("script");
          script.src = address;
          script.onload = () => begin(inner);
          inner.document.body.append(script);
        };
        document.body ? attach() : addEventListener("DOMContentLoaded", attach);
      });
    }

    postMessage(data) {
      this.ready.then((inner) => inner.dispatchEvent(new inner.MessageEvent("message", { data })));
    }
  };
}

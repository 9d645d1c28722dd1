async (board) => {
  const got = {};
  const attempt = async (name, act) => {
    try {
      got[name] = await act();
    } catch (error) {
      got[name] = "refused";
    }
  };
  const text = async (response) => (response.type !== "opaque" && response.status === 200 ? (await response.text()).slice(0, 200) : "refused");
  const fetched = (path, options) => fetch(board + path, options).then(text);
  const loaded = (tag, path, told) =>
    new Promise((resolve) => {
      const node = document.createElement(tag);
      node.onload = () => resolve(told(node) || "refused");
      node.onerror = () => resolve("refused");
      node.src = board + path;
      document.body.append(node);
    });
  const keyed = { credentials: "include", headers: { "X-Tildone-Key": "guess" } };
  await attempt("fetch", () => fetched("/api/sessions", { credentials: "include" }));
  await attempt("no-cors", () => fetched("/api/sessions", { credentials: "include", mode: "no-cors" }));
  await attempt("with a key", () => fetched("/api/sessions", keyed));
  await attempt("post", () => fetched("/api/in", { method: "POST", mode: "no-cors", body: '{"token":"x"}' }));
  await attempt("frame", () => loaded("iframe", "/", (frame) => frame.contentDocument && frame.contentDocument.body.innerText));
  await attempt("script", () => loaded("script", "/api/sessions", () => "loaded"));
  await attempt("stream", () =>
    new Promise((resolve) => {
      const source = new EventSource(`${board}/api/live?topics=needs`, { withCredentials: true });
      source.onopen = () => resolve("opened");
      source.onerror = () => resolve(source.close() || "refused");
    }));
  await attempt("window", async () => {
    const opened = window.open(`${board}/`);
    await new Promise((resolve) => setTimeout(resolve, 800));
    return (opened && opened.document && opened.document.body.innerText) || "refused";
  });
  return got;
};

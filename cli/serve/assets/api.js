/* How to call the service: each request of its description, with a line to paste. */
"use strict";
(function (S) {
  const here = new URL(S.up || ".", location.href).href.replace(/\/$/, "");
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

  function line(path, method) {
    const words = ["curl", "-s", quoted(here + path)];
    if (method === "post") words.push("-H", quoted("Content-Type: application/json"), "-d", quoted('{"line": "bsub -n 8 -W 1:00"}'));
    return words.join(" ");
  }

  function request(path, method, call) {
    const query = (call.parameters || []).filter((item) => item.in === "query").map((item) => item.name);
    const rows = Object.entries(call.responses).map(([code, item]) => S.element("tr", {}, S.element("td", { class: "number", text: code }), S.element("td", { text: item.description })));
    const head = S.element("thead", {}, S.element("tr", {}, S.element("th", { scope: "col", class: "number", text: "Status" }), S.element("th", { scope: "col", text: "Meaning" })));
    const statuses = S.element("details", {}, S.element("summary", { text: `Answers: ${Object.keys(call.responses).join(", ")}` }), S.element("div", { class: "scroll" }, S.element("table", {}, head, S.element("tbody", {}, ...rows))));
    return S.element("section", {}, S.element("h2", { text: `${method.toUpperCase()} ${path}` }), S.element("p", { text: call.summary }), query.length ? S.element("p", { class: "soft", text: `Query: ${query.join(", ")}` }) : null, S.copyable(line(path, method)), statuses);
  }

  async function load() {
    const found = await S.get("openapi.json");
    const intro = S.element("p", {}, S.element("span", { text: "Every answer is JSON, but events and metrics. With a token, send Authorization: Bearer TOKEN. The same as OpenAPI: " }), S.element("a", { href: `${S.up}openapi.json`, text: "openapi.json" }));
    S.fill(S.by("api"), intro, ...Object.entries(found.paths).flatMap(([path, calls]) => Object.entries(calls).map(([method, call]) => request(path, method, call))));
  }
  load().catch((error) => S.fill(S.by("api"), S.element("p", { class: "bad", text: S.shown(error.message) })));
})(Slotwise);

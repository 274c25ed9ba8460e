/* The chosen job: its starts, why not earlier, what would help; all words are those of the data. */
"use strict";
(function (S) {
  const data = S.data;
  const E = S.element;
  const panel = document.getElementById("job");
  if (!panel) return;

  function starts(item) {
    return E("dl", { class: "big" }, ...item.starts.map((start) => E("div", {},
      E("dt", { text: start.what }),
      E("dd", { class: /^[a-z?]/.test(start.time) && start.time !== "now" ? "word" : "" }, start.time, E("small", { class: start.good ? "good" : "soft", text: start.more || "\u00a0" })))));
  }

  function proof(item) {
    if (!item.proof) return null;
    const [kind, text] = item.proof;
    const limits = document.getElementById("limits");
    return E("p", {}, E(limits && kind === "warn" ? "a" : "span", { class: `badge ${kind}`, ...(limits && kind === "warn" ? { href: "#limits" } : {}), text }));
  }

  function whys(item) {
    return E("ul", { class: "whys" }, ...item.why.map(([when, text]) => E("li", { class: when ? "" : "plain" },
      when ? E("span", { class: "tm", text: when }) : null, E("span", { text }))));
  }

  /** What LSF calls things, for who schedules with something else. */
  const words = (item) => item.words.length
    ? E("dl", { class: "words", "aria-label": "Words of LSF" }, ...item.words.map(([word, meaning]) => E("div", {}, E("dt", { text: word }), " ", E("dd", { text: meaning }))))
    : null;

  const helpOf = (help, number) => E("li", {}, E("span", { class: "no", "aria-hidden": "true", text: String(number + 1) }), E("div", {},
    E("p", {}, E("b", { class: "good", text: help.gives }), " ", E("span", { class: "soft", text: help.by })),
    ...help.lines.map((line) => E("code", { class: "line", tabindex: "0", text: line })),
    E("p", { class: `costs ${help.kind || "soft"}`, text: help.costs })));

  /** The first changes, the others behind a fold. */
  function helps(item) {
    const made = item.helps.map(helpOf);
    const [first, rest] = [made.slice(0, 2), made.slice(2)];
    return [
      E("ul", { class: "fix", id: "helps" }, ...first),
      rest.length ? E("details", {}, E("summary", { text: `${S.count(rest.length, "more change")} that would help` }), E("ul", { class: "fix" }, ...rest)) : null,
    ].filter(Boolean);
  }

  const isCommand = (text) => text.startsWith("slotwise ");
  const more = (text) => isCommand(text) ? E("p", { class: "soft" }, "To work it out: ", E("code", { class: "line", tabindex: "0", text })) : E("p", { class: "soft", text });

  /** Where a running job is, and until when. */
  function running(job) {
    const bars = data.running.filter((bar) => data.jobs[bar[0]].id === job);
    const hosts = new Map();
    for (const bar of bars) hosts.set(data.hosts[bar[2]][0], (hosts.get(data.hosts[bar[2]][0]) || 0) + bar[4]);
    const slots = [...hosts.values()].reduce((sum, count) => sum + count, 0);
    const end = bars.length ? bars[0][6] : null;
    return `running, ${S.count(slots, "slot")} on ${S.count(hosts.size, "host")}, ${end === null ? "end unknown" : `ends ${S.clock(end)}`}`;
  }

  function show(job) {
    if (job === null) {
      panel.replaceChildren(E("div", { class: "who" }, E("h2", { text: "A job" }), E("p", { class: "facts", text: "Choose one in the table or in the picture." })));
      return;
    }
    const title = E("h2", { id: "job-title", text: /^job/i.test(job) ? job : `Job ${job}` });
    const item = Object.hasOwn(data.about, job) ? data.about[job] : null;
    if (!item) {
      const known = data.jobs[S.jobNumber.get(job)];
      const said = known && known.state === "running" ? running(job) : "";
      panel.replaceChildren(E("div", { class: "who" }, title,
        E("p", { class: "facts", text: known ? `${known.user} · queue ${known.queue} · ${S.count(known.slots, "slot")}` : "" }), E("p", { text: said })));
      S.say(`${job}: ${said}`);
      return;
    }
    const who = E("div", { class: "who" }, title, E("p", { class: "facts", text: item.facts }), starts(item), proof(item),
      item.notes.length ? E("p", { class: "places" }, ...item.notes.flatMap((note, n) => n ? [E("br"), note] : [note])) : null);
    const parts = [who];
    if (item.why.length) parts.push(E("div", {}, E("h3", { text: data.kind === "simulation" ? "Why it waited" : "Why not earlier" }), whys(item), words(item)));
    else who.append(words(item) || "");
    const helping = item.helps.length > 0;
    if (helping || item.more) {
      parts.push(E("div", { class: item.why.length ? "" : "wide" },
        E("h3", { text: !helping ? "What would help" : item.helps.length === 1 ? "What would help" : "What would help, any one of these" }),
        ...(helping ? helps(item) : []), item.more ? more(item.more) : null));
    }
    if (parts.length === 2) parts[1].classList.add("wide");
    panel.replaceChildren(...parts);
    S.say(`${job}: ${item.starts.map((start) => `${start.what} ${start.time} ${start.more}`.trim()).join(", ")}`);
  }

  panel.addEventListener("click", (event) => {
    const line = event.target.closest("code.line");
    if (line) getSelection().selectAllChildren(line);
  });
  S.onChoice(show);
  show(null);
})(Slotwise);

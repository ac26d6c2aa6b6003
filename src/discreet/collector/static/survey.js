// The page of a survey: answers are randomised here, and only the reports are sent. What was drawn for an answer is
// remembered on the device: whoever changes an answer and changes it back, loads the page again or has to send again
// gets the same report, so that no second one is ever drawn for the same answer.
"use strict";

// Whether parameters are those of a mechanism with this ε: the ratio of probabilities that they lead to is at least 1
// and at most e^ε, but for the last digits of a float. A collector that sends others gets nothing.
const fits = (() => {
  const WHOLE = 2 ** 53;
  const STEPS = 2 ** 16;
  const odds = (chance) => chance / (WHOLE - chance);
  const response = (p) => odds(p.chance) * (p.size - 1);
  const unary = (p) => odds(p.one) / odds(p.zero);
  const ratios = {
    "two-coins": response,
    "k-ary": response,
    "symmetric-unary": unary,
    "optimized-unary": unary,
    "local-hashing": (p) => odds(p.chance) * (2 ** p.width - 1),
    hadamard: (p) => odds(p.chance),
    "subset-selection": (p) => (odds(p.chance) * (p.size - p.chosen)) / p.chosen,
    "one-bit-mean": (p) => odds(WHOLE / 2 + STEPS * p.rise),
    "piecewise-mean": (p) => (odds(p.chance) * STEPS) / p.window,
  };
  const least = { size: 2, width: 1, chosen: 1, window: 1, chance: 1, one: 1, zero: 1, rise: 1 };
  // what a ratio rests on: a coin for each row of Hadamard's matrix that there is, and a set that is not everything
  const covered = (p) => (p.mechanism !== "hadamard" || 2 ** p.width > p.size) && !(p.chosen >= p.size);
  const most = { chance: WHOLE - 1, one: WHOLE - 1, zero: WHOLE - 1, rise: 2 ** 36 - 1, width: 20 };
  return (question, p) => {
    const ratio = Object.hasOwn(ratios, p.mechanism) && ratios[p.mechanism];
    const whole = Object.entries(least).every(
      ([name, value]) => !(name in p) || (Number.isSafeInteger(p[name]) && p[name] >= value && p[name] <= (most[name] ?? 2 ** 53 - 1)),
    );
    const numeric = question.kind === "number";
    const size = numeric || p.size === (question.choices ?? ["yes", "no"]).length;
    const bounds = !numeric || (p.low === question.min && p.high === question.max);
    if (!ratio || !whole || !size || !bounds || p.mechanism !== question.mechanism || numeric !== "low" in p || !covered(p)) return false;
    const found = ratio(p);
    const said = new DataView(Uint8Array.from(p.header.match(/../g), (pair) => parseInt(pair, 16)).buffer);
    return (
      said.byteLength === 10 &&
      Math.abs(said.getUint32(6, true) / 1e6 - question.epsilon) < 1e-9 &&
      found >= 1 &&
      found <= Math.exp(question.epsilon) * (1 + 1e-9)
    );
  };
})();

// A property of the object itself: a question may be called "constructor".
const own = (object, name) => (Object.hasOwn(object, name) ? object[name] : undefined);
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const unhex = (text) => Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));

// What a report says, in words: the answers that it speaks for.
const words = (question, p, report) => {
  const payload = unhex(report).slice(10);
  const view = new DataView(payload.buffer);
  const choices = question.choices ?? ["yes", "no"];
  const bit = (i) => (payload[i >> 3] >> (i & 7)) & 1;
  const odd = (bits) => {
    let parity = 0;
    for (; bits; bits &= bits - 1) parity ^= 1;
    return parity === 1;
  };
  const number = (step) => Number((p.low + ((p.high - p.low) * step) / 2 ** 16).toPrecision(3));
  if (p.mechanism === "one-bit-mean") return view.getUint32(0, true) ? "rather high" : "rather low";
  if (p.mechanism === "piecewise-mean") {
    const at = view.getUint32(0, true);
    const [from, to] = [Math.max(0, at - p.window + 1), Math.min(2 ** 16, at)].map(number);
    return `about ${from} to ${to}`;
  }
  const speaks = {
    "two-coins": (v) => view.getUint32(0, true) === v,
    "k-ary": (v) => view.getUint32(0, true) === v,
    "symmetric-unary": bit,
    "optimized-unary": bit,
    "subset-selection": bit,
    hadamard: (v) => !odd((v + 1) & view.getUint32(0, true)),
    "local-hashing": (v) => {
      const line = view.getBigUint64(0, true) * BigInt(v) + view.getBigUint64(8, true);
      return Number(BigInt.asUintN(64, line) >> BigInt(64 - p.width)) === view.getUint32(16, true);
    },
  }[p.mechanism];
  const named = choices.filter((_, v) => speaks(v));
  if (!named.length) return "none of the answers";
  const shown = named.slice(0, 6).join(", ");
  return named.length === 1 ? shown : `one of: ${shown}${named.length > 6 ? ` and ${named.length - 6} more` : ""}`;
};

const section = document.getElementById("survey");
if (section) {
  const element = (id) => document.getElementById(id);
  const { survey, fingerprint, parameters, memory, invitations } = JSON.parse(section.dataset.survey);
  const key = `discreet ${fingerprint}`;
  element("no-script").hidden = true;

  // Where the browser keeps nothing for us, the page does until it is closed.
  const fallback = new Map();
  const load = (name) => {
    try {
      return JSON.parse(localStorage.getItem(name) ?? "null") ?? {};
    } catch {
      return fallback.get(name) ?? {};
    }
  };
  const save = (name, value) => {
    fallback.set(name, value);
    try {
      localStorage.setItem(name, JSON.stringify(value));
    } catch {
      // private windows may refuse
    }
  };
  const remove = (name) => {
    fallback.delete(name);
    try {
      localStorage.removeItem(name);
    } catch {
      // as above
    }
  };

  const state = {};
  // What this device knows by now: another tab may have answered meanwhile.
  const refresh = () => Object.assign(state, { drawn: {} }, load(key));
  refresh();
  // An invitation stands behind #, which browsers do not send with the address.
  const invited = /^#([0-9a-f]{32})$/.exec(location.hash);
  if (invited) {
    state.invitation = invited[1];
    save(key, state);
    history.replaceState(null, "", location.pathname);
  }

  const problem = (...lines) => {
    element("problem").replaceChildren(...lines.map((line) => Object.assign(document.createElement("p"), { textContent: line })));
    element("problem").hidden = !lines.length;
  };
  const fieldset = (question) => element(`question-${question.id}`);

  // The answer that is filled in, as what the mechanism randomises; null if there is none.
  const answer = (question) => {
    const box = fieldset(question);
    if (question.kind === "number") {
      const input = box.querySelector("input");
      const value = input.value === "" ? NaN : Number(input.value);
      return value >= question.min && value <= question.max ? value : null;
    }
    const chosen = box.querySelector("select") ?? box.querySelector("input:checked");
    return chosen && chosen.value !== "" ? Number(chosen.value) : null;
  };
  const answered = (question, value) => (question.kind === "number" ? String(value) : (question.choices ?? ["yes", "no"])[value]);

  // The report for an answer: what was drawn for it before, in this round or (longitudinal) in an earlier one.
  const report = (question, value) => {
    const drawn = own(state.drawn, question.id) ?? (state.drawn[question.id] = {});
    const earlier = own(memory, question.id) ? load(`discreet ${memory[question.id]}`) : {};
    drawn[value] ??= earlier[value] ?? hex(randomise(parameters[question.id], value));
    return drawn[value];
  };

  const show = (part) => {
    for (const id of ["promise", "survey", "review", "done"]) element(id).hidden = !part.includes(id);
  };
  const enable = (on) => {
    for (const question of survey.questions) fieldset(question).disabled = !on;
    element("draw").disabled = !on;
  };

  const review = (values) => {
    const rows = survey.questions.map((question) => {
      const row = document.createElement("tr");
      const cells = [
        ["", question.text],
        ["stays", values ? answered(question, values[question.id]) : "not remembered"],
        ["sent", words(question, parameters[question.id], state.body.reports[question.id])],
      ];
      row.append(...cells.map(([name, text]) => Object.assign(document.createElement("td"), { className: name, textContent: text })));
      return row;
    });
    element("reports").replaceChildren(...rows);
    element("bytes").textContent = JSON.stringify(state.body, null, 1);
    element("change").hidden = !values;
    element("same").textContent = values ? "" : "It is not known whether they arrived. The same reports are sent again; they count once.";
    show(["promise", "review"]);
    element("review").focus();
  };

  const done = () => {
    element("receipt").textContent = JSON.stringify(state.receipt, null, 1);
    show(["done"]);
    element("done").focus();
  };

  // Shows what was sent, or what it was tried to send; false if neither.
  const resumed = () => {
    if (state.finished) done();
    else if (state.tried) review(null);
    return Boolean(state.finished || state.tried);
  };

  element("draw").addEventListener("click", () => {
    problem();
    refresh();
    if (resumed()) return;
    const values = Object.fromEntries(survey.questions.map((question) => [question.id, answer(question)]));
    const missing = survey.questions.filter((question) => values[question.id] === null);
    for (const question of survey.questions) fieldset(question).toggleAttribute("data-missing", missing.includes(question));
    if (missing.length) {
      problem("Every question needs an answer, and numbers must be within their bounds. Missing: " + missing.map((each) => `“${each.text}”`).join(", "));
      fieldset(missing[0]).querySelector("input, select").focus();
      return;
    }
    const reports = Object.fromEntries(survey.questions.map((question) => [question.id, report(question, values[question.id])]));
    const number = state.body?.number ?? hex(crypto.getRandomValues(new Uint8Array(16)));
    state.body = { survey: fingerprint, number, reports };
    state.chosen = Object.fromEntries(survey.questions.map((question) => [question.id, String(values[question.id])]));
    save(key, state);
    review(values);
  });

  element("change").addEventListener("click", () => {
    problem();
    show(["promise", "survey"]);
    fieldset(survey.questions[0]).querySelector("input, select").focus();
  });

  // Once it was tried to send them, these reports are sent or none.
  element("send").addEventListener("click", async () => {
    problem();
    const { number } = state.body;
    refresh();
    if (state.finished || state.body.number !== number) return resumed() || location.reload();
    element("send").disabled = true;
    state.tried = true;
    if (invitations) state.body.invitation = state.invitation ?? "";
    save(key, state);
    element("change").hidden = true;
    try {
      const response = await fetch("/api/v1/reports", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(state.body),
        credentials: "omit",
        cache: "no-store",
        redirect: "error",
        referrerPolicy: "no-referrer",
      });
      const told = await response.json();
      if (response.ok && told.stored) {
        for (const question of survey.questions) {
          const value = state.chosen[question.id];
          if (own(memory, question.id)) save(`discreet ${memory[question.id]}`, { [value]: state.body.reports[question.id] });
        }
        const { survey: _, ...receipt } = state.body;
        Object.assign(state, { receipt, finished: true });
        for (const name of ["drawn", "chosen", "body", "tried"]) delete state[name];
        save(key, state);
        done();
      } else {
        problem(`Not accepted: ${told.reason}`, `→ ${told.fix}`);
      }
    } catch {
      problem("The reports could not be sent, or it is not known whether they arrived.", "→ Try again: the same reports are sent, and they count once.");
    }
    element("send").disabled = false;
  });

  element("forget").addEventListener("click", () => {
    remove(key);
    for (const name of Object.values(memory)) remove(`discreet ${name}`);
    location.reload();
  });

  const honest = () => {
    try {
      return survey.questions.every((question) => fits(question, parameters[question.id]));
    } catch {
      return false;
    }
  };
  if (!honest()) {
    problem("This survey does not randomise answers as it says: its probabilities do not fit its ε.", "→ Do not answer it.");
  } else if (!resumed()) {
    enable(true);
    if (invitations && !state.invitation) problem("This survey needs an invitation.", "→ Open the link that you were sent.");
  }
}

// The live preview, the slider, and clicks that would otherwise load a page. Everything works without it.
"use strict";

const form = document.querySelector("form[data-question]");

if (form) {
  const box = document.getElementById("preview");
  const { sql, epsilon, error } = form.elements;
  const slider = document.getElementById("slider");
  let waiting, newest = 0;

  const preview = async () => {
    const turn = ++newest;
    const body = new URLSearchParams(new FormData(form));
    body.set("fragment", "1");
    box.classList.add("waiting");
    try {
      const response = await fetch(form.dataset.preview, { method: "POST", body, credentials: "same-origin" });
      const text = await response.text();
      if (turn === newest && response.ok && !response.redirected) {
        box.innerHTML = text;
        follow(box.querySelector("[data-follows]"));
      }
    } catch {
      // the page still has its button
    }
    if (turn === newest) box.classList.remove("waiting");
  };
  const follow = (found) => { // the one of cost and error that is not set shows what the other comes to
    if (form.elements.by.value === "error") {
      if (found && found.dataset.epsilon) epsilon.value = found.dataset.epsilon;
      slide();
    } else error.value = found ? found.dataset.error : "";
    form.elements.epsilon_was.value = epsilon.value;
    form.elements.error_was.value = error.value;
  };
  const soon = () => {
    clearTimeout(waiting);
    waiting = setTimeout(preview, 250);
  };
  const choose = (value) => {
    for (const radio of form.elements.by) radio.checked = radio.value === value;
  };
  const slide = () => {
    if (Number(epsilon.value) > 0) slider.value = Math.log10(Number(epsilon.value));
  };

  slider.classList.remove("hidden");
  slide();
  slider.addEventListener("input", () => {
    epsilon.value = Number((10 ** Number(slider.value)).toPrecision(2));
    choose("epsilon");
    soon();
  });
  epsilon.addEventListener("input", () => {
    choose("epsilon");
    slide();
    soon();
  });
  error.addEventListener("input", () => {
    choose(error.value ? "error" : "epsilon");
    soon();
  });
  sql.addEventListener("input", soon);
  const more = ["blocks", "group_size"].map((name) => form.elements[name]).filter(Boolean); // some pages have no blocks
  for (const field of more) field.addEventListener("input", soon);
  for (const radio of form.elements.by) radio.addEventListener("change", soon);
  document.addEventListener("click", (event) => {
    const example = event.target.closest("[data-example]");
    if (!example) return;
    event.preventDefault();
    sql.value = example.dataset.example;
    sql.dispatchEvent(new Event("editor:set"));
    sql.focus();
    preview();
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-edit]")) return;
    event.preventDefault();
    const edit = event.target.elements;
    sql.value = edit.sql.value;
    sql.dispatchEvent(new Event("editor:set"));
    epsilon.value = edit.epsilon.value;
    error.value = edit.error.value;
    for (const field of more) field.value = edit[field.name].value;
    choose(edit.by.value);
    slide();
    sql.focus();
    preview();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    if (event.ctrlKey || event.metaKey) form.querySelector("[data-run]").click();
    else if (event.target.name === "name") {
      event.preventDefault();
      form.querySelector("[data-save]").click();
    }
  });
}

// The desk: what answers would be worth, and what a budget means, while somebody chooses; fields that fit the choice.
const deciding = document.querySelector("form[data-desk]");
if (deciding) {
  const box = document.getElementById("desk-box");
  let due, newest = 0;
  const redraw = async () => {
    const turn = ++newest, body = new URLSearchParams(new FormData(deciding));
    body.set("fragment", "1");
    try {
      const response = await fetch(deciding.action, { method: "POST", body, credentials: "same-origin" });
      const text = await response.text();
      if (turn !== newest || !response.ok || response.redirected) return;
      box.innerHTML = text;
      box.querySelectorAll("[data-into]").forEach((each) => { // beside what it is about
        const beside = document.getElementById(each.dataset.into);
        if (beside && beside.innerHTML !== each.innerHTML) beside.innerHTML = each.innerHTML;
      });
    } catch {
      // the page still has its button
    }
  };
  const fit = (select) => select.closest("fieldset").querySelectorAll("[data-for]").forEach((each) => {
    each.hidden = !each.dataset.for.split(" ").includes(select.value);
  });
  deciding.querySelectorAll("[data-kind]").forEach((select) => {
    fit(select);
    select.addEventListener("change", () => fit(select));
  });
  deciding.addEventListener("input", () => {
    clearTimeout(due);
    due = setTimeout(redraw, 250);
  });
}

// A link that ends in #discreet_… signs in: what stands behind # is not sent with the address. Whoever is signed in
// already is asked: somebody else's link must not make them ask in somebody else's name.
const entrance = document.querySelector("form[data-sign-in]");
const enter = () => {
  if (!entrance || !location.hash.startsWith("#discreet_")) return;
  entrance.elements.token.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname + location.search);
  if (entrance.dataset.signIn === "enter") entrance.submit();
};
enter();
addEventListener("hashchange", enter);

// What is still going on is looked at again and again, and changes in its place.
const lookAgain = (old) => setTimeout(async () => {
  try {
    const response = await fetch(old.dataset.at || location.href, { credentials: "same-origin" });
    const found = new DOMParser().parseFromString(await response.text(), "text/html").getElementById(old.id);
    if (!found) return location.replace(response.url);
    if (found.innerHTML !== old.innerHTML) old.innerHTML = found.innerHTML;
    if (!found.dataset.lookAgain) return;
  } catch {
    // the next time, perhaps
  }
  lookAgain(old);
}, 1000 * Number(old.dataset.lookAgain));
document.querySelectorAll("[data-look-again]").forEach(lookAgain);

/* learn: sliders show their number, and a page redraws itself when something was changed; the form keeps the focus. */
const lesson = document.querySelector("form[data-live]");
if (lesson) {
  const whole = lesson.closest(".lesson");
  let due, latest = 0;
  const redraw = async () => {
    const turn = ++latest, url = `${lesson.action}?${new URLSearchParams(new FormData(lesson))}`;
    whole.classList.add("waiting");
    try {
      const response = await fetch(url, { credentials: "same-origin" });
      const text = await response.text();
      if (turn !== latest) return;
      const fresh = new DOMParser().parseFromString(text, "text/html").querySelectorAll("[data-part]");
      const parts = document.querySelectorAll("[data-part]");
      if (!response.ok || fresh.length !== parts.length) throw new Error("not the same page");
      parts.forEach((part, place) => part.replaceWith(fresh[place]));
      history.replaceState(null, "", url);
      whole.classList.remove("waiting");
    } catch {
      if (turn === latest) lesson.submit();
    }
  };
  lesson.addEventListener("input", (event) => {
    const output = lesson.querySelector(`output[for="${event.target.id}"]`);
    if (output) output.textContent = event.target.value;
  });
  lesson.addEventListener("change", () => {
    clearTimeout(due);
    due = setTimeout(redraw, 300);
  });
  lesson.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(due);
    redraw();
  });
}
/* end of learn */

// What is wider than its place says so; the shadow at its edge says it without a script.
const hints = new WeakMap();
const measure = (box) => {
  const hint = hints.get(box) || Object.assign(document.createElement("p"), { className: "scroll-hint", textContent: "Scroll sideways for more →" });
  if (!hints.has(box)) hints.set(box, hint);
  if (box.scrollWidth > box.clientWidth + 1) box.before(hint);
  else hint.remove();
};
const sizes = new ResizeObserver((entries) => entries.forEach((entry) => measure(entry.target)));
document.querySelectorAll(".scroll").forEach((box) => sizes.observe(box));

// What every page does besides its pictures that move: scrollers say that they scroll, and
// links to something folded open it.

// Sphinx marks each reference with a role that has been withdrawn since.
for (const entry of document.querySelectorAll("[role=doc-biblioentry]")) {
  entry.setAttribute("role", "listitem");
}

// What is wider than the screen scrolls in its frame. There, an edge behind which there is
// more fades, a line below says what to do, and the keyboard reaches the frame.
const FRAMES = "main :is(div, figure, pre, mjx-container):not(svg *)";
const SCROLLS = new Set(["auto", "scroll"]);
const known = new Map(); // frame -> its hint, and what it was given

function whatIn(frame) {
  if (frame.matches("mjx-container")) return "Formula";
  if (frame.matches("pre") || frame.querySelector(":scope > pre")) return "Code";
  if (frame.querySelector("table")) return "Table";
  if (frame.querySelector("svg, img")) return "Picture";
  return frame.querySelector("mjx-container") ? "Formula" : "Text";
}

function hintBelow(frame, what) {
  if (what !== "Table" && what !== "Picture") return null;
  const hint = document.createElement("p");
  hint.className = "fl-hint";
  hint.setAttribute("aria-hidden", "true"); // the frame's name says it already
  hint.textContent = "scroll sideways →";
  frame.after(hint);
  return hint;
}

function edgesOf(frame) {
  const rest = frame.scrollWidth - frame.clientWidth - frame.scrollLeft;
  return { left: frame.scrollLeft > 2, right: rest > 2 };
}

function markEdges(frame, { left, right } = edgesOf(frame)) {
  if (!known.has(frame)) return; // it fits by now
  frame.classList.toggle("fl-more-left", left);
  frame.classList.toggle("fl-more-right", right);
  known.get(frame).hint?.classList.toggle("fl-done", !right);
}

function isWide(frame, by = 0) {
  return frame.isConnected && frame.clientWidth && frame.scrollWidth > frame.clientWidth + by;
}

// All is measured before anything is written, or a long page would be laid out anew for
// each of its frames.
function markScrollers() {
  const gone = [...known.keys()].filter((frame) => !isWide(frame));
  const come = [...document.querySelectorAll(FRAMES)].flatMap((frame) => {
    const scrolls = isWide(frame) && !known.has(frame) && SCROLLS.has(getComputedStyle(frame).overflowX);
    // A pixel or two are reached by the keyboard, too, but are nothing to speak of.
    return scrolls ? [{ frame, what: whatIn(frame), far: isWide(frame, 2) }] : [];
  });
  for (const frame of gone) {
    const { hint, given } = known.get(frame);
    hint?.remove();
    known.delete(frame);
    frame.classList.remove("fl-more-left", "fl-more-right");
    for (const name of given) frame.removeAttribute(name);
  }
  for (const { frame, what, far } of come) {
    const said = { tabindex: 0, role: "group", "aria-label": `${what}, scrolls sideways` };
    if (frame.tabIndex === 0) delete said.tabindex;
    const given = Object.keys(said).filter(
      (name) => name === "tabindex" || !frame.hasAttribute(name),
    );
    for (const name of given) frame.setAttribute(name, said[name]);
    known.set(frame, { hint: far ? hintBelow(frame, what) : null, given });
    frame.addEventListener("scroll", () => markEdges(frame), { passive: true });
  }
  const edges = [...known.keys()].map((frame) => [frame, edgesOf(frame)]);
  for (const [frame, found] of edges) markEdges(frame, found);
}

let due = false;
function schedule() {
  if (!due) requestAnimationFrame(refresh);
  due = true;
}

function refresh() {
  due = false;
  changes.disconnect(); // hints are no change to look into
  markScrollers();
  changes.observe(document.querySelector("main") ?? document.body, WATCHED);
}

const WATCHED = { attributeFilter: ["open"], childList: true, subtree: true };
const LIVE = "[data-playground]"; // draws many times a second: looked into once it rests
let rests;
const changes = new MutationObserver((all) => {
  if (all.some(({ type, target }) => type === "attributes" || !target.closest?.(LIVE))) return schedule();
  clearTimeout(rests);
  rests = setTimeout(schedule, 300);
});
window.addEventListener("resize", schedule);
window.addEventListener("load", schedule);
schedule();

// A link to something folded opens it: from a number of the ledger to its command.
function named(hash) {
  try {
    return document.getElementById(decodeURIComponent(hash.slice(1)));
  } catch {
    return null; // an address that is none, such as #%
  }
}

function unfold(hash) {
  const target = hash.length > 1 && named(hash);
  if (!target) return;
  const fold = target.closest("details"), closed = target.closest("[data-closed][hidden]");
  if (closed) reveal(target);
  if (fold) fold.open = true;
  if (fold || closed) target.scrollIntoView({ block: fold ? "center" : "start" });
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='#']");
  if (link) requestAnimationFrame(() => unfold(link.hash));
});
window.addEventListener("load", () => unfold(location.hash));

// A federation trains on a page once the reader comes to it; until then nothing of it is
// fetched, and a picture stands there.
function trainWhenSeen(roots, folder) {
  const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("playground.css", folder) });
  const there = [...document.querySelectorAll("link")].some((link) => link.href === style.href);
  const styled = there || new Promise((done) => { style.onload = style.onerror = done; });
  const seen = new IntersectionObserver(async (found) => {
    for (const { target, isIntersecting } of found) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      if (!there && !style.isConnected) document.head.append(style);
      const [{ begin }] = await Promise.all([import(new URL("playground.js", folder)), styled]);
      begin(target);
    }
  }, { rootMargin: "200px" });
  for (const root of roots) seen.observe(root);
}

const federations = document.querySelectorAll("[data-playground]");
if (federations.length) trainWhenSeen(federations, new URL("playground/", document.currentScript.src));

// A question is answered before what follows is read: the rest of its section opens with
// the choice, and with a click on "I only want to read", which is remembered and holds
// for every page, with `?reveal`, for printing, and for a search within the page. Who has
// not chosen is then told the right answer.
const READING = "fl-reading";
const questions = [];

function remember(reading) {
  try {
    if (reading) localStorage.setItem(READING, "1");
    return localStorage.getItem(READING) !== null;
  } catch {
    return false; // a browser that keeps nothing
  }
}

function ask(box, choose) {
  const closed = [], hint = document.createElement("p"), button = document.createElement("button");
  let next = (box.closest("div.cell") ?? box).nextElementSibling;
  for (; next; next = next.nextElementSibling) closed.push(next);
  const open = () => {
    const right = box.querySelector("input[data-right]");
    if (right && !box.querySelector("input:checked")) {
      right.checked = true;
      choose(right);
    }
    hint.remove();
    for (const one of closed) one.hidden = false;
    window.dispatchEvent(new Event("resize"));
  };
  for (const one of closed) {
    one.hidden = "until-found";
    one.dataset.closed = "";
    one.addEventListener("beforematch", open);
  }
  Object.assign(button, { type: "button", textContent: "I only want to read" });
  button.addEventListener("click", () => {
    remember(true);
    for (const { open: each } of questions) each();
  });
  hint.className = "fl-hint";
  hint.append("What follows opens with your answer. ", button);
  box.append(hint);
  box.addEventListener("change", (event) => {
    choose(event.target);
    open();
  });
  questions.push({ closed, open });
}

// On a phone a table of words is a list: each entry says which column it is of.
for (const table of document.querySelectorAll("table.fl-stack")) {
  const heads = [...table.querySelectorAll("thead th")].map((th) => th.textContent.trim());
  for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, i) => i && heads[i] && (cell.dataset.label = heads[i]));
}

for (const box of document.querySelectorAll(".fl-predict")) {
  const told = box.querySelector(".fl-told");
  const lines = new Map([...box.querySelectorAll("label")].map((label) => [label.querySelector("input"), label.querySelector("small")]));
  for (const line of lines.values()) line.remove();
  ask(box, (chosen) => told.replaceChildren(...lines.get(chosen).cloneNode(true).childNodes));
}

// The same, where a question is plain text with a list of answers.
for (const [i, title] of [...document.querySelectorAll(".admonition > .admonition-title")].entries()) {
  const box = title.parentElement, answers = box.querySelectorAll(":scope > ol > li");
  if (title.textContent !== "Predict first" || !answers.length) continue;
  title.id ||= `fl-asked-${i}`;
  box.setAttribute("role", "radiogroup");
  box.setAttribute("aria-labelledby", title.id);
  for (const answer of answers) {
    const label = document.createElement("label"), input = document.createElement("input");
    Object.assign(input, { type: "radio", name: title.id });
    label.append(input, " ", ...[...answer.children].flatMap((p) => [...p.childNodes]));
    answer.replaceChildren(label);
  }
  ask(box, () => {});
}

function reveal(target) {
  for (const { closed, open } of questions) if (!target || closed.some((one) => one.contains(target))) open();
}
if (remember(false) || new URLSearchParams(location.search).has("reveal")) reveal();
// On paper nothing can be opened; the answers of exercises are for their readers to find.
const closing = [];
window.addEventListener("beforeprint", () => {
  reveal();
  for (const fold of document.querySelectorAll(".fl-aside:not([open])")) {
    fold.open = true;
    closing.push(() => (fold.open = false));
  }
  for (const box of document.querySelectorAll(".admonition.toggle-hidden")) {
    if (box.closest("section[id^=exercises]")) continue;
    box.classList.remove("toggle-hidden");
    closing.push(() => box.classList.add("toggle-hidden"));
  }
});
window.addEventListener("afterprint", () => closing.splice(0).forEach((close) => close()));

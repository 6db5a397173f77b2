// A chapter's slides, one at a time: arrows turn them, Escape leads back to the page.
// Without this script the page is there to be read.

const MODES = ["auto", "light", "dark"]; // as the book's own pages have them
const dark = matchMedia("(prefers-color-scheme: dark)");
const SHEET = { width: 1280, height: 720 }; // what a slide is laid out on
const FITS = Array.from({ length: 81 }, (_, i) => 2 - i / 50); // from 2 down to .4
const TYPING = "input, select, textarea, button, summary, a, [tabindex='0']";

function stored(name, value) {
  try {
    if (value !== undefined) localStorage.setItem(name, value);
    return localStorage.getItem(name);
  } catch {
    return null; // a browser that keeps nothing
  }
}

function paint(mode) {
  const { dataset } = document.documentElement;
  dataset.mode = MODES.includes(mode) ? mode : "auto";
  dataset.theme = dataset.mode === "auto" ? (dark.matches ? "dark" : "light") : dataset.mode;
}

paint(stored("mode")); // before anything is seen
dark.addEventListener("change", () => paint(document.documentElement.dataset.mode));

class Deck {
  constructor() {
    this.slides = [...document.querySelectorAll(".fl-slide")];
    this.at = null; // the slide that is shown alone
    this.root = document.documentElement;
    const button = (says, name, onclick) => Object.assign(document.createElement("button"), { type: "button", textContent: says, title: name, ariaLabel: name, onclick });
    this.start = button("Show one at a time", "Show one at a time", () => this.show(0, true));
    this.back = button("‹", "Back", () => this.show(this.at - 1));
    this.on = button("›", "Next", () => this.show(this.at + 1));
    this.end = button("×", "Back to the page", () => this.leave());
    this.theme = button("", "Light or dark", () => {
      const mode = MODES[(MODES.indexOf(this.root.dataset.mode) + 1) % MODES.length];
      stored("mode", mode);
      paint(mode);
    });
    this.theme.className = "theme-switch-button";
    this.theme.textContent = "◐";
    this.where = document.createElement("span");
    this.where.setAttribute("role", "status");
    document.querySelector(".fl-deck-tools").append(this.start, this.back, this.where, this.on, this.end, this.theme);
    for (const box of document.querySelectorAll(".fl-predict")) this.count(box);
    const refit = new ResizeObserver(() => this.fit());
    for (const slide of this.slides) refit.observe(slide.querySelector(".fl-slide-fit"));
    addEventListener("resize", () => this.fit());
    document.fonts.ready.then(() => this.fit());
    document.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("fullscreenchange", () => { if (!document.fullscreenElement && this.full) this.leave(); });
    this.show(Number(new URLSearchParams(location.search).get("slide")) - 1);
  }

  // How many hands went up for each answer, before it is chosen.
  count(box) {
    for (const label of box.querySelectorAll("label")) {
      const says = `Hands for: ${label.querySelector("span").textContent}`;
      const hands = Object.assign(document.createElement("input"), { type: "number", min: 0, placeholder: "hands", className: "fl-hands", ariaLabel: says });
      hands.addEventListener("change", (event) => event.stopPropagation()); // no answer
      const row = Object.assign(document.createElement("div"), { className: "fl-answer" });
      label.replaceWith(row);
      row.append(label, hands);
    }
  }

  show(at, full = false) {
    if (!this.slides[at]) {
      if (this.at === null) this.buttons();
      return;
    }
    this.at = at;
    this.root.classList.add("fl-show");
    for (const [i, slide] of this.slides.entries()) slide.classList.toggle("now", i === at);
    if (full && this.root.requestFullscreen) {
      this.root.requestFullscreen().then(() => { this.full = true; }, () => {});
    }
    this.buttons();
    this.fit();
    this.slides[at].focus({ preventScroll: true });
  }

  leave() {
    const left = this.slides[this.at];
    this.at = null;
    this.full = false;
    if (document.fullscreenElement) document.exitFullscreen();
    this.root.classList.remove("fl-show");
    this.buttons();
    left?.scrollIntoView();
    left?.focus({ preventScroll: true });
  }

  buttons() {
    const shown = this.at !== null;
    this.start.hidden = shown;
    for (const one of [this.back, this.on, this.end, this.where]) one.hidden = !shown;
    this.back.disabled = this.at === 0;
    this.on.disabled = this.at === this.slides.length - 1;
    this.where.textContent = shown ? `${this.at + 1} of ${this.slides.length}` : "";
    const address = new URL(location.href);
    if (shown) address.searchParams.set("slide", this.at + 1);
    else address.searchParams.delete("slide");
    try {
      history.replaceState(null, "", address);
    } catch {
      // a page in a file has an address that may not change
    }
  }

  // As large as the sheet has room for.
  fit() {
    if (this.at === null) return;
    const sheet = Math.min(innerWidth / SHEET.width, innerHeight / SHEET.height);
    this.root.style.setProperty("--sheet", sheet);
    const body = this.slides[this.at].querySelector(".fl-slide-body");
    for (const size of FITS) {
      body.style.setProperty("--fit", size);
      if (body.scrollHeight <= body.clientHeight && body.scrollWidth <= body.clientWidth) break;
    }
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { key } = event, typing = event.target.closest?.(TYPING);
    const steps = { PageDown: 1, PageUp: -1, ...(typing ? {} : { ArrowRight: 1, ArrowDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1 }) };
    if (this.at === null) {
      if (key === "ArrowRight" && !typing) this.show(0);
      return;
    }
    if (key === "Escape") this.leave();
    else if (key in steps) this.show(this.at + steps[key]);
    else if (key === "Home" && !typing) this.show(0);
    else if (key === "End" && !typing) this.show(this.slides.length - 1);
    else return;
    event.preventDefault();
  }
}

addEventListener("DOMContentLoaded", () => new Deck());

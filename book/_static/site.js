// A picture stands where each widget will be; a widget that plays by itself may be
// stopped; and a page that is printed holds what is folded on the screen.

// The widgets' own script comes last. When a widget has drawn, its stand-in goes.
function removeStandIns() {
  for (const standIn of document.querySelectorAll(".fl-first")) {
    if (standIn.parentElement.querySelector(".fl-stage :is(svg, img)")) standIn.remove();
  }
}

// While a player runs, its pictures are not read out, one over the other.
function hushPlaying() {
  for (const widget of document.querySelectorAll(".fl-frames:has(.widget-play)")) {
    const plays = widget.querySelector(".widget-play .fa-pause");
    const stage = widget.querySelector(".fl-stage");
    if (stage) stage.setAttribute("aria-live", plays ? "off" : "polite");
  }
}

// Once, less than five seconds, and not for those who asked for less motion.
function playOnce() {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  for (const widget of document.querySelectorAll(".fl-auto:not([data-played])")) {
    const play = widget.querySelector(".widget-play button");
    if (!play || !widget.querySelector(".fl-stage svg")) continue;
    widget.dataset.played = "";
    play.click();
    const stop = (event) => {
      if (event.isTrusted && play.querySelector(".fa-pause")) play.click();
    };
    const controls = widget.querySelectorAll(
      ".widget-hslider, .widget-toggle-buttons, .widget-dropdown",
    );
    for (const control of controls) {
      control.addEventListener("pointerdown", stop, { once: true });
      control.addEventListener("keydown", stop, { once: true });
    }
  }
}

window.addEventListener("load", () => {
  const main = document.querySelector("main") ?? document.body;
  let due = false;
  const refresh = () => {
    due = false;
    removeStandIns();
    hushPlaying();
    playOnce();
  };
  const schedule = () => {
    if (!due) requestAnimationFrame(refresh);
    due = true;
  };
  const watched = { attributeFilter: ["class"], childList: true, subtree: true };
  new MutationObserver(schedule).observe(main, watched);
  schedule();
});

window.addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll("main details:not([open])")) {
    fold.open = true;
    fold.dataset.folded = "";
  }
});

window.addEventListener("afterprint", () => {
  for (const fold of document.querySelectorAll("details[data-folded]")) {
    fold.open = false;
    delete fold.dataset.folded;
  }
});

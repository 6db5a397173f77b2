// Pictures that move: one for every choice of the controls' values, all drawn
// beforehand. tools/moving.py has written the controls, the first picture, and the rest
// as data at the end of the page.

const STILL = matchMedia("(prefers-reduced-motion: reduce)");

// A control of any kind: which of its values is chosen, and a way to choose another.
class Control {
  constructor(element, chosen) {
    this.field = element.querySelector("input, select");
    this.readout = element.querySelector(".fl-readout");
    this.buttons = [...element.querySelectorAll("button")];
    this.index = this.field
      ? Number(this.field.selectedIndex ?? this.field.value)
      : this.buttons.findIndex((b) => b.getAttribute("aria-pressed") === "true");
    // The reader may have been here before this script was.
    this.touched =
      this.field?.tagName === "INPUT"
        ? this.field.value !== this.field.defaultValue
        : this.field && !this.field.options[this.index].defaultSelected;
    this.field?.addEventListener("input", () =>
      chosen(Number(this.field.selectedIndex ?? this.field.value)),
    );
    this.buttons.forEach((button, i) => button.addEventListener("click", () => chosen(i)));
  }

  show(index, word) {
    this.index = index;
    this.buttons.forEach((button, i) => button.setAttribute("aria-pressed", i === index));
    if (this.field?.tagName === "SELECT") this.field.selectedIndex = index;
    if (this.field?.tagName !== "INPUT") return;
    this.field.value = index;
    this.field.setAttribute("aria-valuetext", word);
    this.readout.textContent = word;
  }
}

class Frames {
  constructor(box) {
    this.box = box;
    this.stage = box.querySelector(".fl-stage");
    this.button = box.querySelector(".fl-play");
    this.controls = [...box.querySelectorAll(".fl-control")].map(
      (element, i) =>
        new Control(element, (index) => {
          this.pause();
          this.move(i, index);
        }),
    );
    this.button?.addEventListener("click", () => (this.timer ? this.pause() : this.play()));
  }

  get data() {
    this.read ??= JSON.parse(document.getElementById(this.box.dataset.pictures).textContent);
    return this.read;
  }

  move(i, index) {
    this.controls[i].show(index, this.data.values[i][index]);
    let number = this.data.top;
    while (number < 0) {
      const [by, among] = this.data.chosen[-1 - number];
      number = among[this.controls[by].index];
    }
    if (number !== this.number) this.draw(number);
  }

  draw(number) {
    this.number = number;
    const made = document.createElement("template");
    made.innerHTML = this.data.frames[number];
    for (const image of made.content.querySelectorAll("img")) image.decoding = "sync";
    const scrolled = this.stage.querySelector(".fl-scroll")?.scrollLeft;
    this.stage.replaceChildren(made.content);
    const frame = this.stage.querySelector(".fl-scroll");
    if (frame && scrolled) frame.scrollLeft = scrolled;
  }

  // Through the first control's values, from the present one or, at the end, from the
  // beginning; `after` is what is done when it has run through.
  play(after = () => {}) {
    const last = this.data.values[0].length - 1;
    const step = () => {
      const { index } = this.controls[0];
      if (index < last) return this.move(0, index + 1);
      this.pause();
      after();
    };
    this.name("Pause", "off"); // or the pictures are read out, one over the other
    this.timer = setInterval(step, Number(this.box.dataset.interval));
    if (this.controls[0].index === last) this.move(0, 0);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.name("Play", "polite");
  }

  name(label, live) {
    this.button?.setAttribute("aria-label", label);
    this.stage.setAttribute("aria-live", live);
  }

  // Once over all values and back to the one it began with.
  tour() {
    const home = this.controls[0].index;
    this.move(0, 0);
    this.play(() => this.move(0, home));
  }
}

for (const box of document.querySelectorAll(".fl-frames")) {
  const frames = new Frames(box);
  const touched = frames.controls.findIndex((control) => control.touched);
  if (touched >= 0) frames.move(touched, frames.controls[touched].index);
  else if (box.classList.contains("fl-auto") && !STILL.matches) frames.tour();
}

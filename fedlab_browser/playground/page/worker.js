// Trains away from the page, so that the page answers at any time.
// Asked {run, states} it begins anew, with one federation or two, and plays a round of
// those whose places are in `due`, {band, state, rounds} it plays a whole run beside
// them, {pooled, ...} one of all letters in one place; it answers with rows.
import { Federation, load } from "./federation.js";
import { bring } from "./files.js";

let arrived = null; // called once the files are there, where they are sent
const files = new Promise((done) => { arrived = done; });
if (!self.name.includes("whole")) arrived();
const ready = files.then(() => load({ fast: !self.name.includes("slow") }));
let games = [], playing;

ready.then(({ task }) => postMessage({ task }), (error) => postMessage({ error: String(error) }));

// What the curves show of a round.
const told = ({ accuracy, own, weight, sum, plane: { left, walked, agreement } }) => ({ accuracy, own, weight, sum, left, walked, agreement });

async function answer({ run, states, due, state, band, pooled, rounds }) {
  const world = await ready;
  if (band !== undefined || pooled !== undefined) {
    const beside = await (band === undefined ? Federation.pooled : Federation.begin)(world, state, 2), rows = [];
    for (let t = 0; t < rounds; t++) rows.push(told(beside.round()));
    if (games.length) beside.shared.y.set(games[0].y); // labels are shared: give the present run its own
    return postMessage({ band, pooled, rows });
  }
  if (states) {
    games = await Promise.all(states.map((one, place) => Federation.begin(world, one, place)));
    playing = run;
  }
  if (run === playing) postMessage({ run, played: due.map((place) => ({ place, row: games[place].round(), homes: games[place].homes })) });
}

// One thing after another, in the order in which it was asked for.
let last = Promise.resolve();
onmessage = ({ data }) => {
  if (data.files) {
    bring(data.files);
    return arrived();
  }
  last = last.then(() => answer(data)).catch((error) => postMessage({ error: String(error) }));
};

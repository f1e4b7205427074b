// The beam stepper: walk through a search, and see why each hypothesis was kept or dropped.
//
// State lives in the model's traits. What is shown is the reply to what they ask for; while that
// is on its way, or where there is none, the last picture stays, and says what it is a picture of.

import { beamBar, stepBar } from "./search_controls.js";
import {
  beamTexts,
  carriedInWords,
  fateInWords,
  filtersInWords,
  headInWords,
  keysOf,
  looksOf,
  nats,
  searchRequest,
  settingsInWords,
  shownIn,
} from "./candidates.js";
import { candidateTable, distributionTable } from "./tables.js";
import { beamTree } from "./tree.js";
import { choice, element, markedText } from "../base/js/controls.js";
import { createView } from "../base/js/view.js";
import { differences } from "../base/js/text_difference.js";
import { canonicalJson, NEEDS_KERNEL, NO_ANSWER, connectKernel } from "../base/js/kernel.js";
import { numberTable } from "../base/js/number_table.js";
import { tokenStrip } from "../base/js/token_strip.js";
import { quoted, visible } from "../base/js/text.js";

const SETTINGS = [
  "sentence",
  "checkpoint",
  "method",
  "beam_width",
  "length_penalty",
  "temperature",
  "top_k",
  "top_p",
  "seed",
];
const TRAITS = [...SETTINGS, "step", "chosen", "layer", "head", "text_size", "data"];
const REMEMBERED = 24;
const LEGEND =
  "Number: log-probability of the text so far. ■ finished, with its score; ✕ pruned, and dotted the one that took its place; ⊘ forbidden. Thick line: the best text.";

function render({ model, el }) {
  const kernel = connectKernel(model);
  const view = createView({ model, el, name: "beam-stepper", label: "Beam stepper", traits: TRAITS, draw });
  const { root } = view;
  const bar = beamBar(root, { model, view, search });
  const problem = element(root, "p", "vt-problem", { role: "alert" });
  const pair = element(root, "div", "vt-translations");
  const lines = [0, 1].map(() => {
    const name = element(pair, "span", "vt-line-name");
    return {
      name,
      text: element(pair, "div", "vt-translation"),
      score: element(pair, "span", "vt-line-score"),
    };
  });
  const verdict = element(root, "p", "vt-verdict");
  const steps = stepBar(root, (step) => view.set({ step, chosen: null }));
  const strip = tokenStrip(root, {
    label: "The text that was drawn; choose a word for its step",
    onChoose: (step) => view.set({ step, chosen: null }),
  });
  const tree = beamTree(root, {
    onChoose: ({ step, index }) => view.set({ step, chosen: index }),
    onPoint: (place) => {
      pointed = place;
      view.redraw();
    },
  });
  const legend = element(root, "p", "vt-legend");
  const says = element(root, "p", "vt-says", { role: "status", "aria-live": "polite" });

  const looks = element(root, "section", "vt-looks");
  const looksHead = element(looks, "div", "vt-controls");
  const looksTitle = element(looksHead, "h3", "vt-title");
  let [layers, heads, sizes] = [null, null, ""];
  const weights = numberTable(looks, { label: "Attention of the chosen candidate's writer" });
  const candidates = candidateTable(root, {
    onChoose: (index) => view.set({ step: stepNow(), chosen: index }),
  });
  const bars = distributionTable(root);

  const given = new Map(); // what was asked → the reply: those that came with the view,
  const replies = new Map(); // and the newest of the others
  // `failure`: the settings have no answer; `refused`: a typed sentence has none, the settings do.
  let [shown, offered, failure, refused, pointed, typed, dataSeen] = Array(7).fill(null);

  const stepNow = () => Math.min(model.get("step") ?? 0, shown.steps.length - 1);

  function keep(request, reply) {
    replies.set(canonicalJson(request), { ...reply, request });
    if (replies.size > REMEMBERED) replies.delete(replies.keys().next().value);
  }

  const replyTo = (asked) => given.get(asked) ?? replies.get(asked);

  /** Another sentence: it becomes the view's when it has an answer. */
  function search(text) {
    const request = { ...searchRequest((name) => model.get(name)), text };
    typed = text;
    const ifNewest = (then) => (value) => {
      if (typed !== text) return;
      typed = null;
      then(value);
    };
    const refuse = (message) => {
      refused = { asked: canonicalJson(searchRequest((name) => model.get(name))), message };
      view.redraw();
    };
    const known = replyTo(canonicalJson(request));
    (known
      ? Promise.resolve(known)
      : kernel.ask(request, () => {
          if (typed === text) refuse(NO_ANSWER);
        })
    ).then(
      ifNewest((reply) => {
        if (!known) keep(request, reply);
        refused = null;
        view.set({ sentence: text, chosen: null });
      }),
      ifNewest((error) => refuse(error.message)),
    );
  }

  function fetchSearch() {
    if (model.get("data") !== dataSeen) {
      dataSeen = model.get("data");
      for (const [request, reply] of dataSeen) given.set(canonicalJson(request), { ...reply, request });
    }
    const request = searchRequest((name) => model.get(name));
    const asked = canonicalJson(request);
    const known = replyTo(asked);
    if (refused?.asked !== asked) refused = null;
    if (known || failure?.asked !== asked) failure = null; // a reply may come after all
    if (known) show(known);
    else if (offered !== asked && !failure) {
      offered = asked;
      const settle = (then) => (value) => {
        if (offered === asked) offered = null;
        then(value);
        view.redraw();
      };
      kernel.latest(
        request,
        settle((reply) => keep(request, reply)),
        settle((error) => {
          failure = { asked, message: error.message };
        }),
      );
    }
    return Boolean(known);
  }

  /** Another search has other steps: who saw the last one of the old, sees that of the new. */
  function show(reply) {
    if (reply === shown) return;
    const atEnd = shown && (model.get("step") ?? 0) >= shown.steps.length - 1;
    const last = reply.steps.length - 1;
    [shown, pointed] = [reply, null];
    if ((atEnd || model.get("step") > last) && model.get("step") !== last)
      view.set({ step: last, chosen: null });
  }

  function draw({ theme, width }) {
    const size = model.get("text_size") ?? 1;
    root.style.fontSize = `${14 * size}px`;
    root.dataset.layout = width / size >= 900 ? "wide" : "narrow";
    const current = fetchSearch();
    bar.set(shown);
    showProblem();
    root.dataset.stale = String(!current && !failure);
    if (!shown) return;
    const step = stepNow();
    const own = shown.steps[step];
    const at = shownIn(shown, step, model.get("chosen") ?? null);
    const texts = (shown.texts ??= beamTexts(shown.steps));
    showPair();
    say(verdict, visible(shown.says));
    say(legend, LEGEND + (shown.greedy ? " g: greedy search writes this too." : ""));
    steps.set(step, shown.steps.length);
    const { sampled } = shown;
    strip.node.hidden = bars.node.hidden = !sampled;
    tree.node.hidden = legend.hidden = candidates.node.hidden = says.hidden = sampled;
    if (sampled) {
      const drawn = shown.hypotheses[0];
      strip.set([...drawn.tokens, shown.end], { chosen: step });
      bars.set({ candidates: own, step, steps: shown.steps.length, settings: filtersInWords(shown.request) });
    } else {
      const told = pointed ?? { step, index: at };
      tree.set({ reply: shown, step, at, size, told });
      say(says, fateInWords(shown.steps[told.step][told.index], texts[told.step][told.index]));
      candidates.set({
        candidates: own,
        texts: texts[step],
        step,
        steps: shown.steps.length,
        at,
        best: shown.hypotheses[0]?.path[step],
      });
    }
    showLooks(own[at], texts[step][at], step, theme);
  }

  function showPair() {
    const {
      greedy,
      hypotheses: [best],
      sampled,
      request,
    } = shown;
    const [first, second] = [greedy?.tokens ?? [], best.tokens];
    const marks = greedy ? differences(first, second) : [[], second.map(() => false)];
    const width = request.beam_width;
    const name = sampled ? "drawn" : request.method === "beam" ? `beam of ${width}` : "beam search";
    [
      ["greedy search", first, greedy],
      [name, second, best],
    ].forEach(([called, tokens, each], which) => {
      const { name: label, text, score } = lines[which];
      label.hidden = text.hidden = score.hidden = !each;
      if (!each) return;
      say(label, called);
      say(score, sampled ? `log-probability ${nats(each.log_prob)}` : `score ${nats(each.score)}`);
      const told = JSON.stringify([tokens, marks[which]]);
      if (text.dataset.told === told) return;
      text.dataset.told = told;
      text.replaceChildren(...markedText(tokens.length ? tokens : ["(nothing)"], marks[which]));
    });
  }

  function showLooks(candidate, text, step, theme) {
    const { attention } = shown;
    looks.hidden = !attention;
    if (!attention) return;
    const now = `${attention.layers} ${attention.heads}`;
    if (sizes !== now) {
      sizes = now;
      layers?.node.remove();
      heads?.node.remove();
      const count = (n, name) => Array.from({ length: n }, (_, i) => [String(i), `${name}${i}`]);
      layers = choice(looksHead, "layer", count(attention.layers, ""), (value) =>
        view.set({ layer: Number(value) }),
      );
      heads = choice(looksHead, "head", [["", "mean of heads"], ...count(attention.heads, "")], (value) =>
        view.set({ head: value === "" ? null : Number(value) }),
      );
    }
    const head = model.get("head") ?? null;
    const chosen = {
      layer: Math.min(model.get("layer") ?? 0, attention.layers - 1),
      head: head !== null && head < attention.heads ? head : null,
    };
    layers.set(String(chosen.layer));
    heads.set(chosen.head === null ? "" : String(chosen.head));
    const where = attention.kind === "cross" ? "in the source" : "in the text so far";
    say(
      looksTitle,
      `Where it looked ${where} to write ${quoted(candidate.token)}: ${headInWords(chosen, attention)}`,
    );
    const values = looksOf(shown, step, candidate.parent, chosen.layer, chosen.head);
    weights.set(
      {
        values: [values],
        rowNames: [candidate.token],
        colNames: keysOf(shown, text),
        digits: 2,
        scale: "weight",
      },
      theme,
    );
  }

  function showProblem() {
    const wrong = refused ?? failure;
    problem.hidden = !wrong;
    if (!wrong) return;
    const text = model.get("sentence");
    const known = [...(model.get("data") ?? []), ...(model.get("answers") ?? [])].filter(
      ([request, reply]) =>
        request.text === text && request.method === model.get("method") && reply.error === undefined,
    );
    const parts = [/[.!?]$/.test(wrong.message) ? wrong.message : `${wrong.message}.`];
    if (wrong.message === NEEDS_KERNEL && known.length)
      parts.push(carriedInWords(known.map(([request]) => request)));
    if (shown) parts.push(`Shown still: ${quoted(shown.request.text)}, ${settingsInWords(shown.request)}.`);
    say(problem, parts.join(" "));
  }

  return () => {
    kernel.close();
    view.close();
  };
}

function say(node, text) {
  if (node.textContent !== text) node.textContent = text; // a screen reader speaks each change once
}

export default { render };

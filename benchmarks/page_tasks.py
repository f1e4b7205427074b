"""What is asked of the labs, in a page that computes by itself and in JupyterLab by the kernel."""

from __future__ import annotations

from dataclasses import dataclass

#: Twelve words and the end: 13 tokens. Each question is about another one, so that no side has kept its
#: answer.
TEXTS = tuple(
    f"the {animal} did not cross the {place} because it was too {feature}"
    for feature in ("tired", "old", "small", "slow")
    for place in ("street", "river", "bridge", "park")
    for animal in ("cow", "dog", "cat", "horse", "bird", "duck", "wolf")
)

_TYPE = f"""(root, i) => {{
    const field = root.querySelector('input[type=text]');
    field.value = {list(TEXTS)}[i % {len(TEXTS)}];
    field.dispatchEvent(new KeyboardEvent('keydown', {{key: 'Enter', bubbles: true}}));
}}"""


@dataclass(frozen=True)
class Task:
    """Something that a viewer does in a lab.

    Attributes:
        name: as the table calls it.
        make: Python that makes the lab of `translator` and `text`, computed by `engine`.
        root: the lab's CSS selector.
        act: a JavaScript function of the lab's node and a number, which sends one event.
        shown: the selector of the view, in the lab or the lab itself, that tells when all is drawn.
        waiting: the selector of what there is while an answer is awaited.
    """

    name: str
    make: str
    root: str
    act: str
    shown: str
    waiting: str = '[data-stale="true"]'


TASKS = (
    Task(
        "Enter pressed, to the translation and all heads redrawn",
        "vt.translation_lab(translator, text, engine=engine)",
        ".vt-translation-lab",
        _TYPE,
        ".vt-explorer",
    ),
    Task(
        "length penalty moved, to beam search of width 8 drawn",
        "vt.beam_stepper(translator, text, beam_width=8, engine=engine)",
        ".vt-beam-stepper",
        """(root, i) => {
            const field = root.querySelectorAll('.vt-timeline input')[1]; // length penalty
            field.value = (0.1 * (1 + i % 20)).toFixed(1);
            field.dispatchEvent(new Event('input', {bubbles: true}));
        }""",
        ".vt-beam-stepper",
    ),
    Task(
        "Enter pressed, to all heads ranked by what each is worth",
        "vt.head_lab(translator, text, engine=engine)",
        ".vt-head-lab",
        _TYPE,
        ".vt-head-lab",
    ),
    Task(
        "mask cell painted, to the leak meter read",
        "vt.mask_lab(translator, [text, 'the cat sleeps'], engine=engine)",
        ".vt-mask-lab",
        # The last key of the first query, painted and cleared by turns; no row is left without a key,
        # which would be a question to Hugging Face too.
        """(root) => {
            const cell = root.querySelector('.vt-cell');
            for (const key of ['End', ' '])
                cell.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
        }""",
        ".vt-mask-lab",
        waiting='.vt-mask-box[aria-busy="true"]',
    ),
)

#: Does an action; returns when its event was sent and when the frame ended that shows all of it, in
#: milliseconds since the page was opened. A task's parts are put in by name.
KEY_TO_PICTURE = """async (i) => {
    const pause = (ms) => new Promise((done) => setTimeout(done, ms));
    const root = document.querySelector('%(root)s');
    const told = root.matches('%(shown)s') ? root : root.querySelector('%(shown)s');
    // A reader's key finds the page at rest. Frames are not awaited: they would keep the browser drawing,
    // and then a key waits for the display's next frame, up to 16.7 ms.
    await pause(300);
    let last = null;
    const stamp = new MessageChannel();  // after the frame in which the mark was changed
    stamp.port1.onmessage = () => { last = performance.now(); };
    const observer = new MutationObserver((records) => {
        for (const {target, oldValue} of records)
            if (target === told && told.dataset.vtDrawn !== oldValue)
                stamp.port2.postMessage(null);
    });
    observer.observe(root, {subtree: true, attributeFilter: ['data-vt-drawn'], attributeOldValue: true});
    const start = performance.now();
    (%(act)s)(root, i);
    const isWaiting = () => root.matches('%(waiting)s') || root.querySelector('%(waiting)s');
    while (last === null || isWaiting() || performance.now() - last < 500) {
        if (performance.now() - start > 60_000) throw new Error('no picture of: %(name)s');
        await pause(50);
    }
    observer.disconnect();
    return [start, last];
}"""


def key_to_picture(task: Task) -> str:
    """Return the JavaScript that does a task and returns its two times."""
    return KEY_TO_PICTURE % vars(task)

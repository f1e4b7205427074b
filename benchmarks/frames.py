"""How long the browser takes: JavaScript that the benchmarks run in a page.

A time is taken from the start of an input event to the end of the main thread's next frame: its
handlers, the frame's callbacks, styles, layout and paint. It holds the wait for the frame, up to
16.7 ms. *Work* leaves the wait out: the time in the event's handlers, plus the time from the start
of the frame's first callback to the first task after the frame.
"""

from __future__ import annotations

#: `endOfFrame()` resolves after the next frame; `settled()` when the main thread has nothing to do.
HELPERS = """
const endOfFrame = () => new Promise((done) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => done(performance.now());
    channel.port2.postMessage(null);
}));
const settled = () => new Promise((done) => requestIdleCallback(done));
"""

#: `timed(act)` resolves to {frame, work}, both in milliseconds.
TIMED = """
const timed = async (act) => {
    await endOfFrame();
    await settled();
    let begun;
    // Asked for before the view asks for its own, so that it is the first callback of the frame.
    requestAnimationFrame(() => { begun = performance.now(); });
    const start = performance.now();
    act();
    const handled = performance.now();
    const end = await endOfFrame();
    return {frame: end - start, work: handled - start + end - begun};
};
"""

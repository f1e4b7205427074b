"""How long the browser takes: JavaScript that the benchmarks run in a page.

A time is taken from the start of an input event to the end of the main thread's next frame: its
handlers, the frame's callbacks, styles, layout and paint. It holds the wait for the frame, up to
16.7 ms.
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

#: `timed(act)` resolves to the milliseconds.
TIMED = """
const timed = async (act) => {
    await endOfFrame();
    await settled();
    const start = performance.now();
    act();
    return await endOfFrame() - start;
};
"""
